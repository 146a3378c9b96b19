"""The paper's statements, a file for each: what it says, and what is true in its place."""

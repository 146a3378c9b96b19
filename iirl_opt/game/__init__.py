"""The MDP graph layer: what the two agents act in."""

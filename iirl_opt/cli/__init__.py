"""The command `iirl-opt`."""

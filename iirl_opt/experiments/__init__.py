"""The paper's experiments: cells, sweeps with checkpoints, figures whose statements are checked."""

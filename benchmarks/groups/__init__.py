"""One file a group of benchmarks: see `cases`."""

"""Start the second checker: ``python -m recheck proof.json``."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

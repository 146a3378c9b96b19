"""Start the second checker: ``python -m recheck proof.json``."""

import sys

from .command import main

sys.exit(main(sys.argv[1:]))

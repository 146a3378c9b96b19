"""``python -m iirl_opt``: the command."""

from iirl_opt.cli.app import main

if __name__ == "__main__":
    main()

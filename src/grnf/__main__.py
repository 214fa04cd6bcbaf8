"""`python -m grnf`: the command line."""

from grnf.cli import main

if __name__ == "__main__":
    main()

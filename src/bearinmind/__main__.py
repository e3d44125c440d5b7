"""`python -m bearinmind` is the command line."""

from bearinmind.surfaces.cli import main

if __name__ == "__main__":
    main()

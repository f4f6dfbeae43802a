"""`python -m tacit` is the command line."""

from tacit.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()

"""What will run, before it runs: the program of a question, as data."""

from tacit.program import Program, Step

__all__ = ["Program", "Step"]

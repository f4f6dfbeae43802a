"""What will run, fixed before it reads data: steps, their tasks, and the whole as a program."""

from tacit.program.program import Program, Step, canonical

__all__ = ["Program", "Step", "canonical"]

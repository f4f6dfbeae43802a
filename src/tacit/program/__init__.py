"""What will run, fixed before it reads data: steps, what each is for, and the whole as a program."""

from tacit.program.program import Program, canonical
from tacit.program.step import Adaptive, AnyStep, Step, Task

__all__ = ["Adaptive", "AnyStep", "Program", "Step", "Task", "canonical"]

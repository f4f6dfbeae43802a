"""What will run, fixed before it reads data: steps, what each is for, and the whole as a program."""

from tacit.program.program import Adaptive, AnyStep, Program, Step, Task, canonical, step_from_json

__all__ = ["Adaptive", "AnyStep", "Program", "Step", "Task", "canonical", "step_from_json"]

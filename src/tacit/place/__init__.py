"""Places: reports of where one is, randomised in the plane, so that nearby places look alike."""

__all__: list[str] = []

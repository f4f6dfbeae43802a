"""What breaks undefended releases, each attack beside the same attack on tacit's release.

Every attack has a module of its own, with a function for real inputs, such as `link` in tacit.attack.linkage,
`measure` in tacit.attack.anonymity or `risk_report` in tacit.attack.risk, and `stage` for made-up ones. `ATTACKS` lists
them and `staged` runs one by its name. Their pages are in docs/attacks.
"""

from tacit.attack.registry import ATTACKS, Attack, Attempt, Outcome, attack_named, staged

__all__ = ["ATTACKS", "Attack", "Attempt", "Outcome", "attack_named", "staged"]

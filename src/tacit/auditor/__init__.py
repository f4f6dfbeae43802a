"""Lower bounds on the privacy loss of anything that can be run.

`audit` looks for an event that contradicts a claim and certifies it on fresh samples; `audit_exact` and `exact` compute
the loss where every outcome can be listed; `one_run` audits training from one run with `canaries`.
"""

from tacit.auditor.audit import audit
from tacit.auditor.exact import ExactAudit, Exactly, audit_exact, exact
from tacit.auditor.one_run import OneRun, canaries, one_run
from tacit.auditor.verdict import Verdict

__all__ = ["ExactAudit", "Exactly", "OneRun", "Verdict", "audit", "audit_exact", "canaries", "exact", "one_run"]

"""A census: consistent tables of every place of a geography, from noisy counts, for a price that is charged before.

    spine = tacit.census.Spine("state", "county", "block", places="places.csv")
    plan = session.census("people", spine, rho="1", queries={"total": 1, "age*sex": 1, "detail": 1})
    plan.errors(), plan.quote()                 # free
    made = plan.release()
    made.table("county", "age*sex")

Theory: docs/theory/topdown.md.
"""

from tacit.census.job import Census, CensusJob, CensusTerms, plan_census
from tacit.census.release import CensusTables
from tacit.census.schema import CellSchema
from tacit.census.spine import Spine

__all__ = ["CellSchema", "Census", "CensusJob", "CensusTables", "CensusTerms", "Spine", "plan_census"]

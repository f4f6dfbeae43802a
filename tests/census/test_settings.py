"""A census of plain settings: every key, the places that the policy lists, and what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.census import country, people, policy_of
from tacit.base import TacitError
from tacit.census import CensusTables, Spine
from tacit.desk import ContentRelease
from tacit.session import Session
from tacit.session.kinds import job_kind

SPINE = country()
SETTINGS: dict[str, Any] = {
    "table": "people",
    "levels": ["county:3", "block:7"],
    "queries": ["total=2", "race", "age*hisp = 1"],
    "rho": "0.5",
}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    data = people(SPINE)
    path = policy_of(tmp_path, data, invariants=["county.total"])
    listed = ", ".join(f'"{name}"' for name in SPINE.names[-1])
    text = path.read_text().replace(
        'block = { type = "text", nullable = false }',
        f'block = {{ type = "text", nullable = false, group_keys = [{listed}] }}',
    )
    path.write_text(text)
    with Session(path, "ana") as opened:
        yield opened


def test_the_release_of_settings(session: Session) -> None:
    kind = job_kind("census")
    job = kind.job({**SETTINGS, "invariants": ["county.total"]}, session)
    assert "NOT protected" in session.quote(job).notes[0]
    found = session.spend(job)
    assert isinstance(found, ContentRelease)
    assert found.file().ending == ".arrow"
    assert found.json()["value"] is None
    made = CensusTables(release=found)
    assert made.levels == ("county", "block")
    assert sum(made.total("county").values()) == people(SPINE).num_rows
    assert made.problems() == []
    assert {"name": "places"}.items() not in [each.items() for each in kind.json()["keys"]]
    assert "queries = " in kind.template()


def test_a_file_may_name_its_places(session: Session, tmp_path: Path) -> None:
    rows = ["county,block", *(f"{name[:3]},{name}" for name in SPINE.names[-1])]
    (tmp_path / "places.csv").write_text("\n".join(rows))
    told = {**SETTINGS, "levels": ["county", "block"], "places": str(tmp_path / "places.csv")}
    kind = job_kind("census")
    assert kind.job(told, session, local=True).program == kind.job(SETTINGS, session).program
    with pytest.raises(TacitError, match="names a place on a machine"):
        kind.job(told, session)


def test_what_has_parts_is_written_in_one_line(session: Session) -> None:
    """The same program as of plain Python."""
    told = {
        **SETTINGS,
        "queries": ["total = 2", "block.race = 3", "county.race = 1", "colour"],
        "shares": ["county = 1", "block = 2"],
        "zeros": ["race = asian|native, hisp = yes"],
        "recodes": ["colour of race = white: white, other: black|asian|native|other"],
        "invariants": [f"block.vacant = {SPINE.names[-1][0]}|{SPINE.names[-1][1]}"],
        "passes": 2,
        "columns": ["hisp"],
    }
    spine = Spine.from_codes(SPINE.names[-1], {"county": 3, "block": 7})
    plan = session.census(
        "people",
        spine,
        rho="0.5",
        queries={"total": 2, "race": {"block": 3, "county": 1}, "colour": 1},
        levels={"county": 1, "block": 2},
        zeros=[{"race": ["asian", "native"], "hisp": ["yes"]}],
        recodes={
            "colour": {"column": "race", "groups": {"white": ["white"], "other": ["black", "asian", "native", "other"]}}
        },
        invariants={"block.vacant": list(SPINE.names[-1][:2])},
        passes=2,
        columns=["hisp"],
    )
    assert job_kind("census").job(told, session).program == plan.job.program


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"levels": ["county", "block:7"]}, 'level "county" does not say how many characters'),
        ({"levels": ["block:7", "county:3"]}, "no such column"),
        ({"levels": ["county:3", "block:6"]}, "has 7 characters, and a block has 6"),
        ({"levels": ["county:3", "race:5"]}, "characters, and a race has 5"),
        ({"queries": ["total", "total=2"]}, '"total" is listed twice'),
        ({"queries": ["race=much"]}, "weight of county.race"),
        ({"rho": 0}, "rho"),
        ({"epsilon": 1}, "say what it may cost, once"),
        ({"recodes": ["colour = white: white"]}, "not of the form name of value"),
        ({"zeros": ["race"]}, "not of the form name = value"),
        ({"querys": ["total"]}, "querys"),
        ({"invariants": ["block.total"]}, "would be released exactly"),
        ({"table": "nobody"}, "nobody"),
    ],
)
def test_mistakes_in_settings(session: Session, change: dict[str, Any], told: str) -> None:
    with pytest.raises(TacitError, match=told):
        job_kind("census").job({**SETTINGS, **change}, session)

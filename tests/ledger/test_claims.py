"""No data has two budgets, and none is counted by two units: claims, in both stores."""

import json
import threading
from pathlib import Path

import pytest

from support.books import account, cost, opened, program, terms
from support.forged import rewrite, said
from tacit.base import InputError, PolicyError
from tacit.ledger import REGISTRY, Ledger
from tacit.ledger.verify import verify
from tacit.policy.source import Claim

PID, VISIT = 'column "pid"', 'column "visit"'
FILE = Claim("file:/srv/visits.csv", unit=PID)
INODE = Claim("inode:1:7", unit=PID)


def claims_in(ledger: Ledger) -> list[dict[str, object]]:
    return [json.loads(entry.body) for entry in ledger.log(REGISTRY) if entry.kind in ("claim", "unclaim")]


def test_a_claim_is_an_entry_and_known_the_second_time(where: str) -> None:
    with opened(where, terms()) as ledger:
        (entry,) = ledger.claim("patients", [FILE, INODE])
        assert (entry.kind, entry.people) == ("claim", REGISTRY)
        assert ledger.claim("patients", [FILE, INODE]) == []
        with opened(where) as other:
            assert other.claim("patients", [FILE]) == []
            assert len(other.claim("patients", [FILE, Claim("inode:1:8", unit=PID)])) == 1  # a new version of the file
        assert said(verify(where)) == ""


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (FILE, Claim(FILE.place, unit=VISIT)),
        (INODE, INODE),
        (Claim("file:/srv"), FILE),  # a folder of an older ledger
        (Claim("file:/srv", "*", PID), FILE),
        (Claim("file:/", "**", PID), FILE),
        (Claim("postgresql://db:5432/clinic"), Claim("postgresql://db:5432/clinic", "public.visits", PID)),
        (Claim("postgresql://db:5432/clinic", "public.visits", PID), Claim("postgresql://db:5432/clinic")),
        (Claim("s3://bucket/visits"), Claim("s3://bucket/visits/1.parquet", unit=PID)),
        (Claim("file:/srv/x.duckdb"), Claim("file:/srv/x.duckdb", "main.visits", PID)),
    ],
)
def test_the_same_data_is_refused_to_a_second_account(where: str, held: Claim, wanted: Claim) -> None:
    with opened(where, terms(), terms("staff")) as ledger, opened(where) as other:
        ledger.claim("patients", [held])
        for book in (ledger, other):
            with pytest.raises(PolicyError, match='is the data of "patients" already'):
                book.claim("staff", [wanted])
        with pytest.raises(PolicyError):
            other.apply(terms("fresh"), [wanted])
        assert "fresh" not in other.people()
        assert ledger.standing("staff").claims == ()
        assert said(verify(where)) == ""


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (
            Claim("postgresql://db:5432/clinic", "public.visits", PID),
            Claim("postgresql://db:5432/clinic", "public.staff"),
        ),
        (Claim("file:/srv/x.duckdb", "main.visits", PID), Claim("file:/srv/x.duckdb", "main.staff")),
        (Claim("file:/srv/visits", "*", PID), Claim("file:/srv/visits/old/a.csv")),
        (Claim("file:/srv/visits", "*", PID), Claim("file:/srv/visits2/a.csv")),
        (Claim("file:/srv", "*", PID), Claim("file:/srv/x.duckdb", "main.staff")),
        (Claim("inode:1:7", PID), Claim("inode:1:77")),
    ],
)
def test_other_data_is_other_peoples(where: str, held: Claim, wanted: Claim) -> None:
    with opened(where, terms(), terms("staff")) as ledger:
        ledger.claim("patients", [held])
        ledger.claim("staff", [wanted])
        assert said(verify(where)) == ""


def test_two_at_once_and_exactly_one_wins(where: str) -> None:
    names = [f"people {number}" for number in range(6)]
    with opened(where, *(terms(name) for name in names)):
        pass
    start, won, lost = threading.Barrier(len(names)), [], []

    def run(name: str) -> None:
        with opened(where) as own:
            start.wait()
            try:
                own.claim(name, [FILE, INODE])
                won.append(name)
            except PolicyError:
                lost.append(name)

    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 5)
    with opened(where) as ledger:
        assert [name for name in names if ledger.standing(name).claims] == won
    assert said(verify(where)) == ""


def test_another_unit_is_refused_with_the_way_out_and_the_way_out_works(where: str) -> None:
    other = [Claim(FILE.place, unit=VISIT), Claim(INODE.place, unit=VISIT)]
    with opened(where, terms()) as ledger:
        ledger.claim("patients", [FILE, INODE])
        with pytest.raises(
            PolicyError, match=r'was counted by column "pid".*would be counted by column "visit"'
        ) as told:
            ledger.claim("patients", other)
        assert "tacit ledger seal" in str(told.value)
        with pytest.raises(PolicyError, match="is the data of"):
            ledger.apply(terms("visits"), other)  # a new name alone is no way out
        ledger.seal("patients", "the unit was wrong")
        ledger.apply(terms("visits"), other)
        assert ledger.charge(account(people="visits"), cost(1), program(), "k").seq
        ledger.seal("visits", "the first one was right after all")
        with pytest.raises(PolicyError, match="whose account is closed"):
            ledger.apply(terms("patients again"), [FILE, INODE])
        assert said(verify(where)) == ""


def test_one_data_has_one_unit_within_a_policy_too(where: str) -> None:
    with opened(where, terms()) as ledger, pytest.raises(PolicyError, match="in one table of the policy and by"):
        ledger.claim("patients", [FILE, Claim(FILE.place, unit=VISIT)])


def test_a_file_and_its_folder_have_one_unit(where: str) -> None:
    with opened(where, terms()) as ledger:
        ledger.claim("patients", [Claim("file:/srv", "*", PID)])
        with pytest.raises(PolicyError, match="was counted by"):
            ledger.claim("patients", [Claim(FILE.place, unit=VISIT)])
        ledger.claim("patients", [FILE])


def test_a_unit_is_taken_from_whoever_says_it_first(where: str) -> None:
    with opened(where, terms()) as ledger:
        ledger.claim("patients", [Claim(FILE.place)])
        ledger.claim("patients", [FILE])
        assert ledger.standing("patients").claims == (FILE,)
        with pytest.raises(PolicyError, match="was counted by"):
            ledger.claim("patients", [Claim(FILE.place, unit=VISIT)])
        assert ledger.claim("patients", [Claim(FILE.place)]) == []  # read through a view: nothing is said of a unit
        assert ledger.standing("patients").claims == (FILE,)


def test_the_curator_gives_a_claim_up_for_good(where: str) -> None:
    with opened(where, terms(), terms("staff")) as ledger:
        ledger.claim("patients", [FILE, INODE])
        with pytest.raises(PolicyError, match='tacit ledger unclaim "patients" "inode:1:7"'):
            ledger.claim("staff", [INODE])
        with pytest.raises(InputError, match="has no claim"):
            ledger.unclaim("patients", "inode:1:8", "?")
        ledger.unclaim("patients", "inode:1:7", "that file is gone")
        ledger.claim("staff", [INODE])
        assert ledger.standing("patients").claims == (FILE,)
    with opened(where) as ledger:
        ledger.claim("patients", [FILE, INODE])  # the curator said that it is not theirs: nothing is claimed again
        assert ledger.standing("patients").claims == (FILE,)
        assert claims_in(ledger)[1]["why"] == "that file is gone"
        assert said(verify(where)) == ""


def test_an_old_claim_of_a_whole_place_is_refined_by_its_own_account(where: str) -> None:
    place = "postgresql://db:5432/clinic"
    visits, staff = Claim(place, "public.visits", PID), Claim(place, "public.staff", PID)
    with opened(where, terms(), terms("staff")) as ledger:
        ledger.claim("patients", [Claim(place)])
        with pytest.raises(PolicyError, match="already"):
            ledger.claim("staff", [staff])
        ledger.claim("patients", [visits])
        assert ledger.standing("patients").claims == (visits,)
        ledger.claim("staff", [staff])
        assert said(verify(where)) == ""


def test_a_whole_place_that_is_still_read_is_not_refined(where: str) -> None:
    place = Claim("file:/srv/x.duckdb")
    with opened(where, terms()) as ledger:
        ledger.claim("patients", [place])
        ledger.claim("patients", [place, Claim(place.place, "main.visits", PID)])
        assert place in ledger.standing("patients").claims


def test_many_files_are_several_entries(where: str) -> None:
    many = [Claim(f"inode:1:{number}", unit=PID) for number in range(1000)]
    with opened(where, terms()) as ledger:
        assert len(ledger.claim("patients", many)) == 3
        assert ledger.claim("patients", many) == []
        assert len(ledger.standing("patients").claims) == 1000
        assert said(verify(where)) == ""


def test_a_forged_list_of_claims_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms(), terms("staff")) as ledger:
        ledger.claim("patients", [FILE])
        ledger.claim("staff", [Claim("file:/srv/staff.csv", unit=PID)])
    rewrite(path, lambda seq, body: body.replace("staff.csv", "visits.csv"), account=1)
    assert "claims file:/srv/visits.csv, which is another account's" in said(verify(path))

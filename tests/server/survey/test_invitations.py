"""Surveys by invitation, over HTTP and on both databases: one report for a code, and no link between them."""

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect

from support.service import Running, running
from support.surveys import SLEEP, sleep, written
from tacit.base import InputError
from tacit.server.db import Unavailable
from tacit.server.survey.store import Delivery, Refusal, ReportStore
from tacit.server.survey.surveys import TokenSigner
from tacit.survey.device import Device
from tacit.survey.invitation import BlindRequest, PublicKey, code_digest, new_codes
from tacit.survey.survey import Survey

GOOD: dict[str, Any] = {"slept": True, "wakes": "noise", "takes": ["tea"], "hours": 7.5}
REPORTS = "/v1/surveys/sleep/reports"


def digest(code: str) -> bytes:
    found = code_digest("sleep", code)
    assert found is not None
    return found


def delivery(survey: Survey, code: str) -> Delivery:
    made = Device(survey).answer(GOOD)
    return Delivery(made.id, made.reports, digest(code))


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReportStore]:
    where = request.getfixturevalue("database") if request.param == "postgres" else tmp_path / "surveys.db"
    found = ReportStore(where)
    yield found
    found.close()


def test_a_code_admits_one_report_and_its_retries(store: ReportStore) -> None:
    survey = sleep(minimum=1, invitations='"code"')
    store.enter(survey)
    codes = new_codes(3)
    store.invite(survey, [digest(code) for code in codes])
    sent = delivery(survey, codes[0])
    assert store.add(survey, [sent]) == [True]
    assert store.add(survey, [sent, sent]) == [False, False], "the same submission again is thanked again"
    assert store.add(survey, [delivery(survey, codes[0])]) == [Refusal.USED]
    assert store.add(survey, [delivery(survey, new_codes(1)[0])]) == [Refusal.UNKNOWN]
    both = [delivery(survey, codes[1]), delivery(survey, codes[1])]
    assert sorted(store.add(survey, both), key=str) == [Refusal.USED, True], "of two at once, one"
    assert (store.size(survey), store.invited(survey)) == (2, (3, 2))
    assert store.counted(survey).tallies["slept"].reports == 2


def test_one_code_used_by_many_at_once_counts_once(store: ReportStore) -> None:
    survey = sleep(minimum=1, invitations='"code"')
    store.enter(survey)
    (code,) = new_codes(1)
    store.invite(survey, [digest(code)])
    with ThreadPoolExecutor(4) as pool:
        found = [
            one for some in pool.map(lambda _: store.add(survey, [delivery(survey, code)]), range(12)) for one in some
        ]
    assert found.count(True) == 1 == store.size(survey)
    assert found.count(Refusal.USED) == 11


def test_nothing_ties_a_code_to_a_report_or_to_a_time(store: ReportStore) -> None:
    columns = {
        table: {column["name"] for column in inspect(store.engine).get_columns(table)}
        for table in ("tacit_survey_codes", "tacit_survey_tokens", "tacit_received")
    }
    assert columns["tacit_survey_codes"] == {"survey", "code", "used"}
    assert columns["tacit_survey_tokens"] == {"survey", "token"}
    assert columns["tacit_received"] == {"survey", "id"}


def test_rows_have_no_order(tmp_path: Path) -> None:
    ReportStore(tmp_path / "surveys.db").close()
    connection = sqlite3.connect(tmp_path / "surveys.db")
    for table in ("tacit_survey_codes", "tacit_survey_tokens"):
        with pytest.raises(sqlite3.OperationalError, match="rowid"):
            connection.execute(f"SELECT rowid FROM {table}")
    connection.close()


@pytest.fixture(scope="module", params=["code", "token"])
def invited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("invited")
    path = written(folder, f'invitations = "{request.param}"\n{SLEEP}')
    with running(folder, surveys=(path,), survey_rate=1_000_000) as found:
        yield found


def codes_of(invited: Running, count: int) -> list[str]:
    made = invited.call("cora", "POST", "/v1/surveys/sleep/invitations", json={"count": count})
    assert made.status_code == 201
    found: list[str] = made.json()["codes"]
    return found


def admitting(invited: Running, code: str) -> str:
    """The code itself, or a token for it."""
    terms = invited.call(None, "GET", "/v1/surveys/sleep").json()
    if terms["invitations"] == "code":
        return code
    asked = BlindRequest.drawn(PublicKey.from_text(terms["token_key"]))
    body = {"code": code, "hidden": asked.text}
    signed = [invited.call(None, "POST", "/v1/surveys/sleep/token", json=body) for _ in range(2)]
    assert [each.status_code for each in signed] == [200, 200], "a retry of the same request is answered again"
    assert signed[0].json() == signed[1].json()
    other = BlindRequest.drawn(PublicKey.from_text(terms["token_key"]))
    refused = invited.call(None, "POST", "/v1/surveys/sleep/token", json={"code": code, "hidden": other.text})
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:tacit:problem:invitation-used")
    return asked.token(signed[0].json()["signature"])


def send(invited: Running, text: str) -> Any:
    return invited.call(None, "POST", REPORTS, content=text)


def test_stuffing_moves_nothing_without_codes(invited: Running) -> None:
    surveys = invited.service.surveys
    before = surveys.store.size(surveys.named("sleep"))
    for invitation in (None, "", "0" * 16, "x", "0" * 576, new_codes(1)[0], 7):
        body = json.loads(Device(sleep()).answer(GOOD).json())
        found = send(invited, json.dumps(body if invitation is None else {**body, "invitation": invitation}))
        assert (found.status_code, found.json()["type"]) == (403, "urn:tacit:problem:not-invited")
    assert surveys.store.size(surveys.named("sleep")) == before


def test_each_code_answers_once_over_http(invited: Running) -> None:
    surveys = invited.service.surveys
    before = surveys.store.size(surveys.named("sleep"))
    for code in codes_of(invited, 3):
        admits = admitting(invited, code)
        sent = Device(sleep()).answer(GOOD).json(invitation=admits)
        assert send(invited, sent).json() == {"counted": True}
        assert send(invited, sent).json() == {"counted": False}
        again = send(invited, Device(sleep()).answer(GOOD).json(invitation=admits))
        assert (again.status_code, again.json()["type"]) == (403, "urn:tacit:problem:invitation-used")
    assert surveys.store.size(surveys.named("sleep")) == before + 3


def test_only_curators_invite(invited: Running) -> None:
    for who, status in ((None, 401), ("ana", 403), ("otto", 403)):
        found = invited.call(who, "POST", "/v1/surveys/sleep/invitations", json={"count": 1})
        assert found.status_code == status, who
    for count in (0, -1, 10**6):
        assert invited.call("cora", "POST", "/v1/surveys/sleep/invitations", json={"count": count}).status_code == 422


def test_the_list_says_how_many_codes_were_used(invited: Running) -> None:
    codes_of(invited, 2)
    (item,) = invited.call("ana", "GET", "/v1/surveys").json()["items"]
    assert item["invitations"]["made"] >= 2
    assert item["invitations"]["used"] <= item["invitations"]["made"]


def test_an_open_survey_has_no_invitations(tmp_path: Path) -> None:
    with running(tmp_path, surveys=(written(tmp_path),), survey_rate=1_000_000) as found:
        refused = found.call("cora", "POST", "/v1/surveys/sleep/invitations", json={"count": 1})
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:tacit:problem:open-survey")
        assert 'invitations = "code"' in refused.json()["detail"]
        body = json.loads(Device(sleep()).answer(GOOD).json())
        assert send(found, json.dumps({**body, "invitation": "x"})).status_code == 422, "nothing more than is needed"


@pytest.fixture(scope="module")
def signer() -> TokenSigner:
    return TokenSigner(TokenSigner.new())


def parts(token: str) -> tuple[bytes, bytes]:
    return bytes.fromhex(token[:64]), bytes.fromhex(token[64:])


def test_a_token_is_an_ordinary_signature_and_is_not_what_was_signed(signer: TokenSigner) -> None:
    for _ in range(5):
        asked = BlindRequest.drawn(signer.public)
        signature = signer.signed(asked.text)
        assert signature is not None
        message, found = parts(asked.token(signature))
        assert signer.knows(message, found)
        assert found.hex() != signature
        assert not signer.knows(message[::-1], found)
        assert not signer.knows(message, found[::-1])
        assert not TokenSigner(TokenSigner.new()).knows(message, found)


def test_every_hidden_form_fits_every_token(signer: TokenSigner) -> None:
    """For each token and each hidden form there is a factor that leads from one to the other: nothing links them."""
    asked = [BlindRequest.drawn(signer.public) for _ in range(2)]
    signed = [signer.signed(each.text) or "" for each in asked]
    for one in asked:
        for two, signature in zip(asked, signed, strict=True):
            _, found = parts(one.token(signer.signed(one.text) or ""))
            factor = int(signature, 16) * pow(int(found.hex(), 16), -1, signer.public.modulus) % signer.public.modulus
            encoded = signer.public.raised(int(found.hex(), 16))
            assert encoded * signer.public.raised(factor) % signer.public.modulus == two.blinded


def test_what_cannot_be_signed_is_not(signer: TokenSigner) -> None:
    assert signer.signed("0" * 512) is None
    assert signer.signed(signer.public.text) is None


def test_a_signature_that_came_out_wrong_is_not_given_away() -> None:
    signer = TokenSigner(TokenSigner.new())
    signer._numbers = TokenSigner(TokenSigner.new())._numbers
    with pytest.raises(Unavailable):
        signer.signed(BlindRequest.drawn(signer.public).text)


def test_a_signature_that_would_mark_a_device_is_refused(signer: TokenSigner) -> None:
    asked = BlindRequest.drawn(signer.public)
    other = TokenSigner(TokenSigner.new())
    with pytest.raises(InputError, match="nothing was sent"):
        asked.token(other.signed(asked.text) or "1")


def test_a_key_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="2048 bits"):
        PublicKey.from_text("ff")

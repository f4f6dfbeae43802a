"""Schemathesis over the OpenAPI: whatever a schema allows or forbids, the service answers by its own rules.

For each operation requests are made up, good ones and bad ones. None may end in a fault of ours, each refusal is a
problem, and what the document does not say is not sent. The fast form tries a few of each.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from support.service import Running, running

CHECKS = [not_a_server_error, status_code_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


def hurled(clinic: Running, who: str, examples: int) -> int:
    """So many requests to each operation; how many operations there are."""
    api = schemathesis.openapi.from_url(f"{clinic.url}/v1/openapi.json")
    count = 0
    for found in api.get_all_operations():
        assert isinstance(found, Ok), found.err()
        operation = found.ok()
        calm = settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
        sent = operation.body or any(each.location != "path" for each in operation.iter_parameters())
        for mode in GenerationMode if sent else [GenerationMode.POSITIVE]:  # any text is a name in a path

            @calm
            @given(case=operation.as_strategy(generation_mode=mode))
            def one(case: schemathesis.Case[Any]) -> None:
                tried(clinic, who, case)

            one()
        count += 1
    return count


def tried(clinic: Running, who: str, case: schemathesis.Case[Any]) -> None:
    """A request as it was made up."""
    answer = case.call(base_url=clinic.url, headers={"Authorization": f"Bearer {clinic.tokens[who]}"})
    case.validate_response(answer, checks=CHECKS)
    if answer.status_code >= 400:
        assert answer.headers["content-type"][0].startswith("application/problem+json")
        assert answer.json()["status"] == answer.status_code


def test_nothing_that_is_sent_breaks_it(clinic: Running) -> None:
    assert hurled(clinic, "cora", 2) > 20


@pytest.mark.slow
@pytest.mark.parametrize("who", ["cora", "ana", "otto"])
def test_nothing_that_is_sent_breaks_it_for_anybody(clinic: Running, who: str) -> None:
    assert hurled(clinic, who, 150) > 20

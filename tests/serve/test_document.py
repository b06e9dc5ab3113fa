"""The OpenAPI document, against the server that it describes: schemathesis makes requests of all kinds from it."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks
from schemathesis.core.result import Ok
from starlette.testclient import TestClient

from bench.verify import Maker
from gossamer.library.collection import Collection
from gossamer.serve import run
from gossamer.serve.document import document
from gossamer.serve.safe import Token
from gossamer.serve.server import Server

SECRET = "the-secret-of-this-test"
HOST = "http://127.0.0.1:8470"
EXAMPLES = 12
"""Requests for each operation."""
checks.load_all_checks()
CHECKS = [
    checks.CHECKS.get_one("not_a_server_error"),
    checks.CHECKS.get_one("status_code_conformance"),
    checks.CHECKS.get_one("content_type_conformance"),
    checks.CHECKS.get_one("response_schema_conformance"),
]
SCHEMA = schemathesis.openapi.from_dict(document())


OPERATIONS: list[Any] = [each.ok() for each in SCHEMA.get_all_operations() if isinstance(each, Ok)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    made = Maker(tmp_path_factory.mktemp("document") / "crawl", text=True).make(40, 20, unsealed=5)
    webs = {"crawl": Collection(made.folder)}
    application = Server(webs, Token(SECRET), run.hosts("127.0.0.1", 8470, ()), closed=False).application
    return TestClient(application, base_url=HOST, follow_redirects=False, raise_server_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.label)
def test_the_server_answers_as_the_document_says(operation: Any, browser: TestClient) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(case=operation.as_strategy())
    def answers(case: Any) -> None:
        if "{name}" in operation.path:
            case.path_parameters["name"] = "crawl"
        ask(case, browser)

    answers()


def ask(case: Any, browser: TestClient) -> None:
    sent = case.as_transport_kwargs(base_url=HOST)
    body = {"json": sent["json"]} if sent.get("json") is not None else {}
    headers = {"authorization": f"Bearer {SECRET}"}
    answer = browser.request(sent["method"], sent["url"], params=sent.get("params"), headers=headers, **body)
    case.validate_response(answer, checks=CHECKS)


def test_nothing_is_left_out() -> None:
    assert len(OPERATIONS) == sum(map(len, document()["paths"].values()))

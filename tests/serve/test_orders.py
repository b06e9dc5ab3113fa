"""Orders over HTTP: keys, forms, the list, and what is refused. No crawl runs: they wait for the next run."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import gossamer
from gossamer.base.errors import UsageError
from gossamer.collection.layout import shard_folder
from gossamer.collection.orders import ORDERS, waiting
from gossamer.collection.steering import KINDS
from gossamer.serve import run, safe
from gossamer.serve.answers import MOST, Answers, KeyUsedError
from gossamer.serve.replies import API
from gossamer.serve.safe import Token
from gossamer.serve.server import Server

SECRET = "the-secret-of-this-test"
HOST = "http://127.0.0.1:8470"
BEARER = {"authorization": f"Bearer {SECRET}"}
OWN = {"origin": HOST}
AT = f"{API}/collections/crawl/orders"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection whose last run got three orders, of which two hold."""
    folder = tmp_path_factory.mktemp("ordered") / "crawl"
    few = {"harvester.workers": 1, "collection.max_pages": 100_000, "collection.max_sites": 1_000}
    gossamer.crawl(demo=True, folder=folder, pages=5, settings=few, progress=False).wait()
    web = gossamer.open(folder)
    with TestClient(server(web).application, base_url=HOST) as opened:
        for name, given in (("block", {"site": "b.example"}), ("pause", {}), ("go", {}), ("pages", {"count": "9"})):
            assert opened.post(f"{AT}/{name}", json=given, headers=BEARER).status_code == 200
    gossamer.crawl(demo=True, folder=folder, pages=6, settings=few, progress=False).wait()
    return folder


def server(web: gossamer.Collection) -> Server:
    return Server({"crawl": web}, Token(SECRET), run.hosts("127.0.0.1", 8470, ()), closed=False)


@pytest.fixture
def web(crawled: Path, tmp_path: Path) -> gossamer.Collection:
    shutil.copytree(crawled, tmp_path / "crawl")
    return gossamer.open(tmp_path / "crawl")


@pytest.fixture
def browser(web: gossamer.Collection) -> Iterator[TestClient]:
    with TestClient(server(web).application, base_url=HOST, follow_redirects=False) as opened:
        yield opened


def left(web: gossamer.Collection) -> list[tuple[str, ...]]:
    """Name, target and value of the orders that wait for the next run."""
    return [order[2:] for order in waiting(shard_folder(web.folder)).steer]


def test_what_was_ordered_is_listed_with_who_and_when_and_by_pages(browser: TestClient) -> None:
    found = browser.get(AT).json()
    assert [row["order"] for row in found["rows"]] == ["pages 9", "go", "pause", "block b.example"]
    assert [row["order"] for row in found["in_force"]] == ["block b.example", "pages 9"]
    assert {row["who"].partition(" by ")[2] for row in found["rows"]} == {"the API"}
    assert all(re.fullmatch(r"\d{4}-.*\+00:00", row["time"]) for row in found["rows"])
    first = browser.get(AT, params={"rows": 3}).json()
    rest = browser.get(AT, params={"rows": 3, "after": first["next"]}).json()
    assert first["rows"] + rest["rows"] == found["rows"]
    assert rest["next"] is None


def test_every_order_of_the_table_can_be_given(browser: TestClient, web: gossamer.Collection) -> None:
    given = {"site": "a.example", "time": "1min30s", "count": "7", "speed": "2MB/s", "number": "1"}
    given |= {"score": "depth", "weight": "0.5"}
    for kind in KINDS.values():
        words = {each.name: given[each.name] for each in kind.arguments}
        answer = browser.post(f"{AT}/{kind.name}", json=words, headers=BEARER)
        if kind.name == "stop":
            assert (answer.status_code, answer.json()["detail"]) == (400, f"no crawl runs in {web.folder}")
        else:
            assert answer.json() == {"number": None, "holds": "when the next run begins", "words": "no crawl runs"}
    assert [name for name, *_ in left(web)] == [name for name in KINDS if name != "stop"]


def test_what_makes_no_sense_is_refused_with_its_cure(browser: TestClient, web: gossamer.Collection) -> None:
    for name, words in (("slow", {"site": "a.example", "time": "soon"}), ("block", {}), ("pages", {"count": "0"})):
        said = browser.post(f"{AT}/{name}", json=words, headers=BEARER)
        assert (said.status_code, said.headers["content-type"]) == (400, "application/problem+json")
        assert KINDS[name].usage in said.json()["cure"]
    assert left(web) == []
    assert browser.post(f"{AT}/dance", json={}, headers=BEARER).status_code == 404


def test_an_order_with_a_key_is_carried_out_once(browser: TestClient, web: gossamer.Collection) -> None:
    headers = BEARER | {"idempotency-key": "one"}
    answers = [browser.post(f"{AT}/block", json={"site": "a.example"}, headers=headers).json() for _ in range(3)]
    assert answers == answers[:1] * 3
    assert left(web) == [("block", "a.example", "")]
    assert [(row["number"], row["order"]) for row in browser.get(AT).json()["waiting"]] == [(0, "block a.example")]
    other = browser.post(f"{AT}/block", json={"site": "c.example"}, headers=headers)
    assert (other.status_code, other.json()["cure"]) == (422, "Use a new key for each order.")
    assert browser.post(f"{AT}/pause", json={}, headers=BEARER | {"idempotency-key": "x" * 101}).status_code == 400
    url = f"{next(iter(web)).url}"
    for _ in range(2):
        browser.post(f"{API}/collections/crawl/again", json={"url": url}, headers=BEARER | {"idempotency-key": "two"})
    assert (shard_folder(web.folder) / ORDERS).read_text().count('"again"') == 1


def test_many_who_send_the_same_order_at_once_share_its_answer() -> None:
    answers, made = Answers(), list[int]()

    def carry_out() -> object:
        made.append(1)
        return object()

    found = list[object]()
    threads = [threading.Thread(target=lambda: found.append(answers.once("k", "pause", carry_out))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(set(map(id, found)))) == (1, 1)
    with pytest.raises(KeyUsedError):
        answers.once("k", "go", carry_out)
    for number in range(MOST):
        answers.once(str(number), "pause", carry_out)
    assert answers.of("k") is None


def test_an_error_is_not_remembered() -> None:
    answers = Answers()

    def refused() -> object:
        raise UsageError("no", "yes")

    for _ in range(2):
        with pytest.raises(UsageError):
            answers.once("k", "pause", refused)
    assert answers.once("k", "pause", lambda: 7) == 7


def forms(page: str) -> dict[str, dict[str, str]]:
    """The hidden and named fields of each form, by where it is sent."""
    found = dict[str, dict[str, str]]()
    for action, inside in re.findall(r'<form method="post" action="([^"]*)">(.*?)</form>', page, re.DOTALL):
        fields = re.findall(r'<input(?=[^>]*name="([^"]*)")(?:[^>]*value="([^"]*)")?', inside)
        found[unescape(action)] = {name: unescape(value) for name, value in fields}
    return found


def test_forms_give_orders_and_show_what_came_of_them(browser: TestClient, web: gossamer.Collection) -> None:
    page = browser.get("/c/crawl/orders").text
    found = forms(page)
    assert {f"/c/crawl/orders/{name}" for name in KINDS} <= set(found)
    assert found["/c/crawl/orders/undo"]["number"] in ("1", "4")
    browser.cookies.set(safe.COOKIE, SECRET)
    sent = found["/c/crawl/orders/slow"] | {"site": "<b>.example", "time": "1min"}
    assert browser.post("/c/crawl/orders/slow", data=sent, headers=OWN).status_code == 400
    sent["site"] = "a.example"
    for _ in range(2):  # a reload
        answer = browser.post("/c/crawl/orders/slow", data=sent, headers=OWN)
        assert answer.status_code == 303
    shown = browser.get(answer.headers["location"]).text
    assert "The order holds when the next run begins: no crawl runs." in shown
    assert left(web) == [("slow", "a.example", "60s")]
    site = browser.get("/c/crawl/site", params={"name": next(iter(web)).url.split("/")[2]}).text
    assert {f"/c/crawl/orders/{name}" for name in ("block", "slow", "prefer", "free")} <= set(forms(site))


def test_who_enters_the_token_goes_on_where_it_was_asked_for(browser: TestClient) -> None:
    page = browser.post("/c/crawl/orders/pause", data={}, headers=OWN)
    assert page.status_code == 401
    assert forms(page.text)["/token"]["to"] == "/c/crawl/orders"
    page = browser.get("/c/crawl/sql?query=select%201")
    to = forms(page.text)["/token"]["to"]
    assert to == "/c/crawl/sql?query=select%201"
    answer = browser.post("/token", data={"token": SECRET, "to": to}, headers=OWN | BEARER)
    assert (answer.status_code, answer.headers["location"]) == (303, to)
    for elsewhere in ("//evil.example/", "https://evil.example/", "/\\evil.example", "/c/\nx", "javascript:1"):
        answer = browser.post("/token", data={"token": SECRET, "to": elsewhere}, headers=OWN | BEARER)
        assert answer.headers["location"] == "/"

"""The server of the dashboard: what it answers, and what it refuses. A crawl of the demonstration Web is behind it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

import gossamer
from gossamer.base.errors import UsageError
from gossamer.cli import app
from gossamer.collection import watches
from gossamer.serve import metrics, run, safe, tables
from gossamer.serve import question as asking
from gossamer.serve.document import address, document
from gossamer.serve.question import Asked, Question
from gossamer.serve.replies import API
from gossamer.serve.routes import FILES, ORDERS, QUESTIONS
from gossamer.serve.safe import Token
from gossamer.serve.seen import IDLE, MOST, Seen
from gossamer.serve.server import Server
from gossamer.serve.subjects import overview, sites, sql
from gossamer.serve.subjects.overview import Use
from tests.support.paths import ROOT

SECRET: Final = "the-secret-of-this-test"
HOST: Final = "http://127.0.0.1:8470"
BEARER: Final = {"authorization": f"Bearer {SECRET}"}
OWN: Final = {"origin": HOST}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> gossamer.Collection:
    folder = tmp_path_factory.mktemp("serve") / "crawl"
    few = {"harvester.workers": 1, "collection.max_pages": 100_000, "collection.max_sites": 1_000}
    return gossamer.crawl(demo=True, folder=folder, pages=60, settings=few, progress=False).wait().collection


def client(web: gossamer.Collection, closed: bool = False) -> TestClient:
    server = Server({"crawl": web}, Token(SECRET), run.hosts("127.0.0.1", 8470, ()), closed)
    return TestClient(server.application, base_url=HOST, follow_redirects=False)


@pytest.fixture
def browser(web: gossamer.Collection) -> Iterator[TestClient]:
    with client(web) as opened:
        yield opened


def page_of(web: gossamer.Collection) -> str:
    return next(iter(web)).url


# --- what is answered ----------------------------------------------------------------------------------------


def choices(question: Question, web: gossamer.Collection) -> dict[str, str]:
    url = page_of(web)
    known = {"url": url, "name": url.split("/")[2], "query": "select 1 as one"}
    return {given[0]: known[given[0]] for given in question.accepts if given[0] in known}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.path or "overview")
def test_every_page_has_a_twin_in_json(question: Question, web: gossamer.Collection, browser: TestClient) -> None:
    given = choices(question, web)
    at = f"/c/crawl/{question.path}"
    shown = browser.get(at, params=given, headers=BEARER)
    assert (shown.status_code, shown.headers["content-type"]) == (200, "text/html; charset=utf-8")
    twin = browser.get(at, params=given, headers={**BEARER, "accept": "application/json"})
    api = browser.get(
        f"{API}/collections/crawl{'/' if question.path else ''}{question.path}", params=given, headers=BEARER
    )
    assert twin.headers["content-type"] == api.headers["content-type"] == "application/json"
    assert twin.status_code == api.status_code == 200
    if question.kind is not None:
        msgspec.json.decode(api.content, type=question.kind)
        assert twin.json().keys() == api.json().keys()


def test_the_overview_has_the_figures_of_status(web: gossamer.Collection, browser: TestClient) -> None:
    said, found = web.status(), browser.get(f"{API}/collections/crawl").json()
    for key in ("outcomes", "running", "ending"):
        assert found[key] == said[key]
    assert found["counts"] == {key: said[key] for key in ("visits", "stored", "known", "sites", "slowed", "bytes")}
    assert {part["name"]: part["pages"] for part in found["states"]} == {s: said[s] for s in asking.STATES}


def test_the_overview_of_a_stopped_crawl_has_its_last_requests(web: gossamer.Collection, browser: TestClient) -> None:
    found = browser.get(f"{API}/collections/crawl").json()["lately"]["requests"]
    last = web.sql(
        "select p.url, v.outcome, v.status from visits v join pages p using (page) where v.ask = 'page' "
        "order by v.tick desc, v.number desc limit 12"
    )
    assert [(one["url"], one["outcome"], one["status"]) for one in found] == [tuple(row) for row in last]
    assert f'href="/c/crawl/page?url={quote(found[0]["url"], safe="")}"' in browser.get("/c/crawl/").text


def test_sites_are_sorted_searched_and_paged_by_the_server(web: gossamer.Collection, browser: TestClient) -> None:
    def rows(**asked: Any) -> Any:
        return browser.get(f"{API}/collections/crawl/sites", params=asked).json()

    every = rows(rows=1000, sort="name")
    names = [row["name"] for row in every["rows"]]
    assert names == sorted(names)
    assert every["total"] == len(names) == web.sql("select count(*) from sites").value()
    for sort in sites.SORTS:
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            page = rows(rows=40, sort=sort, after=after)
            found += [row["name"] for row in page["rows"]]
            after = page["next"]
        assert sorted(found) == names
    part = names[0][:4]
    assert [row["name"] for row in rows(rows=1000, sort="name", q=part)["rows"]] == [n for n in names if part in n]
    assert rows(q="%")["rows"] == [], "a sign of patterns is a letter"


def test_pages_are_found_by_url_state_and_outcome(web: gossamer.Collection, browser: TestClient) -> None:
    found: list[str] = []
    after: int | None = -1
    while after is not None:
        page = browser.get(
            f"{API}/collections/crawl/pages", params={"state": "done", "rows": 30, "after": after}
        ).json()
        found += [row["url"] for row in page["rows"]]
        after = page["next"]
    assert found == [url for (url,) in web.sql("select url from pages where state = 'done' order by page")]
    url = page_of(web)
    (row,) = browser.get(f"{API}/collections/crawl/pages", params={"q": url, "outcome": "ok", "rows": 1}).json()["rows"]
    assert (row["url"], row["outcome"]) == (url, "ok")


def test_sites_show_what_waits_and_how_they_stand(web: gossamer.Collection, browser: TestClient) -> None:
    rows = browser.get(f"{API}/collections/crawl/sites", params={"rows": 1000, "sort": "queue"}).json()["rows"]
    pending = dict(
        iter(web.sql("select name, count(*) filter (state = 'pending') from pages join sites using (site) group by 1"))
    )
    assert {row["name"]: row["queue"] for row in rows} == pending
    queues = [row["queue"] for row in rows]
    assert queues == sorted(queues, reverse=True)
    for row in rows:
        explained: Any = web.explain(row["name"])
        state = explained["standing"]["clock"]
        assert row["wait"] == pytest.approx(state["wait"] * state["factor"])
        assert (row["state"] == "waiting") == (row["aside"] is not None)
    quiet = {row["name"] for row in rows if row["queue"] == 0}
    for chosen, names in (("quiet", quiet), ("failing", {row["name"] for row in rows if row["errors"]})):
        found = browser.get(f"{API}/collections/crawl/sites", params={"rows": 1000, "state": chosen}).json()["rows"]
        assert {row["name"] for row in found} == names


def test_links_of_a_page_are_those_of_the_table(web: gossamer.Collection, browser: TestClient) -> None:
    linked = "select target from links group by 1 order by count(distinct source) desc limit 1"
    url = web.sql(f"select url from pages where page = ({linked})").value()
    for way, own, other in (("in", "target", "source"), ("out", "source", "target")):
        found: list[tuple[str, str]] = []
        after: int | None = -1
        while after is not None:
            asked = {"url": url, "way": way, "rows": 3, "after": after}
            page = browser.get(f"{API}/collections/crawl/links", params=asked).json()
            found += [(row["url"], row["state"]) for row in page["rows"]]
            after = page["next"]
        rows = web.sql(
            f"select distinct o.page, o.url, o.state from links l join pages o on o.page = l.{other}"
            f" join pages p on p.page = l.{own} where p.url = ? order by 1",
            url,
        )
        assert found == [tuple(row[1:]) for row in rows]
        assert page["total"] == len(found)
    assert browser.get(f"{API}/collections/crawl/links", params={"url": "https://nowhere.example/"}).status_code == 404


def test_the_content_of_a_page_is_that_of_the_archive(web: gossamer.Collection, browser: TestClient) -> None:
    url = page_of(web)
    found = browser.get(f"{API}/collections/crawl/content", params={"url": url}).json()
    page = web[url]
    for key in ("url", "title", "text", "html", "mime", "charset", "language", "status", "outcome"):
        assert found[key] == getattr(page, key), key


def test_the_frontier_of_a_stopped_crawl_is_what_its_last_plan_had_left(
    web: gossamer.Collection, browser: TestClient
) -> None:
    found = browser.get(f"{API}/collections/crawl/frontier").json()
    assert not found["running"]
    pending = {url for (url,) in web.sql("select url from pages where state = 'pending'")}
    assert found["next"]
    assert all(each["url"] in pending and each["time"] is None for each in found["next"])
    depths = "select depth::varchar, count(*) from visits join pages using (page) where ask = 'page' group by 1"
    assert {row["name"]: row["visits"] for row in found["by_depth"]} == dict(iter(web.sql(depths)))
    sites_ = dict(iter(web.sql("select name, visits from sites where visits > 0")))
    assert all(row["visits"] == sites_[row["name"]] for row in found["by_site"])


def test_plots_of_the_report_are_shown_and_no_other_file(web: gossamer.Collection, browser: TestClient) -> None:
    report = web.folder.resolve().with_name("crawl-report")
    report.mkdir()
    (report / "report.json").write_text("{}")
    (report / "depth.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (report / "secret.svg").symlink_to(web.folder / "crawl.toml")
    found = browser.get(f"{API}/collections/crawl/frontier").json()
    assert found["plots"] == ["depth"]
    drawn = browser.get("/c/crawl/plot", params={"name": "depth"})
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert drawn.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert 'src="/c/crawl/plot?name=depth"' in browser.get("/c/crawl/frontier").text
    for name in ("secret", "../crawl/crawl", "report", "/etc/passwd", "depth.svg"):
        assert browser.get("/c/crawl/plot", params={"name": name}).status_code == 400, name


def test_the_feed_has_the_changes(web: gossamer.Collection, browser: TestClient) -> None:
    told = browser.get(f"{API}/collections/crawl/changes", params={"rows": 1000}).json()
    events = web.changes(most=1000)
    assert [(row["kind"], row["url"]) for row in told["rows"]] == [(e.kind, e.url) for e in events]
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = browser.get(f"{API}/collections/crawl/changes", params={"rows": 25, "after": after}).json()
        found += [row["url"] for row in page["rows"]]
        after = page["next"]
    assert found == [event.url for event in events]
    for path in ("/feed", "/changes", "/feed"):  # each keeps its own answer: the page reads one event more
        answer = browser.get(f"{API}/collections/crawl{path}?rows=25&since=2000-01-01")
        if path == "/changes":
            assert (len(answer.json()["rows"]), answer.json()["next"] is not None) == (25, True)
        else:
            assert answer.text.count("<entry>") == 25
    feed = browser.get("/c/crawl/feed", params={"rows": 1000})
    assert feed.headers["content-type"].startswith("application/atom+xml")
    links = ElementTree.fromstring(feed.text).findall(".//{http://www.w3.org/2005/Atom}entry/{*}link")
    assert [link.get("href") for link in links] == found
    assert 'rel="alternate" type="application/atom+xml"' in browser.get("/c/crawl/changes").text


def test_a_watch_is_a_feed_and_keeps_its_secrets(web: gossamer.Collection, browser: TestClient) -> None:
    site = page_of(web).split("/")[2]
    hook, program = "https://user:word@hooks.example/path-that-is-secret", ("/usr/bin/env", "secret-argument")
    added = watches.add(web.folder, watches.Watch(0, site, hook, program, secret="secret-key", added=1.0))
    shown = browser.get("/c/crawl/watches").text + browser.get(f"{API}/collections/crawl/watches").text
    assert "https://hooks.example/…" in shown
    assert '"env"' in shown
    for secret in ("secret-key", "path-that-is-secret", "secret-argument", "user:word"):
        assert secret not in shown
    rows = browser.get(f"{API}/collections/crawl/changes", params={"watch": added.number, "rows": 1000}).json()["rows"]
    assert {row["url"] for row in rows} == {event.url for event in web.changes(site=site, most=1000)}
    assert rows
    assert browser.get("/c/crawl/feed", params={"watch": 99}).status_code == 400
    for order in ORDERS:
        assert not {"command", "webhook"} & {field[0] for field in order.accepts}, "no order names a program or a hook"


def test_a_stored_copy_is_shown_where_nothing_of_it_runs(web: gossamer.Collection, browser: TestClient) -> None:
    url = page_of(web)
    shown = browser.get("/c/crawl/page", params={"url": url}).text
    assert "<iframe sandbox src=" in shown
    copy = browser.get("/c/crawl/copy", params={"url": url})
    assert copy.text == web[url].html
    policy = copy.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'"), "no scripts, no origin, nothing loaded"
    assert "allow-" not in policy
    assert browser.get("/c/crawl/copy", params={"url": "https://nowhere.example/"}).status_code == 404


def test_metrics_are_what_prometheus_reads(web: gossamer.Collection, browser: TestClient) -> None:
    read = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(browser.get("/metrics").text)
        for sample in family.samples
    }
    own = ("collection", "crawl")
    assert read["gossamer_visits_total", (own,)] == web.status()["visits"]
    assert read["gossamer_known_pages", (own, ("state", "done"))] == web.status()["done"]
    assert read["gossamer_up", (own,)] == 0
    assert browser.get("/health").text == "ok\n"
    assert browser.get("/ready").text == "ready\n"


def test_every_metric_of_the_grafana_board_exists(web: gossamer.Collection) -> None:
    use = Use(1, 1, {"granted": 10, "used": 5}, 7)
    found = msgspec.structs.replace(overview.answer_of("crawl", web), use=use, freshness=0.5, value=[[0.0, 1.0, 1.0]])
    found = msgspec.structs.replace(found, pace=msgspec.structs.replace(found.pace, left=1.0))
    families = text_string_to_metric_families(metrics.exposed([found]).decode())
    exposed = {sample.name for family in families for sample in family.samples}
    board = (ROOT / "docs" / "grafana.json").read_text()
    wanted = set(re.findall(r"gossamer_[a-z_]+", " ".join(re.findall(r'"expr": "(.*)"', board))))
    assert wanted <= exposed | {"gossamer_waiting_pages"}
    assert len(wanted) > 12
    assert "http" not in re.sub(r'"\$schema".*', "", board), "it asks nothing of others"


def test_the_document_of_the_api_describes_every_route(browser: TestClient) -> None:
    said = browser.get(f"{API}/openapi.json").json()
    assert said == json.loads(json.dumps(document()))
    paths = [*(q.path for q in QUESTIONS), *(file.path for file in FILES), *(order.path for order in ORDERS)]
    assert set(said["paths"]) == {address(path) for path in paths} | {f"{API}/collections"}
    assert {"Overview", "Sites", "Pages", "Problem"} <= set(said["components"]["schemas"])


def test_orders_wait_for_the_next_run(web: gossamer.Collection, browser: TestClient) -> None:
    url = page_of(web)
    for name, given in (("add", {"url": f"{url}?new=1"}), ("again", {"url": url})):
        answer = browser.post(f"{API}/collections/crawl/{name}", json=given, headers=BEARER)
        assert answer.json() == {"running": False, "pages": {}}
    left = (web.folder / "shard-000" / "orders.jsonl").read_text()
    assert f"{url}?new=1" in left


# --- what is refused -----------------------------------------------------------------------------------------


def test_a_host_that_is_not_ours_is_refused(browser: TestClient) -> None:
    """DNS rebinding: a name of somebody else that leads to this address."""
    for host in ("evil.example", "evil.example:8470", "127.0.0.1.evil.example:8470", ""):
        assert browser.get("/", headers={"host": host}).status_code == 421
    for host in ("localhost:8470", "127.0.0.1:8470", "[::1]:8470"):
        assert browser.get("/", headers={"host": host}).status_code == 307


def test_a_form_of_another_site_is_refused(browser: TestClient) -> None:
    browser.cookies.set(safe.COOKIE, SECRET)
    for origin in ({"origin": "https://evil.example"}, {"origin": "null"}, {}):
        assert (
            browser.post(f"{API}/collections/crawl/add", data={"url": "https://a.example/"}, headers=origin).status_code
            == 403
        )
    assert browser.post("/c/crawl/sql", data={"query": "select 1"}, headers=OWN).status_code == 200


def test_a_page_of_another_site_cannot_make_a_browser_ask(browser: TestClient) -> None:
    """It could not read the answer, but a hundred questions at once are work. A link may lead here."""
    path = f"{API}/collections/crawl/pages"
    for site in ("cross-site", "same-site"):
        for dest in ("empty", "image", "iframe", "script"):
            headers = {"sec-fetch-site": site, "sec-fetch-dest": dest}
            assert browser.get(path, headers=headers).status_code == 403, headers
        assert browser.get(path, headers={"sec-fetch-site": site, "sec-fetch-dest": "document"}).status_code == 200
        assert browser.get(path, headers={"sec-fetch-site": site, **BEARER}).status_code == 200
    for site in ("same-origin", "none"):
        assert browser.get(path, headers={"sec-fetch-site": site, "sec-fetch-dest": "empty"}).status_code == 200


@pytest.mark.parametrize("path", [f"{API}/collections/crawl/sql?query=select+1", "/c/crawl/sql?query=select+1"])
def test_sql_needs_the_token_everywhere(path: str, browser: TestClient) -> None:
    assert browser.get(path).status_code == 401
    assert browser.get(path, headers={"authorization": "Bearer guess"}).status_code == 401
    assert browser.get(path, headers=BEARER).status_code == 200


@pytest.mark.parametrize("order", [order.path for order in ORDERS])
def test_orders_need_the_token_everywhere(order: str, browser: TestClient) -> None:
    for headers in (OWN, {"authorization": "Bearer guess"}, {**OWN, "cookie": f"{safe.COOKIE}=guess"}):
        answer = browser.post(f"{API}/collections/crawl/{order}", data={"url": "https://a.example/"}, headers=headers)
        assert answer.status_code == 401


def test_beyond_this_machine_everything_needs_the_token(web: gossamer.Collection) -> None:
    with client(web, closed=True) as browser:
        for path in (
            "/",
            "/c/crawl/",
            "/c/crawl/live?page=",
            "/c/crawl/copy?url=x",
            "/metrics",
            f"{API}/openapi.json",
            "/nope",
        ):
            assert browser.get(path).status_code == 401, path
        assert browser.get("/health").status_code == 200
        assert browser.get("/metrics", headers=BEARER).status_code == 200


@pytest.mark.parametrize("path", [row.path for row in (*QUESTIONS, *FILES)])  # type: ignore[attr-defined]
def test_beyond_this_machine_no_page_and_no_file_is_given_without_the_token(
    path: str, web: gossamer.Collection
) -> None:
    with client(web, closed=True) as browser:
        for address_ in (f"/c/crawl/{path}", f"{API}/collections/crawl/{path}".rstrip("/")):
            assert browser.get(address_).status_code == 401


def test_the_token_is_entered_once_and_kept_in_a_cookie_that_scripts_cannot_read(web: gossamer.Collection) -> None:
    with client(web, closed=True) as browser:
        assert browser.post("/token", data={"token": "guess"}, headers=OWN).status_code == 401
        entered = browser.post("/token", data={"token": SECRET}, headers=OWN)
        assert entered.status_code == 303
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert browser.get("/c/crawl/").status_code == 200


def test_guessing_the_token_is_slow() -> None:
    now = 0.0
    token = Token(SECRET, lambda: now)
    assert not any(token.fits(f"guess {n}") for n in range(safe.WRONG))
    assert token.closed()
    assert not token.fits(SECRET), "not even the right one"
    now = 61.0
    assert token.fits(SECRET)


def test_too_many_wrong_tokens_are_said(browser: TestClient) -> None:
    path = f"{API}/collections/crawl/sql?query=select+1"
    statuses = [browser.get(path, headers={"authorization": f"Bearer {n}"}).status_code for n in range(safe.WRONG + 1)]
    assert statuses == [401] * (safe.WRONG - 1) + [429] * 2


def test_every_answer_has_the_headers_that_protect_it(browser: TestClient) -> None:
    for path in ("/", "/c/crawl/", "/metrics", "/nope", "/static/live.js", f"{API}/collections"):
        headers = browser.get(path).headers
        for name, value in safe.HEADERS.items():
            assert headers[name] == value, (path, name)
    assert "unsafe" not in safe.HEADERS["content-security-policy"]


def test_bodies_are_bounded(browser: TestClient) -> None:
    long = "x" * (safe.MOST_BODY + 1)
    assert browser.post("/token", data={"token": long}, headers=OWN).status_code == 413
    unsized = browser.post("/token", content=iter([b"token=", b"x"]), headers=OWN)
    assert unsized.status_code == 411


def test_what_is_no_number_and_no_url_is_refused(web: gossamer.Collection) -> None:
    """Servers in front of ours check less than ours does."""
    assert guarded(web, b"/c/crawl", b"\x9b", b"0") == 400
    assert guarded(web, b"/c/crawl", b"", b'"') == 400
    assert guarded(web, b"/c/crawl/", b"", b"9" * 9_999) == 413
    assert guarded(web, b"/c/crawl", b"", b"0") == 307
    with client(web) as browser:
        said = {**BEARER, "content-type": "application/json"}
        assert browser.post(f"{API}/collections/crawl/add", content=b'{"url": "\xff"}', headers=said).status_code == 400


def guarded(web: gossamer.Collection, path: bytes, query: bytes, length: bytes) -> int:
    """The status of an answer to a request that no client of ours would send."""
    server = Server({"crawl": web}, Token(SECRET), run.hosts("127.0.0.1", 8470, ()), closed=True)
    given = {b"host": b"127.0.0.1:8470", b"authorization": f"Bearer {SECRET}".encode(), b"content-length": length}
    scope = {
        "type": "http", "method": "POST" if path.endswith(b"/") else "GET", "path": path.decode(), "raw_path": path,
        "query_string": query, "headers": list(given.items()), "http_version": "1.1", "scheme": "http", "root_path": "",
    }  # fmt: skip
    statuses = list[int]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        statuses.append(message.get("status", 0))

    async def answered() -> None:
        await server.application(scope, receive, send)

    asyncio.run(answered())
    return statuses[0]


def test_paths_of_requests_never_touch_the_disk(browser: TestClient) -> None:
    for path in (
        "/static/../routes.py",
        "/static/%2e%2e/routes.py",
        "/static//etc/passwd",
        "/c/..%2f..%2fetc/",
        "/c/crawl/../../x",
    ):
        assert browser.get(path).status_code in (404, 405), path


def test_queries_only_read_and_end(browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(query: str) -> Any:
        return browser.post(f"{API}/collections/crawl/sql", json={"query": query}, headers=BEARER)

    for query in (
        "copy visits to 'x'",
        "select * from read_csv('/etc/passwd')",
        "drop table visits",
        "select 1; select 2",
    ):
        assert asked(query).status_code == 400
        assert asked(query).headers["content-type"] == "application/problem+json"
    many = asked("select * from range(5000)").json()
    assert (len(many["rows"]), many["more"]) == (asking.MOST_ROWS, True)
    monkeypatch.setattr(sql, "SECONDS", 0.3)
    slow = asked("select count(*) from range(10000000) a, range(100000) b where hash(a.range + b.range) = 1")
    assert slow.status_code == 400
    assert "longer than" in slow.json()["detail"]


def test_every_question_ends(web: gossamer.Collection, browser: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that need no token: what takes too long is interrupted, and the next question is answered."""
    asked = Asked("crawl", web, {})
    slow = "select count(*) from range(10000000) a, range(100000) b where hash(a.range + b.range) = 1"
    with asked.tables.open() as database, pytest.raises(UsageError, match="longer than"):  # noqa: SIM117
        with tables.ending(database, 0.3):
            database.run(slow)
    assert browser.get(f"{API}/collections/crawl/pages").status_code == 200


def test_errors_name_the_cure(browser: TestClient) -> None:
    problem = browser.get(f"{API}/collections/crawl/sites", params={"sort": "colour"}).json()
    assert problem["status"] == 400
    assert problem["cure"] == f"One of: {', '.join(sites.SORTS)}."
    assert browser.get(f"{API}/collections/nope").json()["detail"] == "there is no collection 'nope'"
    for path in (
        "pages?state=x",
        "pages?outcome=x",
        "pages?after=x",
        "sites?after=x",
        "sites?after=1_",
        "sites?after=1_x",
        "page",
        "page?url=mailto:x",
    ):
        assert browser.get(f"{API}/collections/crawl/{path}").status_code in (200, 400)
    assert browser.get(f"{API}/collections/crawl/pages?after=x").json()["detail"] == "after='x' is not a whole number"


# --- its start -----------------------------------------------------------------------------------------------


def test_the_token_is_made_once_and_only_its_user_can_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    first, second = run.secret(), run.secret()
    assert (first.new, second.new) == (True, False)
    assert first.token == second.token
    assert len(first.token) >= 32
    assert first.path.stat().st_mode & 0o777 == 0o600
    first.path.chmod(0o644)
    with pytest.raises(UsageError, match="others may read"):
        run.secret()
    first.path.chmod(0o600)
    for damaged in (b"", b"abc\n", b"\xff" * 40):
        first.path.write_bytes(damaged)
        with pytest.raises(UsageError, match="has no token"):
            run.secret()


def test_no_two_users_have_the_same_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no default secret."""
    made = set()
    for name in "abc":
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / name))
        made.add(run.secret().token)
    assert len(made) == 3


def test_what_nobody_asks_for_is_forgotten() -> None:
    now = [0.0]
    seen = Seen(lambda: now[0])
    first = seen.once("a", 1.0, object)
    now[0] = IDLE + 1
    seen.once("b", 1.0, object)
    now[0] = 2.0
    assert seen.once("a", 1e9, object) is not first
    for number in range(2 * MOST):
        seen.once(str(number), 1e9, object)
    assert len(seen._kept) == MOST


def test_only_loopback_is_open() -> None:
    assert all(map(run.is_loopback, ("127.0.0.1", "::1", "localhost", "127.3.2.1")))
    assert not any(map(run.is_loopback, ("0.0.0.0", "::", "192.168.1.5", "example.org")))
    assert "evil.example" not in run.hosts("0.0.0.0", 1, ())
    assert "crawl.example:1" in run.hosts("0.0.0.0", 1, ("crawl.example",))
    assert "localhost" not in run.hosts("0.0.0.0", 1, ())


def test_collections_with_the_same_name_are_told_apart(web: gossamer.Collection, tmp_path: Path) -> None:
    os.symlink(web.folder, tmp_path / "other")
    assert list(run.named([web.folder, tmp_path / "other"])) == ["crawl", "crawl-2"]


def test_a_port_that_is_taken_is_said(web: gossamer.Collection) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="no server could be started"):
            run.serve({"crawl": web}, "127.0.0.1", taken.getsockname()[1], (), SECRET)


def test_the_command_is_there() -> None:
    assert "serve" in app.commands

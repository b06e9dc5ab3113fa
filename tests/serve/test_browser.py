"""The dashboard in a real browser, with a real crawl behind it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

import httpx2
import pytest

import gossamer
from gossamer.serve.shell import TABS
from tests.support.accessible import FAULTS
from tests.support.browser import NEEDED, Browser, Page, opened
from tests.support.timing import COMMAND

pytestmark = [pytest.mark.slow, NEEDED]
SLOW: Final[dict[str, str | float]] = {
    "harvester.workers": 1,
    "harvester.wait": "1s",
    "harvester.wait_large": "1s",
    "harvester.address_wait": "1s",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dashboard")


@pytest.fixture(scope="module")
def crawling(place: Path) -> Iterator[gossamer.Crawl]:
    """A crawl that goes on while the tests run."""
    with gossamer.crawl(demo=True, folder=place / "crawl", settings=SLOW, patience="1h", progress=False) as run:
        until(lambda: run.statistics.get("stored", 0) > 20 and run.collection.pages())
        yield run


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as browser:
        yield browser


def until(what: Callable[[], object]) -> None:
    end = time.monotonic() + COMMAND
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)


@contextmanager
def serving(crawling: gossamer.Crawl, place: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """`gossamer serve` on that port, until the end of the context or a kill."""
    words = [sys.executable, "-m", "gossamer", "serve", str(crawling.folder), "--port", str(port)]
    environment = os.environ | {"XDG_CONFIG_HOME": str(place)}
    with (place / "said").open("wb") as said, subprocess.Popen(words, stderr=said, env=environment) as process:
        try:
            until(lambda: answers(port))
            yield process
        finally:
            process.kill()


def answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def served(crawling: gossamer.Crawl, place: Path, port: int) -> Iterator[str]:
    with serving(crawling, place, port):
        yield f"http://127.0.0.1:{port}"


def clean(page: Page, base: str) -> None:
    """No error in its console, nothing asked of others, nothing wider than the window."""
    assert page.errors == []
    assert page.requests
    assert all(url.startswith(base) for url in page.requests), page.requests
    assert page.overflow == 0


@pytest.mark.parametrize("width", [375, 1440])
@pytest.mark.parametrize("dark", [False, True])
def test_every_page_is_clean_at_two_widths(
    width: int, dark: bool, crawling: gossamer.Crawl, served: str, browser: Browser
) -> None:
    url = next(iter(crawling.collection)).url
    pages = [f"/c/crawl/{path}" for path, _ in TABS if path != "sql"]
    pages.append(f"/c/crawl/links?url={quote(url, safe='')}&way=out")
    pages += [f"/c/crawl/page?url={quote(url, safe='')}", f"/c/crawl/site?name={url.split('/')[2]}", "/token"]
    for path in pages:
        page = browser.page(served + path, width, dark=dark)
        clean(page, served)
        assert page.run(FAULTS) == [], path
        page.close()


def test_figures_are_live_and_come_back_after_the_server_was_killed(
    crawling: gossamer.Crawl, place: Path, browser: Browser
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    visits, lost = (
        "document.querySelector('[data-live=visits]').textContent",
        "document.querySelector('.lost') !== null",
    )
    with serving(crawling, place, port) as first:
        page = browser.page(f"http://127.0.0.1:{port}/c/crawl/")
        before = page.run(visits)
        until(lambda: page.run(visits) != before)
        until(lambda: page.run("document.querySelectorAll('[data-live=charts] polyline').length") == 4)
        newest = "document.querySelector('[data-live=requests] tbody a')?.textContent"
        until(lambda: page.run(newest))
        assert page.run(newest) in {row[0] for row in crawling.collection.sql("select url from pages")}
        os.kill(first.pid, signal.SIGKILL)
        until(lambda: page.run(lost))
    with serving(crawling, place, port):
        until(lambda: not page.run(lost))
        page.close()


def test_the_frontier_says_what_comes_next(crawling: gossamer.Crawl, served: str, browser: Browser) -> None:
    found = httpx2.get(f"{served}/api/v1/collections/crawl/frontier", timeout=COMMAND).json()
    assert found["running"]
    assert found["plan"]["left"] > 0
    times = [each["time"] for each in found["next"]]
    assert times == sorted(times)
    known = {url for (url,) in crawling.collection.sql("select url from pages")}
    assert {each["url"] for each in found["next"]} <= known
    page = browser.page(f"{served}/c/crawl/frontier", 375)
    first = "document.querySelector('[data-live=next] tbody a').textContent"
    before = page.run(first)
    until(lambda: page.run(first) != before)
    clean(page, served)
    page.close()


def test_one_goes_from_page_to_page_and_asks_in_sql(served: str, place: Path, browser: Browser) -> None:
    page = browser.page(f"{served}/")

    def click(selector: str, title: str) -> None:
        page.run(f"document.querySelector({selector!r}).click()")
        until(lambda: page.run("document.readyState + document.querySelector('h1')?.textContent") == f"complete{title}")

    click("nav a[href$=sites]", "Sites")
    site = page.run("document.querySelector('tbody a').textContent")
    click("tbody a", site)
    click("main a", "Pages")
    assert page.run("document.querySelectorAll('tbody tr').length") > 0
    click("nav a[href$=sql]", "A token is needed")
    token = (place / "gossamer" / "serve.token").read_text().strip()
    page.run(f"document.querySelector('[name=token]').value = {token!r}")
    click("button", "SQL")
    page.run("document.querySelector('textarea').value = 'select 6 * 7 as answer'")
    page.run("document.querySelector('button').click()")
    until(lambda: page.run("document.querySelector('caption')?.textContent") == "1 row")
    assert page.run("document.querySelector('tbody td').textContent") == "42"
    assert page.overflow == 0
    page.close()


def test_an_order_takes_effect_in_the_crawl_that_runs(crawling: gossamer.Crawl, served: str, place: Path) -> None:
    token = (place / "gossamer" / "serve.token").read_text().strip()
    url = f"{next(iter(crawling.collection)).url}?ordered=1"
    bearer = {"authorization": f"Bearer {token}"}
    answer = httpx2.post(f"{served}/api/v1/collections/crawl/add", json={"url": url}, headers=bearer, timeout=COMMAND)
    assert answer.json() == {"running": True, "pages": {"new": 1}}
    known = httpx2.get(f"{served}/api/v1/collections/crawl/page", params={"url": url}, timeout=COMMAND).json()
    assert known["known"]


def visits_of(crawling: gossamer.Crawl) -> int:
    """Requests that the crawl has answered, as it tells itself."""
    return int(crawling.statistics.get("visits", 0))


def has_moved_on(crawling: gossamer.Crawl, seconds: float) -> Callable[[], bool]:
    """Whether the crawl has told figures that are so many seconds newer."""
    before = float(crawling.statistics["time"])
    return lambda: float(crawling.statistics["time"]) >= before + seconds


def test_orders_are_given_and_undone_by_clicks_and_the_crawl_follows(
    crawling: gossamer.Crawl, served: str, place: Path, browser: Browser
) -> None:
    page = browser.page(f"{served}/c/crawl/orders", 375)
    browser.call("Network.clearBrowserCookies", page.session)

    def loaded(title: str) -> None:
        until(lambda: page.run("document.readyState + document.querySelector('h1')?.textContent") == f"complete{title}")

    def send(order: str, **given: str) -> None:
        """Fills the form of an order, sends it, and waits for what came of it."""
        form = f"document.querySelector('form[action$={order}]')"
        for name, value in given.items():
            page.run(f"{form}.querySelector('[name={name}]').value = {value!r}")
        page.run("document.body.dataset.old = 1")
        page.run(f"{form}.querySelector('button').click()")
        until(
            lambda: page.run("document.body?.dataset.old === undefined && document.querySelector('.answer') !== null")
        )
        assert page.run("document.querySelector('.answer').textContent").endswith("holds now.")

    page.run("document.querySelector('form[action$=pause] button').click()")
    loaded("A token is needed")
    token = (place / "gossamer" / "serve.token").read_text().strip()
    page.run(f"document.querySelector('[name=token]').value = {token!r}")
    page.run("document.querySelector('button').click()")
    loaded("Orders")
    page.run("document.querySelector('form[action$=pause] button').click()")
    until(lambda: page.run("document.querySelector('.answer')?.textContent ?? ''").endswith("holds now."))
    until(has_moved_on(crawling, 2.0))
    paused = visits_of(crawling)
    until(has_moved_on(crawling, 3.0))
    assert visits_of(crawling) == paused, "two seconds after the order nothing is requested"
    assert page.run("document.querySelector('[data-live=state]').textContent").startswith("paused by")
    send("go")
    until(lambda: visits_of(crawling) > paused)

    site = str(crawling.statistics["longest"][0]["site"])
    send("block", site=site)
    assert site in page.run("document.querySelector('[data-live=orders]').textContent")
    told = httpx2.get(f"{served}/api/v1/collections/crawl/site", params={"name": site}, timeout=COMMAND).json()
    assert told["standing"]["clock"]["why"] == "blocked"
    assert page.run(FAULTS) == []
    page.run("document.querySelector('[data-live=orders] form[action$=undo] button').click()")
    until(lambda: site not in page.run("document.querySelector('[data-live=orders]')?.textContent ?? '?'"))
    told = httpx2.get(f"{served}/api/v1/collections/crawl/site", params={"name": site}, timeout=COMMAND).json()
    assert told["standing"]["clock"]["why"] != "blocked"
    assert page.overflow == 0
    assert [error for error in page.errors if "401" not in error] == []
    page.close()

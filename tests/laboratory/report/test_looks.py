"""The pages of the report and of the audit, as a real browser shows them."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.base.escape import for_html
from gossamer.cli import app
from gossamer.laboratory.findings.finding import Finding
from gossamer.laboratory.report import make
from tests.laboratory.report.test_report import SEEDS, TITLE, crawled, made_links
from tests.support.browser import NEEDED, Browser, opened

pytestmark = NEEDED
WINDOWS = [(width, dark) for width in (375, 1440) for dark in (False, True)]
WORST = f"{TITLE}<img src=http://127.0.0.1:9/x>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened() as found:
        yield found


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    return make.report([crawled(tmp_path_factory.mktemp("looks") / "one", made_links(3), SEEDS)])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, findings: list[Finding]) -> dict[str, Path]:
    """The pages by kind; their titles say the worst."""
    place = tmp_path_factory.mktemp("pages")
    folder = crawled(place / "crawl", made_links(3), SEEDS)
    make.prepare(place / "report")
    report = make.write(place / "report", WORST, findings)
    asked = ["audit", str(folder), "--out", str(place / "audit")]
    assert CliRunner().invoke(app, asked, catch_exceptions=False).exit_code == 0
    (audit,) = (place / "audit").glob("*.html")
    return {"report": report, "audit": audit}


@pytest.mark.parametrize("kind", ["report", "audit"])
@pytest.mark.parametrize(("width", "dark"), WINDOWS)
def test_a_page_shows_without_fault_at_any_width(
    kind: str, width: int, dark: bool, pages: dict[str, Path], browser: Browser
) -> None:
    page = browser.page(pages[kind].as_uri(), width, dark=dark)
    assert page.errors == []
    assert page.requests == [pages[kind].as_uri()]
    assert page.overflow <= 0
    assert page.empty_images == 0
    assert page.run("document.body.innerText.length") > 500
    ground = page.run("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", ground)[:3])) < 128) == dark or ground == "rgba(0, 0, 0, 0)"
    page.close()


@pytest.mark.parametrize("width", [375, 1440])
def test_findings_are_not_squeezed(width: int, pages: dict[str, Path], browser: Browser) -> None:
    """On a narrow screen the cells of a finding stand below each other."""
    page = browser.page(pages["audit"].as_uri(), width)
    page.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.run("document.querySelectorAll('td:not(:empty)').length") > 10
    narrowest = "Math.min(...[...document.querySelectorAll('td:first-child')].map(each => each.clientWidth))"
    assert page.run(narrowest) > 180
    assert page.run("document.documentElement.scrollWidth") <= width
    page.close()


def test_a_title_that_is_a_script_stays_text(pages: dict[str, Path], browser: Browser) -> None:
    page = browser.page(pages["report"].as_uri())
    assert page.run("document.querySelector('h1').innerText") == WORST
    assert page.run("document.title") == WORST
    assert page.run("document.scripts.length") == 0
    assert page.run("document.querySelectorAll('h1 img').length") == 0
    page.close()


def test_the_switch_hides_what_the_thesis_found(pages: dict[str, Path], browser: Browser) -> None:
    page = browser.page(pages["report"].as_uri())
    shown = "getComputedStyle(document.querySelector('td.paper')).display"
    before = page.run(shown)
    page.run("document.querySelector('#paper').click()")
    assert (before, page.run(shown)) == ("table-cell", "none")
    page.close()


def test_every_plot_has_its_axes_labelled(pages: dict[str, Path], findings: list[Finding], browser: Browser) -> None:
    page = browser.page(pages["report"].as_uri())
    sources = page.run("[...document.images].map(each => each.src)")
    pictures = [b64decode(source.partition("base64,")[2]).decode() for source in sources]
    plots = [plot for finding in findings for plot in finding.plots]
    assert len(plots) > 10
    for plot in plots:
        (picture,) = (each for each in pictures if f">{for_html(plot.title)}</text>" in each)
        assert f">{for_html(plot.x)}</text>" in picture
        assert f">{for_html(plot.y)}</text>" in picture
    page.close()


def test_a_fault_of_a_page_is_seen(tmp_path: Path, browser: Browser) -> None:
    """The checks above can fail."""
    bad = tmp_path / "bad.html"
    bad.write_text("<title>x</title><img src='none.png'><p style='width: 3000px'>x<script>console.error('no')</script>")
    page = browser.page(bad.as_uri(), 420)
    assert page.overflow > 2000
    assert len(page.requests) == 2
    assert any("no" in error for error in page.errors)
    assert page.empty_images == 1
    page.close()

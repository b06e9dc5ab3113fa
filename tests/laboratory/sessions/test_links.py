"""Links and frames of a site, from a crawl of it, make its sessions shorter and truer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.base.errors import UsageError
from gossamer.base.model import LinkKind
from gossamer.cli import app
from gossamer.collection.layout import SETTINGS
from gossamer.config import dump
from gossamer.laboratory.sessions.links import site_of
from gossamer.laboratory.sessions.made import AGENT, START, stamp
from gossamer.laboratory.sessions.texts import joined, none, parts
from gossamer.laboratory.sessions.trace import pair
from gossamer.webs.simulated import Reply
from tests.support.world import World

pytestmark = pytest.mark.slow
HERE = "http://e.example"
LINKS = {"/": ("/menu", "/text"), "/menu": ("/a", "/b"), "/a": ("/b", "/"), "/b": ("/c?x=1",)}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of a site whose home page has two frames; another site links to it."""
    folder = tmp_path_factory.mktemp("links") / "crawl"

    def web(url: str) -> Reply:
        if url.endswith("/robots.txt"):
            return Reply()
        path = url.removeprefix(HERE)
        there = [HERE + link for link in LINKS.get(path, ())] if url.startswith(HERE) else [HERE + "/c?x=1"]
        return Reply(
            links=there, kind=LinkKind.FRAME if path == "/" else LinkKind.ANCHOR, digest=hash(url) & 0xFFFF | 1
        )

    world = World(folder, web)
    world.run([HERE + "/", "http://other.example/"])
    (folder / SETTINGS).write_text(dump(world.settings))
    return folder


def numbers(*links: tuple[str, str]) -> set[int]:
    ends = [parts(joined(each.encode() for each in side), none(len(links))).page for side in zip(*links, strict=True)]
    return set(pair(ends[0], ends[1]).tolist())


def test_links_and_frames_have_the_numbers_of_pages_in_logs(crawl: Path) -> None:
    site = site_of(crawl)(["e.example"])
    inside = [(source, target) for source, targets in LINKS.items() for target in targets]
    assert set(site.links.tolist()) == numbers(*inside)
    assert set(site.frames.tolist()) == numbers(("/", "/menu"), ("/", "/text"))
    assert site.links.tolist() == sorted(site.links.tolist())


def test_a_site_that_was_not_crawled_is_refused(crawl: Path) -> None:
    with pytest.raises(UsageError, match=r"no page of unknown\.example") as raised:
        site_of(crawl)(["unknown.example"])
    assert "--host" in raised.value.cure


def test_the_command_reads_links_and_frames_of_a_collection(crawl: Path, tmp_path: Path) -> None:
    views = [("/", "-"), ("/menu", "/"), ("/text", "/"), ("/a", "/menu"), ("/b", "/a")]
    referers = [HERE + came if came != "-" else came for _, came in views]
    lines = [
        f'192.0.2.1 - - [{stamp(START + 9 * n)}] "GET {page} HTTP/1.1" 200 5 "{referers[n]}" "{AGENT}"'
        for n, (page, _) in enumerate(views)
    ]
    log = tmp_path / "access.log"
    log.write_text("\n".join(lines))

    def visits(*more: str | Path) -> list[int]:
        done = CliRunner().invoke(app, ["sessions", str(log), *map(str, more), "--json"])
        assert done.exit_code == 0, (done.output, done.exception)
        sections = {each["finding"]: each for each in json.loads(done.stdout)["sections"]}
        assert ("ranks" in sections) == bool(more)
        (levels,) = (t for t in sections["depths"]["tables"] if t["name"] == "levels")
        return [row[1] for row in levels["rows"]]

    assert visits() == [2, 3, 1, 1]
    assert visits("--collection", crawl) == [1, 1, 1], "the frames are one page with the home page"

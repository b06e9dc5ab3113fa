"""The first words: `gossamer crawl URL`, short names of settings, and the contact that is asked for once."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from gossamer.base.errors import UsageError
from gossamer.cli import app
from gossamer.cli.contact import keep
from gossamer.cli.place import placed
from gossamer.config import Settings, load, override
from gossamer.crawler.short import SHORT, changes_of
from gossamer.crawler.start import CrawlRequest, prepare
from tests.support.crawling import Ended
from tests.support.paths import ROOT
from tests.support.timing import COMMAND

PAGES = {
    "/": ("/a/", "/b/", "/login", "/old"),
    "/a/": ("/a/deep/", "/b/"),
    "/a/deep/": (),
    "/b/": (),
    "/only-listed": ("/a/deep/",),
}
QUICK = ("--set", "harvester.wait=10ms", "--set", "harvester.wait_large=10ms", "--set", "harvester.address_wait=0s")
UNSCORED = ("--set", "manager.weights={opic=1}")
"""No link scores: no crawl here needs the process that computes them."""


class Site(BaseHTTPRequestHandler):
    """A small site with a sitemap."""

    def do_GET(self) -> None:
        home = f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]
        kind, body = "text/html", ""
        if self.path == "/robots.txt":
            kind, body = "text/plain", f"Sitemap: {home}/sitemap.xml\n"
        elif self.path == "/sitemap.xml":
            kind, body = "application/xml", f"<urlset><url><loc>{home}/only-listed</loc></url></urlset>"
        elif self.path in PAGES:
            body = f"<title>{self.path}</title>" + "".join(f'<a href="{to}">x</a>' for to in PAGES[self.path])
        self.send_response(301 if self.path == "/old" else 200 if body else 404)
        if self.path == "/old":
            self.send_header("Location", f"{home}/b/")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def gossamer(folder: Path, *arguments: str | Path) -> Ended:
    """Runs the command in a folder, with that folder as the user's settings."""
    environment = os.environ | {"XDG_CONFIG_HOME": str(folder / "config"), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "gossamer", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=COMMAND)
    return Ended(done.returncode, done.stdout, done.stderr)


def crawl(folder: Path, *arguments: str) -> Ended:
    return gossamer(
        folder,
        "crawl",
        *arguments,
        *QUICK,
        *UNSCORED,
        "--set",
        "harvester.allow_private=true",
        "--workers",
        "1",
        "--json",
    )


def fetched(folder: Path, name: str = "127.0.0.1") -> set[str]:
    """The paths of the pages that were visited."""
    query = "select distinct url from pages where visits > 0"
    rows = json.loads(gossamer(folder, "sql", name, query, "--json").output)
    return {"/" + row["url"].split("/", 3)[3] for row in rows}


# --- which word is what --------------------------------------------------------------------------------------


def place_of(*words: str) -> tuple[str, tuple[str, ...], list[str]]:
    said = list[str]()
    folder, seeds = placed(words, said.append)
    return str(folder), seeds, said


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_url_is_a_seed_and_names_the_folder(here: Path) -> None:
    url = "https://example.org/a"
    assert place_of(url) == ("example.org", (url,), ["collection: example.org"])
    assert place_of("HTTP://www.Example.org:8080", url)[0] == "example.org"
    assert place_of("https://[::1]/")[0] == "::1"
    assert place_of("http://b\u00fccher.example/")[0] == "xn--bcher-kva.example"
    assert place_of("mine", url, "http://b.example") == ("mine", (url, "http://b.example"), [])
    assert place_of(url, "mine") == ("mine", (url,), []), "in any order"
    assert place_of("example.org") == ("example.org", (), []), "anything else is the folder"


@pytest.mark.parametrize(
    "words", [("a", "b"), ("ftp://example.org/",), ("http://",), ("http://../",), ("https://-a/",)]
)
def test_words_that_name_no_folder_are_refused(here: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as error:
        place_of(*words)
    assert error.value.cure


def test_a_name_without_scheme_is_the_folder_and_the_error_says_so(here: Path) -> None:
    for name, cure in {
        "example.org": "gossamer crawl https://example.org",
        "example.org/docs": "gossamer crawl https://example.org/docs",
        "my-crawl": "gossamer crawl DIR https://example.org",
    }.items():
        with pytest.raises(UsageError, match="no usable seed") as error:
            prepare(CrawlRequest(Path(name)), lambda _: None)
        assert cure in error.value.cure


@pytest.mark.parametrize("word", ["https:/example.org", "http:example.org", "HTTP:/example.org"])
def test_a_url_with_one_slash_is_corrected(here: Path, word: str) -> None:
    with pytest.raises(UsageError, match=r"has (only one|no) slash") as error:
        place_of(word)
    assert error.value.cure == f"Write {word.split(':')[0]}://example.org"
    assert place_of("http", "https://example.org")[0] == "http"


def test_a_seed_at_a_private_address_is_noted_at_the_start(here: Path) -> None:
    said = list[str]()
    private = (
        "http://127.0.0.1:8080/",
        "http://localhost/",
        "http://[fe80::1]/",
        "http://192.168.1.7/a",
        "http://1.1.1.1/",
    )
    contact = ("harvester.contact=a@example.org",)
    prepare(CrawlRequest(Path("new"), private, changes=contact), said.append)
    noted = [line.split()[1] for line in said if "is a private address" in line]
    assert noted == ["127.0.0.1", "localhost", "[fe80::1]", "192.168.1.7"]
    said.clear()
    changes = (*contact, "harvester.allow_private=true")
    prepare(CrawlRequest(Path("own"), private, changes=changes), said.append)
    assert not [line for line in said if "private" in line]


def test_no_word_at_all_is_a_usage_error() -> None:
    said = CliRunner().invoke(app, ["crawl"])
    assert said.exit_code == 2
    assert "Missing argument '[DIR] [URL]...'" in said.output


@pytest.mark.slow
def test_a_crawl_is_begun_and_resumed_by_its_url_alone(tmp_path: Path, port: int) -> None:
    url = f"http://127.0.0.1:{port}/"
    first = crawl(tmp_path, url, "--pages", "1")
    assert first.code == 0, first.errors
    assert first.errors.startswith("collection: 127.0.0.1\n")
    again = crawl(tmp_path, url)
    assert again.errors.startswith("collection: 127.0.0.1, which exists: the crawl is resumed\n")
    assert "resumed: " in again.errors
    assert fetched(tmp_path) == {"/", "/a/", "/a/deep/", "/b/", "/old", "/only-listed"}
    (tmp_path / "127.0.0.1").rename(tmp_path / "127.0.0.2")
    other = crawl(tmp_path, f"http://127.0.0.2:{port}/")
    assert other.code == 2
    assert "127.0.0.2 is a collection of 127.0.0.1, not of 127.0.0.2" in other.errors
    (tmp_path / "127.0.0.3").mkdir()
    (tmp_path / "127.0.0.3" / "thesis.tex").touch()
    mine = crawl(tmp_path, f"http://127.0.0.3:{port}/")
    assert mine.code == 2
    assert "127.0.0.3 is not a collection, and not empty" in mine.errors
    assert "gossamer crawl DIR" in mine.errors


# --- short names ---------------------------------------------------------------------------------------------


def given(**values: Any) -> dict[str, Any]:
    return {each.name: () if each.multiple else False if each.flag else None for each in SHORT} | values


def test_short_names_set_what_their_row_says() -> None:
    usual = Settings().seeder
    changed = override(Settings(), changes_of(given(depth=2, include=("/a,b/",), exclude=(r"\.php$", '"'), workers=3)))
    assert (changed.seeder.depth_static, changed.seeder.depth_dynamic, changed.harvester.workers) == (2, 2, 3)
    assert changed.seeder.accept == ("/a,b/",)
    assert changed.seeder.reject == (*usual.reject, r"\.php$", '"'), "the defaults stay"
    assert override(Settings(), changes_of(given(only_list=True))).seeder.follow == "none"
    assert override(Settings(), changes_of(given(only_sitemaps=True))).seeder.follow == "sitemaps"
    assert changes_of(given()) == []
    with pytest.raises(UsageError, match=r"^--include \(: seeder\.accept: .* not a regular expression"):
        changes_of(given(include=("(",)))
    with pytest.raises(UsageError, match="--only-list and --only-sitemaps cannot be combined"):
        changes_of(given(only_list=True, only_sitemaps=True))


def test_a_list_grows_by_plus() -> None:
    once = override(Settings(), ("seeder.ports+=9000", "seeder.ports += 80,9001"))
    assert once.seeder.ports == (*Settings().seeder.ports, "9000", "9001")
    with pytest.raises(UsageError, match="not a list"):
        override(Settings(), ("harvester.wait+=5s",))
    with pytest.raises(UsageError, match=r"unknown setting seeder\.rejekt"):
        override(Settings(), ("seeder.rejekt+=x",))


CASES: dict[tuple[str, ...], set[str]] = {
    ("--only-list",): {"/"},
    ("--only-sitemaps",): {"/", "/only-listed"},
    ("--depth", "0"): {"/"},
    ("--depth", "1"): {"/", "/a/", "/b/", "/old", "/only-listed"},
    ("--include", "/a/", "--include", "/b"): {"/", "/a/", "/a/deep/", "/b/"},
    ("--exclude", "/a/$", "--exclude", "old"): {"/", "/b/", "/only-listed", "/a/deep/"},
}
LEFT_OUT: dict[tuple[str, ...], tuple[str, str]] = {
    ("--only-list",): ("/a/", "--only-list"),
    ("--depth", "1"): ("/a/deep/", "seeder.depth_static"),
    ("--include", "/a/", "--include", "/b"): ("/old", "No pattern of seeder.accept matches it"),
    ("--exclude", "/a/$", "--exclude", "old"): ("/a/", "The pattern /a/$ of seeder.reject matches it"),
}
"""A page that the words keep out, and what `gossamer explain` says of it."""


@pytest.mark.slow
@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_short_names_decide_which_pages_are_fetched_and_explain_says_so(
    tmp_path: Path, port: int, words: tuple[str, ...]
) -> None:
    home = f"http://127.0.0.1:{port}"
    ended = crawl(tmp_path, f"{home}/", *words)
    assert ended.code == 0, ended.errors
    assert fetched(tmp_path) == CASES[words]
    said = list[str]()
    prepare(CrawlRequest(tmp_path / "127.0.0.1"), said.append)
    assert said == [], "a resumed crawl has the same settings"
    if words in LEFT_OUT:
        page, why = LEFT_OUT[words]
        assert why in gossamer(tmp_path, "explain", "127.0.0.1", home + page).output


# --- the contact ---------------------------------------------------------------------------------------------


def test_a_contact_is_kept_beside_what_the_file_has(tmp_path: Path) -> None:
    path = tmp_path / "new" / "crawl.toml"
    keep(path, "you@example.org")
    assert load(path).harvester.contact == "you@example.org"
    for text in ("# mine\n[seeder]\nwww = false\n", '# mine\n[harvester]  # x\nabout = "https://a.example"\n'):
        path.write_text(text)
        keep(path, 'a"b@example.org')
        assert load(path).harvester.contact == 'a"b@example.org'
        assert path.read_text().startswith("# mine\n")
        assert tomllib.loads(text).keys() <= tomllib.loads(path.read_text()).keys()


def on_terminal(folder: Path, answers: str, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a command that talks to a terminal."""
    environment = os.environ | {"XDG_CONFIG_HOME": str(folder / "config"), "PYTHONPATH": str(ROOT / "src")}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gossamer", *arguments]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, answers.encode())
    said = b"".join(iter(reader(ours), b"")).decode(errors="replace")
    os.close(ours)
    return process.wait(COMMAND), said


def reader(terminal: int) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            return os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return b""

    return read


@pytest.mark.slow
def test_a_missing_contact_is_asked_for_once_and_kept(tmp_path: Path, port: int) -> None:
    """The crawl stays on this machine, and does not know it: names below a.example are not resolved here."""
    settings = tmp_path / "web.toml"
    settings.write_text(f'[harvester]\nallow_private = true\n[harvester.resolve]\n"a.example" = "127.0.0.1:{port}"\n')
    words = ("--config", str(settings), *QUICK, *UNSCORED, "--workers", "1", "--only-list")
    piped = gossamer(tmp_path, "crawl", "http://a.example/", *words)
    assert piped.code == 2, "nobody is asked"
    assert "needs a contact" in piped.errors
    code, said = on_terminal(tmp_path, "nobody\nyou@example.org\ny\n", "crawl", "http://a.example/", *words)
    assert code == 0, said
    assert "neither a mail address" in said
    kept = tmp_path / "config" / "gossamer" / "crawl.toml"
    assert str(kept) in said
    assert load(kept).harvester.contact == load(tmp_path / "a.example" / "crawl.toml").harvester.contact
    assert load(kept).harvester.contact == "you@example.org"
    code, said = on_terminal(tmp_path, "", "crawl", "second", "http://a.example/", *words)
    assert code == 0, said
    assert "mail address" not in said

"""Untrusted text reaches no screen, log line, page, SQL statement or file name unescaped: every command is run.

`COMMANDS` has the arguments of each command for a collection whose pages, headers, robots.txt and sitemaps contain
hostile text. A command that is not in it fails `test_every_command_is_tested`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import socketserver
import subprocess
import sys
import threading
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.escape import for_file, for_html, for_json, for_screen, for_sql, guard, lines_for_screen
from gossamer.cli import app, main
from gossamer.cli.progress import Progress
from gossamer.collection.layout import shard_folder
from gossamer.laboratory.findings import page, plot, table
from gossamer.laboratory.findings.finding import Column, Finding, Plot, Sentence, Series, Table
from gossamer.read.sql.columns import VIEWS
from gossamer.tools.reference import verbs
from tests.support.crawling import gossamer
from tests.support.statistics import statistics
from tests.support.terminal import Terminal

WORST: Final = "\x1b]0;x\x07\x1b[31m \x9b2J \u202egnp.exe \u2028 \x7f \x85 <script>alert(1)</script> '\"; drop -- ../x"
"""A text with special characters for terminals, logs, HTML, SQL and file systems."""
FORGED: Final = "forged: nothing is wrong"
"""The text after a line feed in untrusted text: it must not become a line of our output."""
ANYTHING: Final = st.text(max_size=20) | st.text([*WORST, "\n", "\0", "\ud800"], max_size=20)


def printable(text: str) -> bool:
    """Whether the text is printable, and has no forged line."""
    return all(line.isprintable() and not line.startswith(FORGED) for line in text.split("\n"))


# --- one function per place ------------------------------------------------------------------------------------


@given(ANYTHING)
@settings(max_examples=60, deadline=None)
def test_a_text_for_the_screen_is_one_line_of_printable_characters(text: str) -> None:
    assert for_screen(text).isprintable()
    assert printable(lines_for_screen(text))
    assert lines_for_screen(text).count("\n") == text.count("\n")
    if text.isprintable():
        assert for_screen(text) == text


@given(
    st.recursive(
        ANYTHING | st.floats() | st.none() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(ANYTHING, inner),
    ),
    st.sampled_from([None, 1]),
)
@settings(max_examples=60, deadline=None)
def test_json_decodes_to_the_value_it_was_made_from(value: Any, indent: int | None) -> None:
    made = for_json(value, indent=indent)
    assert printable(made)
    assert not any("\ud800" <= c <= "\udfff" for c in made)

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    assert json.loads(made, parse_constant=refuse) == json.loads(json.dumps(value), parse_constant=lambda word: None)


@given(ANYTHING)
@settings(max_examples=60, deadline=None)
def test_an_html_page_shows_the_text_and_nothing_else(text: str) -> None:
    read = Elements(f'<p title="{for_html(text)}">{for_html(text)}</p>')
    assert read.tags == ["p"]
    assert read.attributes == [("title", for_screen(text))]
    assert read.text == for_screen(text)


@given(ANYTHING.filter(lambda text: "\0" not in text and text.encode(errors="ignore").decode() == text))
@settings(max_examples=60, deadline=None)
def test_an_sql_literal_evaluates_to_the_text_and_nothing_else(text: str) -> None:
    assert duckdb.execute(f"select {for_sql(text)}").fetchall() == [(text,)]


@given(ANYTHING)
@settings(max_examples=60, deadline=None)
def test_a_file_name_never_leaves_its_folder(text: str) -> None:
    name = for_file(text)
    assert Path("/folder", name).resolve().parent == Path("/folder")
    assert 0 < len(name.encode()) <= 255
    assert name.isprintable()


# --- guarded streams, drawn progress, reports ------------------------------------------------------------------


class Elements(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


class Stream(io.TextIOWrapper):
    """Standard output, to a program or to a terminal."""

    def __init__(self, terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def written(self) -> str:
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode(self.encoding)


def test_everything_printed_is_escaped_whichever_code_prints_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding in ("utf-8", "ascii", "latin-1"):
        stream = Stream(encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        guard()
        print(f"title: {WORST} \ud800 日本")
        print(for_json({"title": f"{WORST} 日本"}))
        sys.stdout.writelines([WORST, "\n"])
        people, programs, again = stream.written().splitlines()
        assert printable(people + again)
        assert json.loads(programs) == {"title": f"{WORST} 日本"}


def test_an_uncaught_exception_is_escaped() -> None:
    program = f"from gossamer.base.escape import guard; guard(); raise ValueError({WORST!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ValueError: \\x1b]0;x" in done.stderr
    assert printable(done.stderr)


def test_progress_has_only_its_own_control_sequences() -> None:
    screen = Terminal()
    progress = Progress(screen)
    progress.say(f"warning: {WORST}")
    progress.show(statistics(names_fault=WORST, left={"seconds": None, "why": WORST}))
    site = {"site": WORST, "seconds": 1e3}
    progress.show(statistics(longest=[site | {"pages": 2, "each": 5e2}], awaited=site | {"sites": 1}))
    progress.doing(WORST, 0.5)
    assert printable(re.sub(r"\x1b\[(?:\d+F|J|K|[\d;]+m)", "", screen.getvalue()))


def test_reports_show_names_as_text_and_execute_none() -> None:
    series = Series(WORST, [1, 2], [1, 2])
    drawn = Plot(WORST, WORST, WORST, WORST, (series, Series(WORST, [1], [1], "points", paper=True)))
    shown = Table(WORST, WORST, (Column(WORST), Column("n", ".1f")), ((WORST, 1.0),))
    finding = Finding(WORST, WORST, WORST, WORST, (shown,), (drawn,), (Sentence(WORST, True),))
    svg = plot.as_svg(drawn)
    assert for_screen(WORST) in "".join(ElementTree.fromstring(svg).itertext())
    read = Elements(page.as_html(WORST, [finding], lambda name: svg))
    assert "script" not in read.tags
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert read.text.count(for_screen(WORST)) >= 6
    for text in (page.as_markdown(WORST, [finding]), lines_for_screen(table.as_text(shown))):
        assert printable(text)
        assert "<script" not in text or text == lines_for_screen(table.as_text(shown))


# --- every command ---------------------------------------------------------------------------------------------

HOST: Final = "evil.example"
ROOT: Final = f"http://{HOST}/"
RAW: Final = WORST.encode().replace(b"\xc2\x85", b"")
FIELD: Final = WORST.encode("latin-1", "replace").replace(b"\x85", b"")
"""`WORST` for a header field: libcurl would abort the transfer at the other characters."""
LINKS: Final = (
    "/a\x1b[31m",
    "/<script>",
    "/'or'1'='1",
    "/%2e%2e%2f%2e%2e%2fx",
    "/\u202egnp",
    "/%0d%0aSet-Cookie:x",
    '/"q"',
    "/moved",
    "/broken",
    "/text",
    "/paid",
)


def _page(title: bytes) -> bytes:
    links = b"".join(b'<a href="%s">%s</a> ' % (link.replace('"', "%22").encode(), RAW) for link in LINKS)
    said = RAW.replace(b'"', b"")
    metas = b'<meta name=description content="%s"><meta name=tdm-policy content="%s">' % (said, said)
    safe = title.replace(b"<", b"&lt;")
    return b"<html lang='%s'><head><title>%s</title>%s</head><body>%s %s</body></html>" % (
        RAW.replace(b"'", b""),
        safe,
        metas,
        links,
        RAW * 3,
    )


def _answer(status: bytes, body: bytes, *fields: bytes) -> bytes:
    head = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *fields]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


ANSWERS: Final = {
    b"/robots.txt": _answer(
        b"200 OK",
        b"User-agent: *\nDisallow: /no%s\nContent-Usage: /%s train-ai=n\nLicense: %s\n"
        b"Sitemap: %ssitemap.xml\nSitemap: %s\n" % (RAW, RAW, RAW, ROOT.encode(), RAW),
        b"Content-Type: text/plain",
    ),
    b"/sitemap.xml": _answer(
        b"200 OK",
        b"<urlset><url><loc>%ss\x1b[1m</loc><lastmod>%s</lastmod></url></urlset>" % (ROOT.encode(), RAW),
        b"Content-Type: application/xml",
    ),
    b"/moved": _answer(b"302 " + FIELD, b"", b"Location: /to\x1b[31m?" + RAW),
    b"/paid": _answer(b"402 Pay", b"", b"crawler-price: " + FIELD),
    b"/broken": _answer(b"200 OK", b"\x1f\x8b" + RAW, b"Content-Encoding: gzip", b"Content-Type: text/html"),
    b"/text": _answer(b"200 OK", RAW * 5, b"Content-Type: text/plain; charset=" + FIELD),
}


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while line := self.rfile.readline():
            while self.rfile.readline().strip():
                pass
            path = line.split(b" ")[1]
            usual = _answer(
                b"200 OK",
                _page(RAW + path),
                b"Content-Type: text/html; charset=utf-8",
                b'ETag: "' + FIELD + b'"',
                b"Last-Modified: " + FIELD,
                b"Content-Signal: " + FIELD,
                b"Content-Language: " + FIELD,
            )
            self.wfile.write(ANSWERS.get(path, usual))


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of the hostile site; next to it the output of the command, its event log, and an access log."""
    folder = tmp_path_factory.mktemp("worst")
    with _Server(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        changes = [
            f'harvester.resolve={{"*.example"="127.0.0.1:{port}"}}',
            'harvester.resolvers=["127.0.0.1:9"]',
            "harvester.name_timeout=100ms",
            "harvester.allow_private=true",
            "harvester.pause=0ms",
            "harvester.wait=10ms",
            "harvester.wait_large=10ms",
            "harvester.address_wait=10ms",
            "harvester.workers=1",
            "collection.max_pages=10000",
            "collection.max_sites=100",
            "gatherer.text=true",
        ]
        ended = gossamer(
            "crawl",
            folder / "crawl",
            "--seed",
            ROOT,
            "--seed",
            "http://" + WORST,
            "--contact",
            "a@b.example",
            "--patience",
            "0s",
            "--for",
            "10s",
            "--log",
            folder / "events.jsonl",
            "--log-level",
            "debug",
            *(a for each in changes for a in ("--set", each)),
        )
        server.shutdown()
    (folder / "said.txt").write_text(f"{ended.code}\n{ended.output}{ended.errors}")
    more = 'HTTP/1.1" 200 5 "-" "x" 1700000000.000 0.001 http evil.example 127.0.0.1 5 ""'
    request = f'"GET /\x1b[31m\\x1B[2J\u202e\\x0A{FORGED} {more}'
    (folder / "access.log").write_text(f"127.0.0.1 - - [17/Nov/2026:08:00:00 +0000] {request}\n" * 3)
    named = f'"GET /a.png HTTP/1.1" 200 5 "http://{WORST.replace(chr(34), "")}/" "Browser/1.0"'
    viewed = '"GET /a HTTP/1.1" 200 5 "-" "Browser/1.0"'
    lines = [f"127.0.0.1 - - [17/Nov/2026:08:00:00 +0000] {each}\n" for each in (*(named,) * 20, viewed)]
    (folder / "worst.log").write_text("".join(lines))
    return folder


COMMANDS: Final[dict[str, list[list[str]]]] = {
    "serve": [["DIR/" + WORST]],  # for what it shows, see tests/serve
    "crawl": [["DIR/crawl", "--set", WORST], ["DIR/crawl", "--for", WORST]],  # see also the fixture
    "add": [["DIR/crawl", WORST], ["DIR/crawl", ROOT + WORST], ["DIR/crawl", ROOT, "--json"], ["DIR/crawl", "--now"]],
    "again": [
        ["DIR/crawl", "--url", WORST],
        ["DIR/crawl", "--site", WORST],
        ["DIR/crawl", "--outcome", WORST],
        ["DIR/crawl", "--where", WORST],
        ["DIR/crawl", "--site", HOST, "--json"],
        ["DIR/crawl"],
    ],
    "steer": [
        ["DIR/crawl", WORST],
        ["DIR/crawl", "block", WORST],
        ["DIR/crawl", "slow", HOST, "1s", "--json"],
        ["DIR/crawl"],
        ["DIR/crawl", "--all", "--json"],
    ],
    "status": [["DIR/crawl"], ["DIR/crawl", "--json"], ["DIR/" + WORST.replace("/", "")]],
    "explain": [
        *(["DIR/crawl", ROOT.rstrip("/") + link, *more] for link in ("/", *LINKS[:5]) for more in ((), ("--json",))),
        ["DIR/crawl", HOST],
        ["DIR/crawl", HOST, "--json"],
        ["DIR/crawl", WORST],
        ["DIR/crawl", ROOT + "sitemap.xml"],
    ],
    "sql": [
        *(["DIR/crawl", f"select * from {view}", *more] for view in VIEWS for more in ((), ("--json",))),
        ["DIR/crawl", "select * from visits", "--csv"],
        ["DIR/crawl"],
        ["DIR/crawl", f"select '{WORST.replace(chr(39), '')}' as \"{WORST.replace(chr(34), '')}\""],
        ["DIR/crawl", WORST],
        ["DIR/crawl", "select title as x, count(*) from visits group by 1", "--rows", "2"],
        ["DIR/crawl", "pivot (select title, 1 as n from visits where title is not null) on title using count(*)"],
    ],
    "changes": [
        *(["DIR/crawl", *more] for more in ((), ("--json",), ("--atom", "-"), ("--html", "-"), ("--since", "1d"))),
        *(["DIR/crawl", option, WORST] for option in ("--since", "--site", "--kind")),
    ],
    "report": [
        ["DIR/crawl", "--json"],
        ["DIR/crawl", "--section", "summary", "--out", "DIR/report"],
        ["DIR/crawl", "--section", WORST],
        ["DIR/crawl", "--against", WORST],
        ["DIR/crawl", "--by-country", WORST],
    ],
    "plugins": [["DIR/crawl"], ["DIR/crawl", "--json"], [WORST], [WORST, "--confirm"]],
    "cite": [["DIR/crawl"], ["DIR/crawl", "--json"], [WORST]],
    "audit": [
        ["DIR/crawl", "--out", "DIR/audit"],
        ["DIR/crawl", "--json"],
        ["DIR/crawl", "--check", WORST],
        ["DIR/crawl", "--baseline", WORST],
    ],
    "forecast": [
        ["DIR/crawl", *more]
        for more in ((), ("--requests", WORST), ("--bandwidth", WORST), ("--requests", "1/s", "--json"))
    ],
    "watch": [
        *(
            ["DIR/crawl", HOST, "--command", f"true {WORST.replace(chr(39), '').replace(chr(34), '')}"]
            for _ in range(2)
        ),
        ["DIR/crawl", ROOT + "<script>*\x1b[31m", "--webhook", "https://a.example/<script>"],
        ["DIR/crawl", WORST],
        ["DIR/crawl", HOST, "--webhook", WORST],
        ["DIR/crawl", HOST, "--command", WORST],
        ["DIR/crawl"],
        ["DIR/crawl", "--json"],
        ["DIR/crawl", "--remove", "1"],
    ],
    "files": [
        ["DIR/crawl"],
        ["DIR/crawl", "--table", "warc"],
        ["DIR/crawl", "--json"],
        ["DIR/crawl", "--table", WORST],
    ],
    "stop": [["DIR/crawl"]],
    "verify": [["DIR/crawl"], ["DIR/crawl", "--json"]],
    "compact": [["DIR/crawl"]],
    "forget": [["DIR/crawl", "--list"], ["DIR/crawl", "hostile.test", "--dry-run"]],
    "export": [
        ["DIR/crawl", "--jsonl", "-", "--links", "--all"],
        ["DIR/crawl", "--wacz", "DIR/worst.wacz", "--force"],
        ["DIR/crawl", "--jsonl", "-", "--where", WORST],
    ],
    "doctor": [["DIR/crawl"], ["DIR/crawl", "--json"], ["--url", WORST], ["DIR/" + WORST.replace("/", "")]],
    "config": [["DIR/crawl", "--changes"], ["DIR/crawl", "--json"], ["DIR/" + WORST.replace("/", "")]],
    "web": [["--against", "DIR/crawl", "--pages", "40", "--sites", "2"], ["--without", WORST, "--list"]],
    "check": [
        ["DIR/access.log", "--config", "DIR/crawl/crawl.toml"],
        ["DIR/access.log", "--config", "DIR/crawl/crawl.toml", "--json"],
    ],
    "rank": [["DIR/crawl"], ["DIR/crawl", "--json"]],
    "sessions": [
        ["DIR/access.log"],
        ["DIR/worst.log", "--json"],
        ["DIR/worst.log"],
        ["DIR/worst.log", "--host", WORST, "--timeout", WORST],
        [WORST],
    ],
    "simulate": [["DIR/crawl", "--strategy", WORST], ["DIR/" + WORST.replace("/", ""), "--strategy", "random"]],
    "compare": [["DIR/crawl", "--strategy", WORST], ["DIR/" + WORST.replace("/", "")]],
    "reproduce": [[], [WORST]],
    "graph show": [["DIR/crawl"], ["DIR/crawl", "--json"]],
    "graph sample": [["DIR/crawl", "--pages", "2"]],
    "graph make": [["DIR/" + WORST.replace("/", "")]],
    "graph export": [["DIR/crawl", "--graphml", "DIR/g.graphml"], ["DIR/crawl"]],
    "graph convert": [["DIR/crawl", "DIR/made.npz"]],
    "mine": [["--key", "DIR/mine.key", WORST], ["--key", "DIR/mine.key", "a.example"], ["--key", "DIR/mine.key"]],
    "completion": [["bash"], ["fish"], [WORST]],
}
"""Lists of arguments by command; the command is run with each of them."""


def said(arguments: list[str], folder: Path, terminal: bool = False) -> tuple[str, str]:
    """Standard output and standard error of a command, run in this process."""
    out, errors = Stream(terminal), Stream(terminal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["gossamer", *(a.replace("DIR", str(folder)) for a in arguments)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", errors)
        with contextlib.suppress(SystemExit):
            main()
        return out.written(), errors.written()


def test_every_command_is_tested() -> None:
    assert set(COMMANDS) == {name for name, _ in verbs(app)}


@pytest.mark.slow
def test_the_collection_contains_hostile_text(crawled: Path) -> None:
    """Otherwise the tests below would prove nothing."""
    text = json.dumps(json.loads(said(["sql", "DIR/crawl", "select * from visits", "--json"], crawled)[0]))
    for character in ("\\u001b", "\\u202e", "<script>", "\\u2028"):
        assert character in text


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_prints_untrusted_text_unescaped(name: str, crawled: Path) -> None:
    assert COMMANDS[name]
    for arguments in COMMANDS[name]:
        whole = [*name.split(), *arguments]
        out, errors = said(whole, crawled, terminal="--csv" in arguments)
        plain = re.sub(r"\r?\x1b\[(?:\d+F|J|K)|\r", "", errors)
        assert out or errors, whole
        assert printable(out), whole
        assert printable(plain), whole
        assert "Traceback" not in errors, (whole, errors)
        if "--json" in arguments and out:
            json.loads(out)
        if "--jsonl" in arguments:
            assert all(json.loads(line) for line in out.splitlines())


@pytest.mark.slow
def test_missing_pages_of_the_hostile_web_are_exit_code_1_and_its_list_has_columns(crawled: Path) -> None:
    assert gossamer("web", "--hostile", "--against", crawled / "crawl").code == 1
    head, *rows = said(["web", "--hostile", "--list"], crawled)[0].splitlines()
    for at in (head.index("thesis"), head.index("ends as"), head.index("what it is")):
        assert {row[at - 2 : at] for row in rows} == {"  "}


@pytest.mark.slow
def test_csv_for_programs_has_the_original_text(crawled: Path) -> None:
    query = "select title from visits where title is not null order by number"
    rows = list(csv.reader(io.StringIO(said(["sql", "DIR/crawl", query, "--csv"], crawled)[0], newline="")))
    told = json.loads(said(["sql", "DIR/crawl", query, "--json"], crawled)[0])
    assert [row[0] for row in rows[1:]] == [row["title"] for row in told]
    assert any("\x1b" in row[0] for row in rows)


@pytest.mark.slow
def test_the_crawl_and_its_log_print_no_untrusted_text_unescaped(crawled: Path) -> None:
    said_by_crawl = (crawled / "said.txt").read_text()
    assert said_by_crawl.startswith("0\n"), said_by_crawl
    assert printable(said_by_crawl)
    assert "skipped: " in said_by_crawl
    lines = (crawled / "events.jsonl").read_bytes().splitlines()
    assert len(lines) > 10
    assert all(json.loads(line) and printable(line.decode()) for line in lines)


@pytest.mark.slow
def test_files_of_the_collection_have_complete_lines_and_records(crawled: Path) -> None:
    shard = shard_folder(crawled / "crawl")
    for path in shard.rglob("*"):
        assert re.fullmatch(r"[\w./=-]+", str(path.relative_to(shard))), "names are ours"
    keys = [line.split(" ", 2) for path in (shard / "cdx").iterdir() for line in path.read_text().splitlines()]
    assert keys
    for key, moment, rest in keys:
        assert key.isprintable()
        assert moment.isdecimal()
        assert json.loads(rest)["url"].startswith("http://evil.example")
    with zipfile.ZipFile(crawled / "worst.wacz") as package:
        assert all(re.fullmatch(r"[a-z]+/[\w.-]+|[\w.-]+\.json", name) for name in package.namelist())
        pages = [json.loads(line) for line in package.read("pages/pages.jsonl").splitlines()]
    assert any("\x1b" in page.get("title", "") for page in pages)

"""The docs are true: their examples run, what they name exists, and generated pages are up to date.

Blocks marked `sh` and `python` in the manual (in the order of its index), the webmasters' page and the README are run
one after another in one folder, each as its own test; crawls of the demonstration Web are cut short. `not-run` after
the language skips a block: it needs the Internet, another machine or a package that is not installed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from gossamer import __version__, config
from gossamer.base.errors import GossamerError
from gossamer.base.model import Counted, LinkKind, Outcome, Reason, State, VisitFlag
from gossamer.base.units import Duration
from gossamer.cli import app
from gossamer.config import Settings
from gossamer.config.presets import PRESETS
from gossamer.config.values import known, write
from gossamer.manager.value import Value
from gossamer.robots import Rules
from gossamer.tools import samples
from gossamer.tools.reference import COUNTED, ENVIRONMENT, EXITS, LINKS, STATES, reference, verbs
from gossamer.tools.samples import FENCE, Block
from gossamer.urls import Scope
from gossamer.web.fetch.request import request_fields
from gossamer.webs.checker import LOG_FORMAT
from tests.support.paths import ROOT
from tests.support.timing import COMMAND

DOCS: Final = {name: ROOT / name for name in ("README.md", "SECURITY.md")} | {
    str(path.relative_to(ROOT / "docs")): path for path in sorted((ROOT / "docs").rglob("*.md"))
}
MANUAL: Final = tuple(samples.pages())
RUN: Final = (*MANUAL, "webmasters.md", "deploy.md", "README.md")
PAGES: Final = 150
"""Maximum pages of a crawl of the demonstration Web."""


def blocks(*names: str) -> Iterator[Block]:
    for name in names:
        yield from samples.blocks(DOCS[name], name)


SHOWN: Final = [b for b in blocks(*RUN) if b.language in ("sh", "python") and b.mark != "not-run"]
SAMPLES, ORPHANS = samples.shown(list(blocks(*RUN)))


# --- what is shown is run ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `gossamer` command that runs the code under test."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "bin").mkdir()
    program = folder / "bin" / "gossamer"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gossamer "$@"\n')
    program.chmod(0o755)
    return folder


def shortened(text: str) -> str:
    """The text with shorter crawls: crawls of the demonstration Web end after a few pages, and use one worker."""
    cut = re.sub(r"--pages \d+", f"--pages {PAGES // 3}", text.replace("\\\n", " "))
    return re.sub(r" --demo\b(?!-)(?![^\n]*--pages)", f" --demo --pages {PAGES}", cut).replace(
        " --demo ", " --demo --workers 1 "
    )


def test_crawls_are_shortened() -> None:
    few = "gossamer crawl d --demo --workers 1 --pages"
    assert shortened("gossamer crawl d --demo\n") == f"{few} {PAGES}\n"
    assert shortened("gossamer crawl d --demo &\n") == f"{few} {PAGES} &\n"
    assert shortened("gossamer crawl d --demo --pages 1000 --demo-log f") == f"{few} {PAGES // 3} --demo-log f"


def run(command: list[str], folder: Path) -> tuple[int, str]:
    """Runs a command to its end, then kills what it left in the background. Returns exit code and output."""
    environment = os.environ | {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(folder / "config"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH")))),
    }
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(COMMAND)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        return code, output.read()


@pytest.mark.slow
@pytest.mark.parametrize("block", SHOWN, ids=str)
def test_what_the_docs_show_works(block: Block, place: Path) -> None:
    if block.language == "sh":
        code, output = run(["sh", "-e", "-c", shortened(block.text)], place)
    else:
        code, output = run([sys.executable, "-c", block.text], place)
    assert code == 0, output
    assert "Traceback" not in output
    for sample in SAMPLES.get(block, []):
        assert samples.missing(sample.text, output) == [], f"{sample} shows what the command does not print:\n{output}"


def test_few_blocks_are_not_run() -> None:
    unrun = [b for b in blocks(*RUN) if b.mark == "not-run"]
    assert {b.mark for b in blocks(*RUN) if b.language != "text"} == {"", "not-run"}
    assert sum(map(len, SAMPLES.values())) > 10
    assert [str(b) for b in ORPHANS] == [], "no block before it is run: mark it `text example`"
    assert len(unrun) < len(SHOWN) / 2
    assert len(SHOWN) > 20


def test_settings_that_are_shown_are_accepted() -> None:
    shown = [b for b in blocks(*DOCS) if b.language == "toml" and b.document != "reference.md"]
    assert len(shown) > 4
    for block in shown:
        settings = config.loads(block.text, str(block))
        Value.of(settings.manager)
        Scope.of(settings.seeder)
        assert settings != Settings(), f"{block} sets nothing"


def test_json_that_is_shown_is_json() -> None:
    shown = [json.loads(block.text) for block in blocks(*DOCS) if block.language == "json"]
    assert shown


# --- what is named exists ------------------------------------------------------------------------------------


def code_of(text: str) -> Iterator[str]:
    """Lines of fenced blocks, except blocks that show output, and all text in backticks."""
    for fence in FENCE.finditer(text):
        if fence[1] != "text":
            yield from fence[3].replace("\\\n", " ").splitlines()
    yield from re.findall(r"`([^`]+)`", FENCE.sub("", text))


@cache
def options() -> dict[str, set[str]]:
    """The options of each command, from its help; a group has the options of all its commands."""
    found: dict[str, set[str]] = {}
    for name, _ in verbs(app):
        text = CliRunner().invoke(app, [*name.split(), "--help"]).stdout
        found.setdefault(name.split()[0], set()).update(re.findall(r"--[a-z-]+", text))
    return found


def commands(name: str) -> Iterator[tuple[str, str]]:
    """The commands that a document names: verb and the rest of the line."""
    for code in code_of(DOCS[name].read_text()):
        for verb, rest in re.findall(r"\bgossamer (\w+)([^\n#]*)", " ".join(code.split())):
            if re.match(r"[a-z]", verb) and "log_format" not in code:
                yield verb, rest


def keys(name: str) -> Iterator[str]:
    """The settings that a document names."""
    sections = {key.partition(".")[0] for key in known()}
    for code in code_of(DOCS[name].read_text()):
        yield from re.findall(rf"\b((?:{'|'.join(sections)})\.[a-z_]+)\b(?!\()", code)


@pytest.mark.parametrize("name", DOCS)
def test_every_command_and_option_that_is_named_exists(name: str) -> None:
    there = options()
    for verb, rest in commands(name):
        assert verb in there, f"{name}: gossamer {verb}"
        unknown = set(re.findall(r"(?<!\S)--[a-z-]+", rest.split('"')[0])) - there[verb]
        assert not unknown, f"{name}: gossamer {verb} has no {unknown}"


@pytest.mark.parametrize("name", DOCS)
def test_every_setting_that_is_named_exists(name: str) -> None:
    assert [key for key in keys(name) if key not in known() and not key.endswith(".py")] == []


def test_the_documents_name_commands_and_settings() -> None:
    assert [name for name in RUN if not any(commands(name))] == []
    assert len({key for name in RUN for key in keys(name)}) > 40


def anchor(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("name", DOCS)
def test_every_link_between_documents_leads_somewhere(name: str) -> None:
    path = DOCS[name]
    targets = [t for t in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", path.read_text())) if "://" not in t]
    assert targets or name not in ("manual.md", "webmasters.md", "README.md"), "these link to others"
    for target in targets:
        file, _, heading = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.is_file(), f"{name}: {target}"
        if heading:
            headings = re.findall(r"^#+ (.+)$", FENCE.sub("", linked.read_text()), re.MULTILINE)
            assert heading in set(map(anchor, headings)), f"{name}: {target}"


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached, ahead = set[str](), ["README.md"]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            targets = re.findall(r"\]\(([^)\s#]+[.]md)[^)]*\)", DOCS[name].read_text())
            linked = {(DOCS[name].parent / target).resolve() for target in targets}
            ahead += [other for other, path in DOCS.items() if path in linked]
    assert reached == set(DOCS)
    assert {name for name in DOCS if name.startswith("manual/")} == set(MANUAL), "the index has every page"


@pytest.mark.parametrize("name", ["manual.md", "reference.md"])
def test_no_command_is_left_out(name: str) -> None:
    text = DOCS[name].read_text()
    assert [verb for verb in options() if f"gossamer {verb}" not in text] == []


def test_lists_of_commands_cut_no_sentence() -> None:
    for arguments in ([], ["graph"]):
        shown = CliRunner().invoke(app, arguments, terminal_width=80).output
        assert "Commands:" in shown
        assert "..." not in shown.partition("Commands:")[2]


# --- the reference -------------------------------------------------------------------------------------------


def test_the_reference_is_what_the_code_makes() -> None:
    assert DOCS["reference.md"].read_text() == reference(), "python -m gossamer.tools.reference > docs/reference.md"


def test_the_reference_leaves_no_word_out() -> None:
    assert (set(STATES), set(LINKS), set(COUNTED)) == (set(State), set(LinkKind), set(Counted))
    text = DOCS["reference.md"].read_text()
    for key in known():
        assert f"| `{key.partition('.')[2]}` |" in text
    for verb, names in options().items():
        parts = re.split(rf"### gossamer {verb}(?: \w+)?\n", text)[1:]
        part = "\n".join(each.split("\n## ")[0].split("\n### ")[0] for each in parts)
        assert set(re.findall(r"^\| `(--[a-z-]+)", part, re.MULTILINE)) == names - {"--help"}


def test_exit_codes_and_environment_are_complete() -> None:
    errors: list[type[GossamerError]] = [GossamerError, *GossamerError.__subclasses__()]
    assert set(EXITS) == {0, 130} | {error.exit_code for error in errors}
    sources = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    asked = set(re.findall(r'environ(?:\.get\(|\[)"(\w+)"', sources))
    assert asked - {"GOSSAMER_RECORD", "PYTHONPATH"} == set(ENVIRONMENT), "for tests, and Python's own"
    for name in ("manual/trouble.md", "manual.md"):
        said = DOCS[name].read_text()
        assert all(re.search(rf"\b{code}\b", said) for code in EXITS)


# --- single statements ---------------------------------------------------------------------------------------


def rows(name: str, after: str) -> list[list[str]]:
    """The rows of the first table after a text."""
    lines = DOCS[name].read_text().partition(after)[2].splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("|---"))
    found = []
    for line in lines[first + 1 :]:
        if not line.startswith("|"):
            break
        found.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return found


def test_the_webmasters_page_has_the_defaults() -> None:
    table = rows("webmasters.md", "The figures are those of the default settings")
    assert len(table) > 8
    for _, key, default in table:
        section, name = key.split(".")
        assert write(getattr(getattr(Settings(), section), name)).strip('"') == default, key


def test_the_webmasters_page_shows_what_is_sent() -> None:
    text = '[harvester]\ncontact = "you@example.org"\nabout = "https://example.org/crawler"'
    asked = config.loads(text, "here").harvester
    sent = request_fields(asked)[:2]
    shown = DOCS["webmasters.md"].read_text()
    for braces, value in {"{AGENT}": asked.agent, "{ABOUT}": asked.about, "{MAIL}": asked.contact}.items():
        shown = shown.replace(braces, value)
    assert "\n".join(sent) in shown
    assert __version__ in sent[0]


def test_the_robots_files_of_the_webmasters_page_do_what_is_said() -> None:
    texts = [b.text.replace("{agent}", "gossamer") for b in blocks("webmasters.md") if b.language == "robots"]
    slow, out, parts, shown = (Rules.parse(text.encode(), Settings().harvester.agent) for text in texts)
    assert (slow.delay, slow.allows("/x")) == (30.0, True)
    assert not out.allows("/")
    allowed = {"/": True, "/private/x": False, "/private/welcome.html": True, "/a?sort=1": False, "/b.cgi": False}
    assert {path: parts.allows(path) for path in allowed} == allowed
    assert shown.sitemaps == ("https://www.example.org/sitemap.xml",)


def test_groups_without_a_rule_are_joined_as_the_webmasters_page_says() -> None:
    other = "\nUser-agent: *\nDisallow: /\n"
    assert not Rules.parse(f"User-agent: gossamer\nCrawl-delay: 30\n{other}".encode(), "Gossamer").allows("/x")
    assert Rules.parse(f"User-agent: gossamer\nCrawl-delay: 30\nDisallow:\n{other}".encode(), "Gossamer").allows("/x")


def test_the_bits_that_are_named_are_those_of_visits() -> None:
    assert (VisitFlag.NOINDEX, VisitFlag.NOARCHIVE) == (4, 16)
    text = " ".join(DOCS["webmasters.md"].read_text().split())
    assert "bits 4 and 16 of `visits.flags`" in text
    assert f"usual ports only ({', '.join(Settings().seeder.ports)})" in text


def test_the_presets_of_the_manual_are_those_of_the_code() -> None:
    table = rows("manual/order.md", "The **preset** sets the exponents")
    assert {row[0]: (*map(float, row[1:3]), Duration.parse(row[3])) for row in table} == PRESETS


def test_the_number_of_outcomes_is_as_the_readme_says() -> None:
    assert len(Outcome) == 25
    assert "one of twenty-five outcomes" in DOCS["README.md"].read_text()


def test_the_log_format_of_the_manual_is_the_one_that_is_read() -> None:
    (shown,) = [b.text for b in blocks("manual/politeness.md") if b.language == "nginx"]
    assert "".join(re.findall(r"'([^']*)'", shown)) == LOG_FORMAT


def test_the_glossary_has_a_sentence_for_each_word() -> None:
    entries = re.findall(r"^\| \*\*(.+?)\*\*[^|]*\| (.+) \|$", DOCS["glossary.md"].read_text(), re.MULTILINE)
    assert len(entries) > 50
    assert len({word for word, _ in entries}) == len(entries)
    assert [word for word, said in entries if not re.fullmatch(r"[A-Z0-9qk].*[.…`]", said)] == []
    words = ", ".join(word for word, _ in entries)
    for needed in (
        "site",
        "origin",
        "address",
        "page",
        "depth",
        "plan",
        "turn",
        "tick",
        "batch",
        "wait",
        "segment",
        "journal",
        "image",
        "commit",
        "outcome",
        "pending",
        "waiting",
        "done",
        "excluded",
        "cash",
        "merit",
        "quality",
        "profit",
    ):
        assert re.search(rf"\b{needed}\b", words), needed


def test_glossary_and_reference_have_every_reason_for_exclusion() -> None:
    (said,) = re.findall(r"^\| \*\*excluded\*\* \| (.+) \|$", DOCS["glossary.md"].read_text(), re.MULTILINE)
    words = {reason.word for reason in Reason if reason is not Reason.NONE}
    assert set(re.findall(r"`(\w+)` \(", said)) == words
    assert {row[0] for row in rows("reference.md", "Reasons why a page is excluded:")} == words


def test_the_version_of_the_project_is_one() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == __version__

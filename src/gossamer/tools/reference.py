"""Generates docs/reference.md from the code: `python -m gossamer.tools.reference > docs/reference.md`.

Commands come from the command line itself; settings, outcomes and columns from the sentences in the code that document
them. `the_reference_is_what_the_code_makes` is a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, NamedTuple

import click

from gossamer.base.errors import GossamerError, LockedError, StorageError, UsageError
from gossamer.base.model import Counted, LinkKind, Reason, State
from gossamer.base.outcomes import ASIDE, RETRY, TREATMENTS, TRIES, Again, Treatment
from gossamer.base.units import Duration
from gossamer.cli.command import Argument
from gossamer.config.dump import reference as settings
from gossamer.config.dump import sentences
from gossamer.laboratory.simulate import scenario
from gossamer.laboratory.simulate.scenario import Scenario, Servers
from gossamer.manager.strategies import STRATEGIES
from gossamer.read.sql.columns import VIEWS

HEAD: Final = """# Reference

Generated from the code by `python -m gossamer.tools.reference > docs/reference.md`; a test compares them. The
[manual](manual.md) explains each task, the [glossary](glossary.md) explains the words.

[Commands](#commands) · [Exit codes](#exit-codes) · [Environment](#environment) · [Settings](#settings) ·
[Outcomes](#outcomes) · [Why a site waits](#why-a-site-waits) · [States of a page](#states-of-a-page) ·
[Kinds of links](#kinds-of-links) · [Links that are only counted](#links-that-are-only-counted) · [Tables](#tables) ·
[Strategies](#strategies) · [Settings of simulations](#settings-of-simulations)
"""

EXITS: Final = {
    0: "Done: the crawl ended by itself, by a limit such as `--pages`, or by `gossamer stop`.",
    GossamerError.exit_code: "A fault. Also: `verify` found something wrong, `check` found an impolite request, or "
    "`web --hostile --against` found a page with a wrong outcome.",
    UsageError.exit_code: "Invalid usage: a setting, a seed, an option, or a folder that is not a collection.",
    LockedError.exit_code: "Another process holds the collection.",
    StorageError.exit_code: "The disk is full or read-only, a file is damaged, or memory is used up. What was "
    "committed stays on disk.",
    130: "Interrupted by Ctrl-C, after a clean stop.",
    141: "Nobody reads the output any more, as after `gossamer sql … | head`. Nothing is wrong.",
}

ENVIRONMENT: Final = {
    "XDG_CONFIG_HOME": "Folder of `gossamer/crawl.toml`, which gives the contact if a crawl has none, and of "
    "`gossamer/mine.key`, the key of `gossamer mine`, and of `gossamer/confirmed`, the plug-ins that may run; default "
    "`~/.config`.",
    "XDG_CACHE_HOME": "Folder of `gossamer/checked`, the lists of files that were compared with their checksums, "
    "and of compiled kernels if the folder of the package is not writable; default `~/.cache`.",
    "GOSSAMER_DATA": "Folder of the graphs (`debian-docs.npz` …) and logs that `reproduce` uses by default.",
    "SSL_CERT_FILE": "File of certificates to use instead of those of the system.",
    "TERM": "`dumb`, or none: a terminal gets plain lines. `NO_COLOR=1` leaves colours out.",
}

_VALUES: Final = {"Path": "PATH", "Int": "N", "IntRange": "N", "Float": "X", "FloatRange": "X", "String": "TEXT"}
"""How the value of an option without a metavar is written, by the type that click gives it."""

STATES: Final = {
    State.PENDING: "It may be requested: it is planned, in flight, or not chosen yet.",
    State.WAITING: "A request failed and is tried again later; or the whole site is suspended.",
    State.DONE: "Its last outcome is final.",
    State.EXCLUDED: "It is known and not requested.",
}

LINKS: Final = {
    LinkKind.ANCHOR: 'A link to click: `a`, `area`; also `link rel="next"` and `prev`.',
    LinkKind.FRAME: "A page shown inside the page: `frame`, `iframe`.",
    LinkKind.EMBEDDED: "A part of the page: `img`, `script`, `embed`, `object`, style sheets …",
    LinkKind.CANONICAL: 'The URL that the page declares as its own: `link rel="canonical"`, or a `Link` header.',
    LinkKind.ALTERNATE: 'Another version of the page, in HTML or another language: `link rel="alternate"` or a header.',
    LinkKind.REDIRECT: "The target of a redirect by the server, by `meta refresh` or by a `Refresh` header.",
    LinkKind.SEED: "Not a link: the page is a seed.",
    LinkKind.SITEMAP: "Not a link: a sitemap of its site lists the page.",
}

COUNTED: Final = {
    Counted.IMAGE: "By its extension an image (`seeder.images`).",
    Counted.AUDIO: "By its extension audio (`seeder.audio`).",
    Counted.VIDEO: "By its extension video (`seeder.video`).",
    Counted.DOCUMENT: "By its extension a document (`seeder.documents`).",
    Counted.SOFTWARE: "By its extension software (`seeder.software`).",
    Counted.SOURCE: "By its extension source code, a script or a style (`seeder.source`).",
    Counted.ARCHIVE: "By its extension an archive (`seeder.archives`).",
    Counted.OUT_OF_SCOPE: "Its host is not in `seeder.domains`, or its port not in `seeder.ports`.",
    Counted.TOO_LONG: "The URL is longer than `seeder.url_length`.",
    Counted.NOFOLLOW: "The link, or its page, says nofollow.",
    Counted.NOT_HTTP: "Another scheme: mailto, javascript, ftp and so on.",
    Counted.SITE_FULL: "Its site already has `seeder.pages_per_site` pages, or its registrable domain as many sites or"
    " pages as it may have (`seeder.sites_per_domain`, `seeder.pages_per_domain`).",
    Counted.COLLECTION_FULL: "The collection already has `collection.max_pages` pages or `collection.max_sites` sites.",
    Counted.REJECTED: "A pattern of `seeder.reject` matches, or none of `seeder.accept`.",
    Counted.TRAP: "The path or query of the URL repeats itself more often than `seeder.repeats` allows: typical of "
    "endless, generated links.",
}


def reference() -> str:
    return "\n".join(
        (
            HEAD,
            *_commands(),
            "## Exit codes\n",
            *_table(("code", ""), ((f"{code}", _cell(text)) for code, text in EXITS.items())),
            "## Environment\n",
            *_table(("variable", ""), ((f"`{name}`", text) for name, text in ENVIRONMENT.items())),
            "## Settings\n",
            "In `crawl.toml`, or one by one with `--set section.name=value`. `gossamer config` prints the same.\n",
            settings().replace("## [", "### ["),
            *_outcomes(),
            *_standing(),
            *_views(),
            *_laboratory(),
        )
    )


def _commands() -> Iterator[str]:
    from gossamer.cli import app  # the command line is loaded for the reference alone

    yield "## Commands\n"
    for name, verb in verbs(app):
        words = list(_words(verb))
        usage = " ".join(("gossamer", name, *(w.usage for w in words if w.usage), "[OPTIONS]"))
        yield f"### gossamer {name}\n\n```\n{usage}\n```\n\n{' '.join((verb.help or '').split())}\n"
        yield from _table(("", ""), ((f"`{_cell(w.written)}`", _cell(w.help) + w.default) for w in words))


def verbs(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command, with its name; commands of a group after the name of the group."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from verbs(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


class _Word(NamedTuple):
    """An argument or an option of a command."""

    usage: str
    """How an argument stands in the usage line; "" for an option."""
    written: str
    help: str
    default: str


def _words(verb: click.Command) -> Iterator[_Word]:
    """The arguments and options of a command."""
    for each in verb.params:
        if isinstance(each, Argument):
            word = str(each.metavar)
            yield _Word(word, word if " " in word else re.sub(r"[][]", "", word), each.sentence, "")
            continue
        assert isinstance(each, click.Option)
        about = each.to_info_dict()
        value = "" if each.is_flag else f" {each.metavar or _VALUES[about['type']['param_type']]}"
        shown = f" (default {each.default})" if about["default"] and not each.is_flag else ""
        yield _Word("", "/".join(each.opts) + value, each.help or "", " (required)" if each.required else shown)


def _outcomes() -> Iterator[str]:
    yield "## Outcomes\n"
    yield (
        "The possible outcomes of a request. Tables, logs and reports use only these words. An outcome that *slows*\n"
        "doubles the wait of its site each time it occurs again; after the given number in a row the whole site is\n"
        "*suspended* for `harvester.retry`. A Retry-After of any answer counts, up to a week, if it is longer than\n"
        "the time given here.\n"
    )
    rows = (
        (
            f"`{outcome.word}`",
            _cell(follows.sentence),
            follows.again.value,
            *_tries(follows),
            "yes" if follows.slows else "no",
            f"after {follows.ends} in a row" if follows.ends else "no",
        )
        for outcome, follows in TREATMENTS.items()
    )
    heads = ("outcome", "meaning", "tried again?", "after", "tries in all", "slows the site?", "suspends it?")
    yield from _table(heads, rows)
    yield "## Why a site waits\n"
    yield "All pages of a suspended site wait: `status` counts them under these words, `explain` names the word.\n"
    sites = ((f"`{why.word}`", _cell(rest.sentence), rest.lasts) for why, rest in ASIDE.items() if why)
    yield from _table(("", "", "for how long"), sites)


def _tries(follows: Treatment) -> tuple[str, str]:
    """After what time, and how often, an outcome is tried again."""
    if follows.again is Again.NEVER:
        return "", ""
    if follows.again is Again.AT_ONCE:
        return "the next turn of its site", "unlimited"
    after = "`harvester.retry`" if follows.after == RETRY else str(Duration(follows.after))
    return after, "`harvester.tries`" if follows.tries == TRIES else str(follows.tries)


def _standing() -> Iterator[str]:
    yield "## States of a page\n"
    yield "known = pending + waiting + done + excluded, always.\n"
    yield from _sentences(STATES)
    yield "Reasons why a page is excluded:\n"
    yield from _sentences({reason: reason.sentence for reason in Reason if reason is not Reason.NONE})
    yield "## Kinds of links\n"
    yield from _sentences(LINKS)
    yield "## Links that are only counted\n"
    yield "Their targets never become pages. `visits` counts them by page, `counts` by site, extension and domain.\n"
    yield from _sentences(COUNTED)


def _views() -> Iterator[str]:
    yield "## Tables\n"
    yield (
        "The views of `gossamer sql`. Columns marked with * are not in the Parquet files of the table: they are\n"
        "computed, or joined from other files. In the files of `pages`, `state` and `reason` are those of the time\n"
        "when the page was found.\n"
    )
    for name, view in VIEWS.items():
        yield f"### {name}\n\n{view.sentence}\n"
        rows = ((f"`{c.name}`{'' if c.stored else ' *'}", c.type.lower(), _cell(c.sentence)) for c in view.columns)
        yield from _table(("column", "type", "meaning"), rows)


def _laboratory() -> Iterator[str]:
    yield "## Strategies\n"
    yield "For `gossamer simulate --strategy NAME`; strategies without * also for `manager.policy`.\n"
    rows = (
        (f"`{s.name}`{'' if s.live else ' *'}", _cell(s.sentence), _cell(s.source), f"{s.sites_by}")
        for s in STRATEGIES.values()
    )
    yield from _table(("", "which pages first", "source", "which sites first"), rows)
    yield "## Settings of simulations\n"
    yield "For `gossamer simulate --set NAME=VALUE`; times in seconds, sizes in bytes. `--servers` chooses a set.\n"
    about = sentences(scenario)
    kinds = {"instant": Servers.instant(), "measured": Servers.measured(), "faulty": Servers.faulty()}
    plain = ((f"`{f.name}`", f"{getattr(Scenario(), f.name)}", f) for f in fields(Scenario) if f.name != "servers")
    settings_rows = ((name, value, _cell(" ".join(about["Scenario"].get(f.name, ())))) for name, value, f in plain)
    yield from _table(("", "default", ""), settings_rows)
    each = (
        (
            f"`servers.{f.name}`",
            *(f"{getattr(kind, f.name)}" for kind in kinds.values()),
            _cell(" ".join(about["Servers"].get(f.name, ()))),
        )
        for f in fields(Servers)
    )
    yield from _table(("", *kinds, ""), each)


def _sentences(texts: Mapping[Any, str]) -> Iterator[str]:
    return _table(("", ""), ((f"`{each.name.lower()}`", _cell(text)) for each, text in texts.items()))


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """The lines of a Markdown table, followed by an empty line."""
    yield "\n".join((_row(heads), "|---" * len(heads) + "|", *map(_row, rows))) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")

"""docs/reference.md, made from the code: `python -m gossamer.tools.reference > docs/reference.md`.

Commands come from the command line itself, settings, outcomes and columns from the sentences that stand beside them.
`the_reference_is_what_the_code_makes` is a test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from typer import Typer
from typer.models import ArgumentInfo, OptionInfo

from gossamer.base.errors import GossamerError, LockedError, StorageError, UsageError
from gossamer.base.model import Counted, LinkKind, Reason, State
from gossamer.base.outcomes import ASIDE, RETRY, TREATMENTS, TRIES, Again, Treatment
from gossamer.base.units import Duration
from gossamer.config.comments import sentences
from gossamer.config.reference import reference as settings
from gossamer.laboratory.simulate import scenario
from gossamer.laboratory.simulate.scenario import Scenario, Servers
from gossamer.manager.strategies import STRATEGIES
from gossamer.read.sql.columns import VIEWS

HEAD: Final = """# Reference

Made from the code by `python -m gossamer.tools.reference > docs/reference.md`; a test compares them. The
[manual](manual.md) goes task by task, the [glossary](glossary.md) explains the words.

[Commands](#commands) · [Exit codes](#exit-codes) · [Environment](#environment) · [Settings](#settings) ·
[Outcomes](#outcomes) · [Why a site waits](#why-a-site-waits) · [States of a page](#states-of-a-page) ·
[Kinds of links](#kinds-of-links) · [What is only counted](#what-is-only-counted) · [Tables](#tables)
"""

EXITS: Final = {
    0: "Done: the crawl ended by itself, by a limit that was asked for, or by `gossamer stop`.",
    GossamerError.exit_code: "A fault. Also: `verify` found something wrong, `check` a request that was not polite, or "
    "`web --hostile --against` a page that ended as it must not.",
    UsageError.exit_code: "What was asked makes no sense: a setting, a seed, an option, a folder without a collection.",
    LockedError.exit_code: "Another process holds the collection.",
    StorageError.exit_code: "The disk is full or read-only, a file is damaged, or memory is gone. All that was "
    "committed is intact.",
    130: "Interrupted by Ctrl-C, after a clean stop.",
}

ENVIRONMENT: Final = {
    "XDG_CONFIG_HOME": "Where `gossamer/crawl.toml` lies, from which the contact is taken if a crawl has none; default "
    "`~/.config`.",
    "XDG_CACHE_HOME": "Where compiled kernels are kept if the folder of the package cannot be written; default "
    "`~/.cache`.",
    "GOSSAMER_DATA": "Folder with the graphs (`debian-docs.npz`, `cnr-2000.npz`) that `reproduce` runs on by default.",
    "SSL_CERT_FILE": "The file of certificates that takes the place of the system's.",
}

_VALUES: Final = {Path: "PATH", int: "N", float: "X", str: "TEXT"}

STATES: Final = {
    State.PENDING: "It may be asked for: it is planned, on its way, or has not been chosen yet.",
    State.WAITING: "It was tried without success and is tried again when its time comes; or its whole site waits.",
    State.DONE: "Its last outcome is final.",
    State.EXCLUDED: "It is known and not asked for.",
}

LINKS: Final = {
    LinkKind.ANCHOR: "A link that people click: `a`, `area`.",
    LinkKind.FRAME: "A page shown inside the page: `frame`, `iframe`.",
    LinkKind.EMBEDDED: "Something that the page is made of: `img`, `script`, `embed`, `object`, style sheets …",
    LinkKind.CANONICAL: 'The address that the page gives as its own: `link rel="canonical"`.',
    LinkKind.ALTERNATE: 'Another form of the page: `link rel="alternate"`, of type HTML or with a language.',
    LinkKind.REDIRECT: "Where the server or a `meta refresh` sends us.",
    LinkKind.SEED: "No link: the page was given as a seed.",
    LinkKind.SITEMAP: "No link: a sitemap of its site lists the page.",
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
    Counted.NOFOLLOW: "The link, or its page, asks not to follow it.",
    Counted.NOT_HTTP: "mailto, javascript, ftp and so on.",
    Counted.SITE_FULL: "Its site already has `seeder.pages_per_site` pages.",
    Counted.COLLECTION_FULL: "The collection already has `collection.max_pages` pages or `collection.max_sites` sites.",
    Counted.REJECTED: "A pattern of `seeder.reject` matches, or none of `seeder.accept`.",
    Counted.TRAP: "The URL says the same thing more often than `seeder.repeats` allows, as those of mazes do.",
}


def reference() -> str:
    return "\n".join(
        (
            HEAD,
            *_commands(),
            "## Exit codes\n",
            *_table(("code", ""), ((f"{code}", text) for code, text in EXITS.items())),
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
        yield f"### gossamer {name}\n\n```\n{usage}\n```\n\n{' '.join((verb.__doc__ or '').split())}\n"
        yield from _table(("", ""), ((f"`{_cell(w.written)}`", _cell(w.help) + w.default) for w in words))


def verbs(app: Typer, before: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every command of the line, those of a group after its name."""
    for command in app.registered_commands:
        assert command.callback is not None
        yield f"{before}{command.callback.__name__}", command.callback
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from verbs(group.typer_instance, f"{before}{group.name} ")


class _Word(NamedTuple):
    """An argument or an option of a command."""

    usage: str
    """Of an argument; "" for an option."""
    written: str
    help: str
    default: str


def _words(verb: Callable[..., Any]) -> Iterator[_Word]:
    """From the signature: what typer itself keeps of it changes from version to version."""
    hints = get_type_hints(verb, include_extras=True)
    for name, parameter in inspect.signature(verb).parameters.items():
        kind, about = get_args(hints[name])
        needed, default = parameter.default is inspect.Parameter.empty, parameter.default
        if isinstance(about, ArgumentInfo):
            word = (about.metavar or name.upper()).strip("[]")
            yield _Word(word if needed else f"[{word}]", word, about.help or "", "")
            continue
        assert isinstance(about, OptionInfo)
        written = _names(about) or f"--{name.replace('_', '-')}"
        if kind is not bool:
            written += f" {about.metavar or _value(kind)}"
        said = " (must be given)" if needed else f" (default {default})" if default and kind is not bool else ""
        yield _Word("", written, about.help or "", said)


def _names(option: OptionInfo) -> str:
    """As given; within an annotation the first of them stands where the default would."""
    given = (option.default, *(option.param_decls or ()))
    return "/".join(each for each in given if isinstance(each, str) and each.startswith("-"))


def _value(kind: Any) -> str:
    """What an option without a metavar takes: of `list[Path] | None` a Path."""
    inner = {kind, *get_args(kind), *(each for part in get_args(kind) for each in get_args(part))}
    return next(word for plain, word in _VALUES.items() if plain in inner)


def _outcomes() -> Iterator[str]:
    yield "## Outcomes\n"
    yield (
        "What can become of a request: these words and no others stand in tables, logs and reports. An outcome that\n"
        "*slows* doubles the wait of its site each time that it comes again; after so many in a row the whole site is\n"
        "*set aside* for `harvester.retry`. Retry-After counts on any answer, for a week at most, where it is longer\n"
        "than the time given here.\n"
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
    heads = ("outcome", "", "tried again?", "after", "tries in all", "slows the site?", "sets it aside?")
    yield from _table(heads, rows)
    yield "## Why a site waits\n"
    yield "All its pages wait with it: `status` counts them under these words, `explain` names the one of a site.\n"
    sites = ((f"`{why.word}`", _cell(rest.sentence), rest.lasts) for why, rest in ASIDE.items() if why)
    yield from _table(("", "", "for how long"), sites)


def _tries(follows: Treatment) -> tuple[str, str]:
    """After how long, and how often."""
    if follows.again is Again.NEVER:
        return "", ""
    if follows.again is Again.AT_ONCE:
        return "its site's next turn", "any number"
    after = "`harvester.retry`" if follows.after == RETRY else str(Duration(follows.after))
    return after, "`harvester.tries`" if follows.tries == TRIES else str(follows.tries)


def _standing() -> Iterator[str]:
    yield "## States of a page\n"
    yield "known = pending + waiting + done + excluded, always.\n"
    yield from _sentences(STATES)
    yield "Excluded, and why:\n"
    yield from _sentences({reason: reason.sentence for reason in Reason if reason is not Reason.NONE})
    yield "## Kinds of links\n"
    yield from _sentences(LINKS)
    yield "## What is only counted\n"
    yield "They never become pages. `visits` has their number by page, `counts` by site, extension and domain.\n"
    yield from _sentences(COUNTED)


def _views() -> Iterator[str]:
    yield "## Tables\n"
    yield (
        "As `gossamer sql` shows them. Columns marked with * are not in the Parquet files of the table: they are\n"
        "computed, or joined from other files. In the files of `pages`, `state` and `reason` are those of the time\n"
        "when the page was found.\n"
    )
    for name, view in VIEWS.items():
        yield f"### {name}\n\n{view.sentence}\n"
        stored = {column.name for column in view.in_segments()}
        rows = (
            (f"`{c.name}`{'' if c.name in stored else ' *'}", c.type.lower(), _cell(c.sentence)) for c in view.columns
        )
        yield from _table(("column", "type", ""), rows)


def _laboratory() -> Iterator[str]:
    yield "## Strategies\n"
    yield "`gossamer simulate --strategy NAME`; those without a mark may be named by `manager.policy` too.\n"
    rows = (
        (f"`{s.name}`{'' if s.live else ' *'}", _cell(s.sentence), _cell(s.source), f"{s.sites_by}")
        for s in STRATEGIES.values()
    )
    yield from _table(("", "which pages first", "source", "which sites first"), rows)
    yield "## Settings of simulations\n"
    yield "`gossamer simulate --set NAME=VALUE`; times are seconds, sizes bytes. `--servers` has three sets.\n"
    about = sentences(scenario)
    kinds = {"instant": Servers.instant(), "measured": Servers.measured(), "faulty": Servers.faulty()}
    plain = ((f"`{f.name}`", f"{getattr(Scenario(), f.name)}", f) for f in fields(Scenario) if f.name != "servers")
    told = ((name, value, _cell(" ".join(about["Scenario"].get(f.name, ())))) for name, value, f in plain)
    yield from _table(("", "default", ""), told)
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
    """Lines of one; an empty line follows."""
    yield "\n".join((_row(heads), "|---" * len(heads) + "|", *map(_row, rows))) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")

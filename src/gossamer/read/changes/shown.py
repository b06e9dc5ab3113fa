"""Events as text for the screen, as one JSON object, as an Atom feed (RFC 4287), and as an HTML page.

Everything that a page says is escaped (`base/escape.py`): the feed is well-formed XML and the page runs nothing,
whatever a title contains. The page is self-contained, and follows the reader's choice of dark or light.

The id of an entry is made of the collection, the page and the visit, so it is the same in every feed. (Refused: ids
with the host of the page, which is not ours to name things with.)

Invariants, each a property test of the same name: a feed is valid whatever pages say; a page of changes shows what
pages say and runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gossamer import __version__
from gossamer.base.escape import for_html
from gossamer.base.units import plural, thousands
from gossamer.collection.manifest import Meta
from gossamer.read.changes.events import Event, iso

_HINT: Final = "--rows shows more; --since, --until, --site and --kind choose"


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: the newest of the chosen events, and how many there are in all."""

    name: str
    """Name of the collection."""
    meta: Meta
    chosen: str
    """Which events were chosen, in words; empty: all."""
    counts: Mapping[str, int]
    events: Sequence[Event]

    @property
    def summary(self) -> str:
        counted = ", ".join(f"{thousands(number)} {kind}" for kind, number in self.counts.items()) or "no events"
        return f"{counted}{f' ({self.chosen})' if self.chosen else ''}"

    @property
    def cut(self) -> str:
        """The sentence that says that there are more; empty if there are not."""
        left = sum(self.counts.values()) - len(self.events)
        return f"{plural(left, 'older event')} not shown: {_HINT}." if left else ""


def head(event: Event) -> str:
    """What happened, in words: changed (minor), back."""
    return event.kind if event.change is None else f"{event.kind} ({event.change})"


def lines(shown: Shown) -> Iterator[str]:
    """For the screen."""
    yield f"{shown.name}: {shown.summary}"
    for event in shown.events:
        yield f"{iso(event.time)}  {head(event):<15}  {event.url}"
        if event.target:
            yield f"    to {event.target}"
        if event.title:
            yield f"    {event.title}"
        if event.lines is not None:
            for sign, line in event.lines.lines:
                yield f"    {sign} {line}"
            if event.lines.left_out:
                yield f"    … and {plural(event.lines.left_out, 'line')} more (--lines)"
    if shown.cut:
        yield shown.cut


def as_json(shown: Shown) -> dict[str, Any]:
    left = sum(shown.counts.values()) - len(shown.events)
    return {"counts": dict(shown.counts), "left_out": left, "events": [event.to_json() for event in shown.events]}


# --- Atom ---------------------------------------------------------------------------------------------------


def as_atom(shown: Shown, now: float) -> Iterator[str]:
    """Lines of the feed; `now`: its time if it is empty."""
    name = f"tag:gossamer.invalid,{iso(shown.meta.created)[:10]}:{shown.meta.seed:016x}"
    updated = iso(max((event.time for event in shown.events), default=now))
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<feed xmlns="http://www.w3.org/2005/Atom">'
    yield f"<id>{name}</id><title>{for_html(f'Changes of {shown.name}')}</title><updated>{updated}</updated>"
    yield f"<subtitle>{for_html(shown.summary)}</subtitle><author><name>Gossamer</name></author>"
    yield f'<generator version="{for_html(__version__)}">Gossamer</generator>'
    for event in shown.events:
        visit = f"{event.page}/{event.mark.tick}/{event.mark.number}"
        yield f"<entry><id>{name}/{visit}</id><updated>{iso(event.time)}</updated>"
        yield f"<title>{for_html(f'{head(event)}: {event.title or event.url}')}</title>"
        yield f'<link rel="alternate" href="{for_html(event.url)}"/><category term="{event.kind}"/>'
        yield f'<content type="html">{for_html("".join(_body(event)))}</content></entry>'
    yield "</feed>"


# --- HTML ---------------------------------------------------------------------------------------------------

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #656d78; --rule: #d9dde3; --paper: #fff; --card: #f7f8fa;
  --new: #0b62c4; --changed: #8a5a00; --moved: #6c3fb5; --gone: #b3261e; --back: #12723c;
  --plus: #e2f5e7; --minus: #fde7e6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --soft: #98a1ad; --rule: #343a42; --paper: #15181c;
  --card: #1d2126; --new: #7ab7ff; --changed: #e0b050; --moved: #bda0f5; --gone: #ff8b82; --back: #6fd698;
  --plus: #16351f; --minus: #401d1b; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 58rem;
  margin: 2.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0; } header p { color: var(--soft); margin: .2rem 0 1.5rem; }
h2 { font-size: 1rem; color: var(--soft); font-weight: 600; margin: 2rem 0 .5rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--rule); position: sticky; top: 0; background: var(--paper); }
article { background: var(--card); border: 1px solid var(--rule); border-left: .3rem solid var(--kind);
  border-radius: .4rem; padding: .6rem .9rem; margin: .6rem 0; }
article.new { --kind: var(--new); } article.changed { --kind: var(--changed); } article.moved { --kind: var(--moved); }
article.gone { --kind: var(--gone); } article.back { --kind: var(--back); }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; } p { margin: .15rem 0; overflow-wrap: anywhere; }
.kind { color: var(--kind); font-weight: 700; } time { color: var(--soft); float: right; margin-left: 1rem;
  font: .875rem/1.7 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
a { color: inherit; } .url { color: var(--soft); font-size: .875rem; }
ul { list-style: none; margin: .5rem 0 0; padding: 0; font: .84rem/1.45 ui-monospace, monospace; }
ins, del { text-decoration: none; }
li { padding: .05rem .5rem .05rem 1.4rem; text-indent: -.9rem; white-space: pre-wrap; overflow-wrap: anywhere; }
li.added { background: var(--plus); } li.added::before { content: "+ "; }
li.removed { background: var(--minus); } li.removed::before { content: "− "; }
footer { color: var(--soft); font-size: .875rem; margin: 2rem 0; }
"""


def as_html(shown: Shown, now: float) -> Iterator[str]:
    """Lines of the page; `now`: when it is made."""
    title = for_html(f"Changes of {shown.name}")
    yield f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
    yield f"<style>{_STYLE}</style></head>\n<body><header><h1>{title}</h1>"
    yield f"<p>{for_html(shown.summary)}</p></header><main>"
    day = ""
    for event in shown.events:
        date, _, clock = iso(event.time).partition("T")
        if date != day:
            day = date
            yield f"<h2>{day}</h2>"
        yield f'<article class="{event.kind}"><h3><time datetime="{iso(event.time)}">{clock[:-1]} UTC</time>'
        yield f'<span class="kind">{for_html(head(event))}</span> <bdi>{for_html(event.title)}</bdi></h3>'
        yield "".join(_body(event)) + "</article>"
    yield f"</main><footer><p>{for_html(shown.cut)}</p><p>Made by Gossamer {for_html(__version__)}, {iso(now)}.</p>"
    yield "</footer></body></html>"


def _body(event: Event) -> Iterator[str]:
    """The URL, the target and the lines, without line feeds."""
    url = for_html(event.url)
    yield f'<p class="url"><a href="{url}" rel="noreferrer nofollow noopener">{url}</a></p>'
    if event.target:
        yield f'<p class="url">now at {for_html(event.target)}</p>'
    if event.lines is not None and event.lines.lines:
        yield "<ul>"
        for sign, line in event.lines.lines:
            kind, tag = ("added", "ins") if sign == "+" else ("removed", "del")
            yield f'<li class="{kind}"><{tag}>{for_html(line)}</{tag}></li>'
        yield "</ul>"
        if event.lines.left_out:
            yield f"<p>… and {plural(event.lines.left_out, 'line')} more</p>"

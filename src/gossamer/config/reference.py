"""The settings as Markdown, section by section, for docs/reference.md."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from gossamer.config.accepted import limits
from gossamer.config.comments import sentences
from gossamer.config.dump import WIDTH
from gossamer.config.settings import Settings
from gossamer.config.values import KINDS, known, write

_SHORT: Final = 40
"""Maximum length of a default in the table, in characters. Longer ones follow below the table."""


def reference() -> str:
    """For each section: a heading, its introduction, a table of its settings, and the long defaults."""
    return "\n".join(_section(each.name, getattr(Settings(), each.name)) for each in fields(Settings))


def _section(section: str, values: object) -> str:
    about = sentences()[type(values).__name__]
    lines = [f"## [{section}]", "", "\n\n".join(about[""]), "", "| setting | default | accepted | meaning |"]
    lines.append("|---|---|---|---|")
    long = []
    for name, sentence in about.items():
        if not name:
            continue
        key, default = f"{section}.{name}", write(getattr(values, name))
        if len(default) > _SHORT:
            long.append(f"{name} = {write(getattr(values, name), WIDTH, len(name) + 3)}")
        kind = known()[key]
        accepted = ", ".join(filter(None, (KINDS[kind], limits(key, kind))))
        shown = f"`{_cell(default)}`" if len(default) <= _SHORT else "see below"
        lines.append(f"| `{name}` | {shown} | {_cell(accepted)} | {_cell(' '.join(sentence))} |")
    if long:
        lines += ["", "Long defaults:", "", "```toml", *long, "```"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

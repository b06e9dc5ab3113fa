"""The settings as Markdown, section by section: what docs/reference.md says about them."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from gossamer.config.accepted import limits
from gossamer.config.comments import sentences
from gossamer.config.dump import WIDTH
from gossamer.config.settings import Settings
from gossamer.config.values import KINDS, known, write

_SHORT: Final = 40
"""A default that is longer stands below its table."""


def reference() -> str:
    """A heading, the section's introduction and a table for each section; long defaults follow their table."""
    return "\n".join(_section(each.name, getattr(Settings(), each.name)) for each in fields(Settings))


def _section(section: str, values: object) -> str:
    about = sentences()[type(values).__name__]
    lines = [f"## [{section}]", "", "\n\n".join(about[""]), "", "| setting | default | accepted | |"]
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

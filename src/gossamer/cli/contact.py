"""Asks for the contact of a crawl on a terminal, and keeps it for all crawls of the user."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from gossamer import config
from gossamer.base import disk
from gossamer.config.values import write


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def asked(path: Path) -> str:
    """The contact that the user types, kept in the file `path` if they want."""
    click.echo("Site operators must be able to reach you: a contact is sent with every request.", err=True)
    contact: str = click.prompt("Your mail address, or a Web page about you", value_proc=_contact, err=True)
    if click.confirm(f"Keep it for all your crawls, in {path}?", default=True, err=True):
        keep(path, contact)
    return contact


def _contact(text: str) -> str:
    text = text.strip()
    if "@" not in text and "://" not in text:
        raise click.BadParameter("neither a mail address (you@example.org) nor a URL (https://example.org/about)")
    return text


def keep(path: Path, contact: str) -> None:
    """Writes the contact into the file. Whatever else is in it stays."""
    text = path.read_text() if path.exists() else ""
    line = f"contact = {write(contact)}\n"
    section = re.search(r"^\[harvester\][^\n]*\n", text, re.MULTILINE)
    at = section.end() if section else len(text)
    text = f"{text[:at]}{line}{text[at:]}" if section else f"{text}\n[harvester]\n{line}".lstrip("\n")
    config.loads(text, str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    disk.write_atomic(path, text.encode())

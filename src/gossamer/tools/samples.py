"""Sample outputs of README and manual: `python -m gossamer.tools.samples` runs what they show and renews the figures.

A block marked `text` shows output of the nearest `sh` block before it on its page; `text COMMAND`, of the first `sh`
block of the manual that has this command; `text example` is not output, or depends on the moment. The authors choose
the lines; this tool replaces each by the line with the same words that is printed now. So all figures come from one run
over the whole demonstration Web (some twenty minutes). `missing` compares the words alone: a test calls it with a short
crawl.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

DOCS: Final = Path(__file__).parents[3] / "docs"
FENCE: Final = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH: Final = 120
_ROW: Final = re.compile(r"\s+[\d,]+  (?P<name>\w+: \w+|\w+)|\s+(?P<head>\w+):$")
"""A row of a list, or its head: which ones there are depends on the crawl."""
_RULE: Final = re.compile(r"-[- ]+-")
_WORD: Final = re.compile(r"[A-Za-z][\w'-]*")
_VARY: Final = frozenset(("B", "KB", "MB", "GB", "ms", "s", "min", "h", "d", "is", "are", "was", "were"))
_ENDING: Final = re.compile(r"(?<=The crawl ended: ).*")


class Block(NamedTuple):
    """A fenced code block of a document."""

    document: str
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def blocks(path: Path, name: str) -> Iterator[Block]:
    text = path.read_text()
    for found in FENCE.finditer(text):
        yield Block(name, text.count("\n", 0, found.start()) + 1, found[1], found[2].strip(), found[3])


def pages() -> list[str]:
    """The pages of the manual, in the order of its index."""
    listed = re.compile(r"^(?:Begin with|-) \[[^]]+\]\((manual/[\w-]+[.]md)\)", re.MULTILINE)
    return listed.findall((DOCS / "manual.md").read_text())


def shown(every: list[Block]) -> tuple[dict[Block, list[Block]], list[Block]]:
    """The blocks that are run, in order, with the samples of their output; and samples that no such block makes."""
    found, orphans = dict[Block, list[Block]](), list[Block]()
    for block in every:
        if block.language == "sh" and block.mark != "not-run":
            found[block] = []
        elif block.language == "text" and block.mark != "example":
            sources = [b for b in found if block.mark in b.text.splitlines()] if block.mark else list(found)[-1:]
            made = bool(sources) and (bool(block.mark) or sources[0].document == block.document)
            (found[sources[0]] if made else orphans).append(block)
    return found, orphans


def missing(sample: str, output: str) -> list[str]:
    """The words of a sample that the output does not have in this order; rows of tables and lists count as one."""
    there = iter(_words(output))
    return [word for word in _words(sample) if word not in there]


def _words(text: str) -> list[str]:
    found, table = list[str](), False
    for line in _ENDING.sub("", text).splitlines():
        table = bool(_RULE.fullmatch(line.strip())) or (table and bool(line.strip()) and not line.startswith("("))
        if not table and not _ROW.match(line):
            found += (word.rstrip("s") for word in _WORD.findall(line.split("…")[0]) if word not in _VARY)
    return found


def refreshed(sample: str, output: str) -> str:
    """The sample with the lines that the output has now."""
    lines, at, made = output.splitlines(), 0, []
    for old in sample.splitlines():
        same = [n for n in range(at, len(lines)) if _alike(old, lines[n])]
        if same:
            at = same[0] + 1
        new = lines[same[0]].rstrip() if same else old
        cut = new[: WIDTH - 2].rpartition(" ")[0]
        made.append(f"{cut} …" if len(new) > WIDTH and len(cut) > WIDTH * 3 // 4 else new)
    return "".join(f"{line}\n" for line in made)


def _alike(old: str, new: str) -> bool:
    rows = _ROW.match(old), _ROW.match(new)
    if rows[0] and rows[1]:
        return rows[0].groups() == rows[1].groups()
    if any(rows) or not old.strip():
        return old == new
    before, after = _words(old), _words(new)
    return before == (after[: len(before)] if old.endswith("…") else after)


def main() -> None:
    names = ["README.md", *pages()]
    paths = {name: DOCS.parent / name if name == "README.md" else DOCS / name for name in names}
    every = [block for name in (*names[1:], names[0]) for block in blocks(paths[name], name)]
    texts = {name: path.read_text() for name, path in paths.items()}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "gossamer")
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gossamer "$@"\n')
        program.chmod(0o755)
        own = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "XDG_CONFIG_HOME": folder}
        for block, samples in shown(every)[0].items():
            done = subprocess.run(
                ["sh", "-c", block.text], cwd=folder, env=own, capture_output=True, text=True, stdin=subprocess.DEVNULL
            )
            print(f"{block}: exit code {done.returncode}, {len(samples)} samples", flush=True)
            for sample in samples:
                new = refreshed(sample.text, done.stderr + done.stdout)
                texts[sample.document] = texts[sample.document].replace(sample.text, new)
    for name, text in texts.items():
        paths[name].write_text(text)


if __name__ == "__main__":
    main()

"""Recovery: journals that a disk has damaged, and files that are no journals."""

from __future__ import annotations

import random
import shutil
import struct
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from fuzz.target import Target
from gossamer.base.errors import GossamerError
from gossamer.base.model import NONE, VISIT, VISIT_TEXTS, Texts
from gossamer.collection import image, layout, manifest, sealing
from gossamer.collection.journal import records
from gossamer.collection.journal.effects import PAGE, Effects
from gossamer.collection.journal.records import Kind, Mark
from gossamer.collection.recovery import Recovered, cut, recover
from gossamer.collection.repair import repair
from gossamer.collection.tables import seal

_MARKED: Final = 3
"""Records between two marks."""
_SEALED: Final = 6
"""Records in segments."""
_DAMAGE: Final = struct.Struct("<BBIH")  # how, which file, where, how much


class JournalTarget(Target):
    """journals: the first byte chooses: a list of damages to a real journal, a whole file, or the body of a record."""

    name = "journal"
    parts = (
        "collection/journal/records.py",
        "collection/recovery.py",
        "collection/journal/effects.py",
        "collection/manifest.py",
        "collection/repair.py",
    )
    words = (
        b'{"record":',
        b'"tick":',
        b'"lengths":{',
        b"}}",
        b"GJNL",
        b"\1\0\0\0",
        b"\xff\xff\xff\xff",
        bytes(13),
        bytes(512),
        records.encode(Kind.MARK, Mark(3, 3).encode(), 0),
        b'{"gossamer":"collection"',
        b'"checksum":"',
        b"\2",
        b"\3",
    )
    longest = 1 << 15

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        self._folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() else None))
        self._shard = layout.shard_folder(self._folder)
        layout.make_folders(self._shard)
        manifest.Manifest.create(self._shard, manifest.Meta(layout.FORMAT, 0, 5, 1.5))
        self._bodies = [_effects(tick).encode() for tick in range(1, 19)]
        self._paths = [layout.journal_path(self._shard, 3), layout.journal_path(self._shard, 4)]
        self._files = [_journal(self._bodies, 7, 12), _journal(self._bodies, 13, 18)]
        self._sealed = self._seal()
        self._paths.append(self._shard / layout.MANIFEST)
        self._files.append(self._paths[-1].read_bytes())

    def _seal(self) -> dict[Path, bytes]:
        """Makes two segments of three records each and an image of them; returns their files."""
        lines = manifest.Manifest.open(self._shard)
        for number, first in ((1, 1), (2, 4)):
            path = layout.journal_path(self._shard, number)
            path.write_bytes(_journal(self._bodies, first, first + 2))
            sealing.finish(self._shard, lines, seal.seal(self._shard, number))
        image.finish(self._shard, lines, image.write(self._shard, 6, 6, {"none": np.zeros(1, "<u4")}, {}))
        lines.close()
        return {
            path: path.read_bytes()
            for folder in (*layout.TABLES, layout.IMAGES)
            for path in (self._shard / folder).rglob("*")
            if path.is_file()
        }

    def close(self) -> None:
        shutil.rmtree(self._folder)

    def seeds(self) -> list[bytes]:
        dice = random.Random(1)
        damages = [
            b"".join(
                _DAMAGE.pack(dice.randrange(4), dice.randrange(3), dice.randrange(1 << 14), dice.randrange(1 << 16))
                for _ in range(n)
            )
            for n in (0, 1, 1, 1, 2, 3)
        ]
        files = [b"\1" + file for file in self._files[:-1]]
        return [b"\0" + d for d in damages] + files + [b"\2" + body for body in self._bodies[:3]]

    def check(self, data: bytes) -> None:
        how, rest = (data[0] if data else 0) % 3, data[1:]
        if how == 2:
            try:
                Effects.decode(rest)
            except GossamerError:
                return
        elif how == 1:
            self._recovered([rest, *self._files[1:]])
        else:
            found = self._recovered(_damaged(self._files, rest))
            assert found is None or found == self._bodies[: len(found)]
            assert found is None or len(found) % _MARKED == 0

    def _recovered(self, files: list[bytes]) -> list[bytes] | None:
        """Bodies of the records found after the cut, each of which was written; None if the damage is reported."""
        for path in set(self._shard.rglob("*")) - set(self._paths):
            if path.is_file():
                path.unlink()
        for path, content in [*self._sealed.items(), *zip(self._paths, files, strict=True)]:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        try:
            recovered = self._read()
        except GossamerError:
            repair(self._shard)
            assert repair(self._shard) == [], "a second repair does nothing"
            try:
                recovered = self._read()
            except GossamerError:
                return None
        found = [effects.encode() for effects in recovered.effects()]
        assert len(found) >= _SEALED, "no sealed record is lost silently"
        assert recovered.mark.record == len(found)
        assert set(found) <= set(self._bodies)
        cut(recovered, recovered.patience[:1]).close()
        again = self._read()
        assert [effects.encode() for effects in again.effects()][: len(found)] == found
        return found

    def _read(self) -> Recovered:
        """Reads the segments."""
        recovered = replace(recover(self._shard), image=None)
        for _ in recovered.effects():
            pass
        return recovered


def _damaged(files: list[bytes], damages: bytes) -> list[bytes]:
    changed = [bytearray(file) for file in files]
    for at in range(0, len(damages) - _DAMAGE.size + 1, _DAMAGE.size):
        how, which, where, much = _DAMAGE.unpack_from(damages, at)
        file = changed[which % len(changed)]
        place = where % (len(file) + 1)
        end = min(len(file), place + 1 + much % 600)
        if how % 4 == 0:
            del file[place:]
        elif how % 4 == 1 and place < len(file):
            file[place] ^= 1 + much % 255
        elif how % 4 == 2:
            file[place:end] = bytes(end - place)
        else:
            file[place:end] = random.Random(much).randbytes(end - place)
    return [bytes(file) for file in changed]


def _journal(bodies: list[bytes], first: int, last: int) -> bytes:
    """A file of these records, with a mark after every third."""
    parts = [records.header(0, first, salt := 7 * first)]
    for number in range(first, last + 1):
        parts.append(records.encode(Kind.EFFECTS, bodies[number - 1], salt))
        covered = number if number == last else number - 1  # the loop continues while a commit is made
        if covered >= first and covered % _MARKED == 0:
            parts.append(records.encode(Kind.MARK, Mark(covered, covered).encode(), salt))
    return b"".join(parts)


def _effects(tick: int) -> Effects:
    dice = random.Random(tick)
    pages, visits = np.zeros(2, PAGE), np.zeros(1, VISIT)
    pages["fingerprint"] = [dice.getrandbits(64) for _ in pages]
    visits["number"], visits["links"], visits["duplicate_of"] = tick, 2, NONE
    title = b"Page of tick %d" % tick
    visits["texts"][0, VISIT_TEXTS.index("title")] = len(title)
    urls = [b"http://site.example/%d/%d" % (tick, i) for i in range(2)]
    return Effects(
        tick,
        1.7e9 + tick,
        float(tick),
        0,
        0,
        2 * tick,
        pages=pages,
        urls=Texts.join(urls, "<u2"),
        visits=visits,
        visit_texts=title,
        link_targets=np.array([0, 1], "<u4"),
        link_kinds=np.array([0, 17], "u1"),
    )

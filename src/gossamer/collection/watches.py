"""Watches: what of a collection is to be told, to whom, and how often it is to be visited.

    DIR/watches.jsonl              what is watched; written by `gossamer watch`, read by all others
    DIR/shard-000/told/N.json      how far watch N has been told, and since when that fails; written by the teller alone

Every line ends in a checksum, like those of the manifest, and both files are replaced as a whole. Only their owner may
read them: they have secrets, and addresses that are as good as secrets. A running crawl notices a new file by its
times (`Noticed`).

A target is one of

    https://example.org/news       a page
    https://example.org/news/*     all pages that begin so; * stands for any text, also in other places
    example.org                    all pages of a site
    *.example.org                  all pages of the sites below a domain
    crawl:                         the crawl itself: that it stalls, is blocked, or has ended (`read/tell/crawl.py`)

Invariants, each a property test of the same name: a watch that was written is read as it was; a pattern matches what
its pieces match in order.
"""

from __future__ import annotations

import fcntl
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from gossamer.base import disk
from gossamer.base.errors import StorageError, UsageError
from gossamer.collection import manifest
from gossamer.collection.layout import shard_folder
from gossamer.config.settings import SeederSettings

FILE: Final = "watches.jsonl"
TOLD: Final = "told"
CRAWL: Final = "crawl:"
"""The target of a watch of the crawl itself."""
DAY: Final = 86_400.0
SHORTEST: Final = 60.0
"""Shortest time between visits that a watch may ask for, in seconds."""
_OWNER: Final = 0o600
_LAST: Final = 2**63 - 1
"""Above the number of every assignment."""
_FORM: Final = 1
_CURE: Final = "Restore it from a backup, or remove it and give the watches again."
_OF_PATHS: Final = "".join(set(map(chr, range(0x21, 0x7F))) - set('"<>'))
"""Characters of paths and patterns that stay; others are in URLs as escapes."""
_OF_A_SITE: Final = 3
"""Number of slashes in the URL of a site's start page."""
_TARGETS: Final = (
    "Watch a page (https://example.org/news), a part (https://example.org/news/*) or a site (example.org)."
)


@dataclass(frozen=True, slots=True)
class Watch:
    """A subscription."""

    number: int
    target: str
    webhook: str = ""
    command: tuple[str, ...] = ()
    within: float = 0.0
    """Longest time between two visits of what matches, in seconds; 0: as the crawl plans."""
    secret: str = ""
    """Key of the signatures of its webhook."""
    added: float = 0.0
    tick: int = 0
    """Events up to this tick are not told: they were known when the watch was added."""

    def matches(self, url: str) -> bool:
        """Whether a canonical URL is watched."""
        from gossamer.urls import host  # loads numpy, which `gossamer status` does without

        return like(self.target, url if "://" in self.target else host(url))

    @property
    def sql(self) -> str:
        """The target as an SQL pattern (`like … escape '\\'`): of URLs, or of names of sites if it has no scheme."""
        return "%".join(p.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") for p in self.target.split("*"))


@dataclass(frozen=True, slots=True)
class Watches:
    """All watches of a collection, by number."""

    next: int = 1
    watches: tuple[Watch, ...] = ()

    def period(self, url: str) -> float:
        """The longest time between two visits of a page that its watches allow, in seconds; inf: they do not care."""
        return min((w.within for w in self.watches if w.within and w.matches(url)), default=math.inf)


def like(pattern: str, text: str) -> bool:
    """Whether a text is like a pattern, in which * stands for any text. Takes time in proportion to both."""
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    *middle, last = others
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def target_of(text: str, seeder: SeederSettings) -> str:
    """The target as it is stored: hosts and URLs in canonical form. UsageError if it is none."""
    from gossamer.urls import canonical, host, without_www

    if text.strip() == CRAWL:
        return CRAWL
    if not text.isprintable():
        raise UsageError(f"{text!r} has characters that no URL has", _TARGETS)
    scheme, separator, rest = text.strip().partition("://")
    if not separator:
        name = without_www(scheme.lower()) if seeder.www else scheme.lower()
        bare = canonical(f"http://{name.removeprefix('*.')}/") or ""
        if host(bare or "http:///") != name.removeprefix("*.") or "*" in bare or bare.count("/") != _OF_A_SITE:
            raise UsageError(f"{text!r} is neither a URL nor the name of a site", _TARGETS)
        return name
    if scheme.lower() not in ("http", "https", "*"):
        raise UsageError(f"{text!r}: only pages of http and https are visited", _TARGETS)
    if "*" not in text:
        url = canonical(text, None, seeder.session_ids, seeder.www, seeder.url_form)
        if url is None:
            raise UsageError(f"{text!r} is not a URL", _TARGETS)
        return url
    name, slash, path = rest.partition("/")
    name = without_www(name.lower()) if seeder.www else name.lower()
    if not name.isascii():
        found = canonical(f"http://{name}/") if "*" not in name else None
        if found is None:
            raise UsageError(f"{text!r}: with a *, a host must be written as it is looked up: xn--…", _TARGETS)
        name = found[len("http://") : -1]
    path = quote(path, safe=_OF_PATHS)
    if not slash and not name.endswith("*"):
        raise UsageError(f"{text!r} matches no URL, because a URL has a / after the host", _TARGETS)
    return f"{scheme.lower()}://{name}{slash}{path}"


# --- the file -----------------------------------------------------------------------------------------------


def read(folder: Path) -> Watches:
    """The watches of a collection; none if there is no file. StorageError if it is damaged."""
    path = folder / FILE
    try:
        with disk.naming("read", path):
            raw = path.read_bytes()
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return Watches()
        raise
    lines = [manifest.decode(line) for line in raw.splitlines(keepends=True)]
    head = lines[0] if lines else None
    if head is None or head.get("watches") != len(lines) - 1 or None in lines:
        raise StorageError(f"{path} is damaged", _CURE)
    if head.get("form") != _FORM:
        raise StorageError(f"{path} was written by a later version", "Use that version, or remove the file.")
    return Watches(int(head["next"]), tuple(_watch(line) for line in lines[1:] if line is not None))


def _watch(line: dict[str, Any]) -> Watch:
    return Watch(**{**line, "command": tuple(line["command"])})


def _write(folder: Path, watches: Watches) -> None:
    head = {"form": _FORM, "watches": len(watches.watches), "next": watches.next}
    lines = [manifest.encode(each) for each in (head, *map(asdict, watches.watches))]
    disk.write_atomic(folder / FILE, *lines, mode=_OWNER)


def add(folder: Path, watch: Watch) -> Watch:
    """Adds a watch; returns it with its number."""
    with _alone(folder):
        before = read(folder)
        added = replace(watch, number=before.next)
        _write(folder, Watches(before.next + 1, (*before.watches, added)))
    return added


def remove(folder: Path, number: int) -> Watch:
    """Removes a watch, and returns it. UsageError if there is none of this number."""
    with _alone(folder):
        before = read(folder)
        found = [watch for watch in before.watches if watch.number == number]
        if not found:
            raise UsageError(f"there is no watch {number}", "`gossamer watch DIR` lists them.")
        _write(folder, Watches(before.next, tuple(w for w in before.watches if w.number != number)))
    disk.remove(_standing_file(folder, number))
    return found[0]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits until no other command changes the file."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


class Noticed:
    """The watches as they are now: the file is read again when it was replaced."""

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda line: None) -> None:
        """`say` is told what is wrong with the file; the watches before then stay."""
        self._folder, self._say = folder, say
        self._stamp: tuple[int, int, int] | None = None
        self._watches = Watches()

    def now(self) -> Watches:
        try:
            found = os.stat(self._folder / FILE)
            stamp = found.st_ino, found.st_size, found.st_mtime_ns
        except OSError:
            stamp = None
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._watches = read(self._folder)
            except StorageError as error:
                self._say(f"{error.message}: the watches stay as they were. {error.cure}")
        return self._watches


# --- how far it was told ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a watch has been told: the visit (`tick` and `number`) up to which all events were, and what fails."""

    tick: int = 0
    number: int = 0
    told: int = 0
    """Events told so far."""
    last: float = 0.0
    """Time of the last message."""
    failures: int = 0
    """Failed messages in a row."""
    since: float = 0.0
    """Time of the first of them."""
    next: float = 0.0
    """Time before which no message is tried."""
    error: str = ""


def _standing_file(folder: Path, number: int) -> Path:
    return shard_folder(folder) / TOLD / f"{number}.json"


def read_standing(folder: Path, watch: Watch) -> Standing:
    """How far a watch was told; nothing since it was added, if the file is missing or damaged: better twice than
    never."""
    path, line = _standing_file(folder, watch.number), None
    if path.exists():
        with disk.naming("read", path):
            line = manifest.decode(path.read_bytes())
    return Standing(**line) if line else Standing(watch.tick, _LAST)


def write_standing(folder: Path, number: int, standing: Standing) -> None:
    """Durable when it returns."""
    path = _standing_file(folder, number)
    disk.make_directory(path.parent)
    disk.write_atomic(path, manifest.encode(asdict(standing)), mode=_OWNER)


def failing(folder: Path, now: float) -> tuple[tuple[Watch, Standing], ...]:
    """The watches whose messages have failed for a day; none if their files cannot be read."""
    try:
        found = [(watch, read_standing(folder, watch)) for watch in read(folder).watches]
    except StorageError:
        return ()
    return tuple((watch, s) for watch, s in found if s.failures and now - s.since >= DAY)

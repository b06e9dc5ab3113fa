"""The key of the operator: a secret, and the names of the sites that are claimed with it.

    line 1    gossamer-mine-key 1 SECRET, 64 hexadecimal digits
    others    the name of a site each

The file belongs to the operator, not to a collection: collections are copied and given away, the secret is not. Nobody
else may read it. A site that is not in the file is never requested as one's own, whatever it shows, and is never asked
for a proof.

Invariants, each a property test of the same name:

- a proof holds for its own site and key alone
- a key that was written is read as it was
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.base import disk
from gossamer.base.errors import UsageError
from gossamer.urls import canonical, host, without_www
from gossamer.web.owner.proof import message

_HEAD: Final = "gossamer-mine-key 1"
_BYTES: Final = 32
_OTHERS: Final = 0o077
"""Permissions of other users."""


class Key(NamedTuple):
    """The secret and the claimed sites."""

    secret: bytes
    sites: frozenset[str] = frozenset()
    """Names without `www.`"""

    def proof(self, site: str) -> str:
        """The proof that the site must show."""
        return hmac.digest(self.secret, message(site), "sha256").hex()

    def claims(self, site: str) -> bool:
        """Whether the operator says that this site is theirs."""
        return without_www(site) in self.sites

    def proves(self, site: str, shown: Iterable[str]) -> bool:
        """Whether one of these proofs shows that the site is the operator's."""
        return self.claims(site) and any(hmac.compare_digest(self.proof(site), each) for each in shown)


def place(setting: str = "") -> Path:
    """Where the key is: what `harvester.mine_key` says, or the operator's own place."""
    if setting:
        return Path(setting)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "gossamer" / "mine.key"


def read(path: Path) -> Key:
    """Reads the key. UsageError if there is none, if it is damaged, or if others may read it."""
    try:
        mode, text = path.stat().st_mode, path.read_text("ascii")
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no key", "Make one with `gossamer mine SITE`.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the key cannot be read: {error}", "Name a readable key.") from error
    if mode & _OTHERS:
        raise UsageError(f"{path}: other users may read or change this key", f"chmod 600 {path}")
    first, *sites = text.splitlines() or [""]
    head, _, digits = first.rpartition(" ")
    try:
        secret = bytes.fromhex(digits)
    except ValueError:
        secret = b""
    if head != _HEAD or len(secret) != _BYTES:
        cure = "Restore it from a backup. A new key, by `gossamer mine --key FILE SITE`, needs new proofs at all sites."
        raise UsageError(f"{path}, line 1: this is not a key of `gossamer mine`", cure)
    return Key(secret, frozenset(filter(None, map(str.strip, sites))))


def write(path: Path, key: Key) -> None:
    """Writes the key so that only its owner can read it."""
    disk.make_directory(path.parent)
    text = "\n".join((f"{_HEAD} {key.secret.hex()}", *sorted(key.sites)))
    disk.write_atomic(path, f"{text}\n".encode(), mode=0o600)


def claim(path: Path, sites: Iterable[str] = (), forget: Iterable[str] = ()) -> Key:
    """Adds sites to the key, which is made if there is none, and removes others. Returns the key."""
    before = read(path) if path.exists() else Key(secrets.token_bytes(_BYTES))
    gone = set(forget)
    if unknown := sorted(gone - before.sites):
        raise UsageError(f"{unknown[0]} is not claimed in {path}", "`gossamer mine` lists the sites that are.")
    after = Key(before.secret, frozenset((before.sites | set(sites)) - gone))
    if after != before or not path.exists():
        write(path, after)
    return after


def site_of(text: str) -> str:
    """The name of the site that a URL or a host name stands for. UsageError if it is none."""
    url = canonical(text if "://" in text else f"http://{text}/")
    if url is None or not (name := without_www(host(url))):
        raise UsageError(f"{text}: not a site", "Name a host like www.example.org, or a URL of it.")
    return name

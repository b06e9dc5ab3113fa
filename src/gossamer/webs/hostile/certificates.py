"""Certificates for the https sites of the hostile Web: each has its own defect."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gossamer.webs.demo.certificates import DAYS, Certificate, make_certificate
from gossamer.webs.hostile.behaviour import Door
from gossamer.webs.hostile.web import HostileWeb


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of all certificates."""

    trusted: Path
    """File with the certificates of all authorities."""
    of: dict[Door, Certificate]


@contextmanager
def certified(web: HostileWeb) -> Iterator[tuple[HostileWeb, Certificates | None]]:
    """The Web with certificates, or the Web without the sites that need them; the files are removed afterwards."""
    doors = {b.door: host for host, b in web.by_host.items() if b.door.handshake}
    with tempfile.TemporaryDirectory(prefix="gossamer-web-") as folder:
        found = _make(doors, Path(folder)) if doors else None
        yield (web if found or not doors else replace(web, tls=False)), found


def _make(doors: dict[Door, str], folder: Path) -> Certificates | None:
    """Each certificate is signed by its own authority."""
    found: dict[Door, Certificate] = {}
    for door, host in doors.items():
        own = folder / door.name.lower()
        own.mkdir()
        name = f"other.{host}" if door is Door.WRONG_NAME else host
        made = make_certificate([name], own, -1 if door is Door.EXPIRED else DAYS, door is Door.SELF_SIGNED)
        if made is None:
            return None
        found[door] = made
    trusted = folder / "trusted.pem"
    trusted.write_bytes(b"".join(made.trusted.read_bytes() for made in found.values()))
    return Certificates(trusted, found)

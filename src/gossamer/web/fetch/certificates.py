"""The certificates that are trusted: the system's, and those of `harvester.trusted`.

libcurl takes one file, so the two are joined, in memory: a file without a name, which goes with the process. (A blob is
refused: libcurl reads it anew for every connection, a file once a day.)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from gossamer.base.errors import UsageError

_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


class Trusted:
    """`path` is what libcurl is to read, "" for nothing, while this lives."""

    def __init__(self, own: str = "") -> None:
        """`own`: a file of certificates besides the system's."""
        self._file: int | None = None
        system = system_bundle()
        self.path = system
        if own:
            certificates = read_certificates(Path(own)) + b"\n" + (Path(system).read_bytes() if system else b"")
            self._file = os.memfd_create("trusted")
            with open(self._file, "wb", closefd=False) as joined:
                joined.write(certificates)
            self.path = f"/proc/self/fd/{self._file}"

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)


def system_bundle() -> str:
    """libcurl's wheel does not know where this system keeps its certificates. "": nowhere."""
    named = os.environ.get("SSL_CERT_FILE")
    return next((path for path in (named, *_BUNDLES) if path and os.path.exists(path)), "")


def read_certificates(path: Path) -> bytes:
    cure = "harvester.trusted names a file of certificates in PEM form (BEGIN CERTIFICATE)."
    try:
        found = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", cure) from error
    if b"-----BEGIN CERTIFICATE-----" not in found:
        raise UsageError(f"{path} holds no certificate", cure)
    return found

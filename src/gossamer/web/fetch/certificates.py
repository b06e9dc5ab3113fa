"""The certificates that are trusted: the system's, and those of `harvester.trusted`.

libcurl takes one file, so the two are joined in an anonymous file in memory, which ends with the process. Refused: a
blob, which libcurl parses for every connection; it reads a file once per day.
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
    """`path` is the file that libcurl reads, "" for none. It exists as long as this object."""

    def __init__(self, own: str = "") -> None:
        """`own`: a file of certificates in addition to the system's."""
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
    """The system's file of certificates, which libcurl's wheel does not know; "": there is none."""
    named = os.environ.get("SSL_CERT_FILE")
    return next((path for path in (named, *_BUNDLES) if path and os.path.exists(path)), "")


def read_certificates(path: Path) -> bytes:
    cure = "harvester.trusted names a file of certificates in PEM form (BEGIN CERTIFICATE)."
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", cure) from error
    if b"-----BEGIN CERTIFICATE-----" not in data:
        raise UsageError(f"{path} holds no certificate", cure)
    return data

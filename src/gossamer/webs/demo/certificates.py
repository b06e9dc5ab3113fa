"""Certificates for the https sites: an authority that is made at every start, and one certificate with all names.

They are made by the openssl program, or by the cryptography package if there is no such program. Neither is needed for
anything else, so without both the https sites are switched off. The key of the authority is deleted at once: a client
that trusts the authority trusts this one certificate, and nothing that could be made later.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from gossamer.webs.demo.web import DemoWeb

DAYS: Final = 30
AUTHORITY: Final = "Gossamer demonstration Web"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The files of a certificate."""

    trusted: Path
    """The certificate of the authority, for clients."""
    own: Path
    key: Path


@contextmanager
def certified(web: DemoWeb) -> Iterator[tuple[DemoWeb, Certificate | None]]:
    """The Web with a certificate for its https sites, or the Web without these sites; the files are removed
    afterwards."""
    names = [name for site in web.all_sites if site.http.secure for name in site.all_names]
    with tempfile.TemporaryDirectory(prefix="gossamer-web-") as folder:
        certificate = make_certificate(names, Path(folder)) if names else None
        yield (web if certificate or not names else replace(web, tls=0)), certificate


def make_certificate(names: list[str], folder: Path, days: int = DAYS, self_signed: bool = False) -> Certificate | None:
    """Writes the files to `folder`; None if this machine cannot make certificates. `days`: validity from now; -1:
    expired."""
    made = Certificate(folder / "trusted.pem", folder / "server.pem", folder / "server.key")
    program = shutil.which("openssl")
    if program and _by_openssl(program, names, made, days, self_signed):
        return made
    return made if _by_cryptography(names, made, days, self_signed) else None


def _by_openssl(program: str, names: list[str], made: Certificate, own_days: int, self_signed: bool) -> bool:
    authority_key, request = made.key.with_name("authority.key"), made.key.with_name("server.csr")
    extensions = made.key.with_name("server.ext")
    alternatives = ",".join(f"{'IP' if _is_address(name) else 'DNS'}:{name}" for name in names)
    extensions.write_text(f"subjectAltName = {alternatives}\n")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    days = ("-days", str(DAYS))
    by_authority = ("-CA", made.trusted, "-CAkey", authority_key, "-CAcreateserial")
    signer = ("-signkey", made.key) if self_signed else (*by_authority, "-CAserial", made.key.with_name("serial"))
    signed = ("-out", made.own, "-days", str(own_days), "-extfile", extensions)
    commands = (
        ("req", "-x509", *key, "-keyout", authority_key, "-out", made.trusted, *days, "-subj", f"/CN={AUTHORITY}"),
        ("req", "-new", *key, "-keyout", made.key, "-out", request, "-subj", f"/CN={names[0]}"[:68]),
        ("x509", "-req", "-in", request, *signer, *signed),
    )
    try:
        for command in commands:
            subprocess.run([program, *command], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        authority_key.unlink(missing_ok=True)
    return True


def _by_cryptography(names: list[str], made: Certificate, own_days: int, self_signed: bool) -> bool:
    try:
        x509: Any = importlib.import_module("cryptography.x509")
        ec: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ec")
        hashes: Any = importlib.import_module("cryptography.hazmat.primitives.hashes")
        forms: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    except ImportError:
        return False

    def signed(subject: str, issuer: str, key: Any, by: Any, days: int, *extensions: Any) -> bytes:
        def name(text: str) -> Any:
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text[:64])])

        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(name(issuer), name(subject), key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(days=2)).not_valid_after(now + timedelta(days=days))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        found: bytes = builder.sign(by, hashes.SHA256()).public_bytes(forms.Encoding.PEM)
        return found

    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    made.trusted.write_bytes(
        signed(AUTHORITY, AUTHORITY, authority, authority, DAYS, x509.BasicConstraints(ca=True, path_length=0))
    )
    alternatives = x509.SubjectAlternativeName(
        [x509.IPAddress(ip_address(name)) if _is_address(name) else x509.DNSName(name) for name in names]
    )
    issuer, by = (names[0], own) if self_signed else (AUTHORITY, authority)
    made.own.write_bytes(signed(names[0], issuer, own, by, own_days, alternatives))
    made.key.write_bytes(own.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()))
    return True


def _is_address(name: str) -> bool:
    """Host names here end in a letter."""
    return name[-1].isdecimal()

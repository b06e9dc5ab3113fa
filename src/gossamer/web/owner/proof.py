"""The proof that a site belongs to the operator: a line in its robots.txt, or in a file of its own.

    # gossamer-mine: 64 hexadecimal digits

The digits are HMAC-SHA256 of the name of the site, with the key that only the operator has. So who reads the line can
prove nothing with it: at another site it is wrong. For other crawlers it is a comment.

A proof counts where the whole host answers for it: at the ports 80 and 443, as ACME (RFC 8555, 8.3) has it; not behind
a redirect, which may lead to what others have written.
"""

from __future__ import annotations

import re
from typing import Final

from gossamer.urls import without_www

WELL_KNOWN: Final = "/.well-known/gossamer.txt"
"""The file of its own (RFC 8615)."""
PORTS: Final = (80, 443)
LIMIT: Final = 500 * 1024
"""Bytes of a file in which a proof is looked for: as many as are read of a robots.txt."""
MOST: Final = 4
"""Proofs of a file that are looked at: one for each operator who may crawl the site like this."""
NAME: Final = "gossamer-mine"

_LINE: Final = re.compile(rb"^[ \t]*#?[ \t]*gossamer-mine[ \t]*:[ \t]*([0-9a-f]{64})[ \t]*\r?$", re.I | re.M)


def line(proof: str) -> str:
    """The line that shows a proof."""
    return f"# {NAME}: {proof}"


def shown(body: bytes) -> list[str]:
    """The proofs that a file shows."""
    return [found.decode().lower() for found in _LINE.findall(body[:LIMIT])[:MOST]]


def message(site: str) -> bytes:
    """What is signed for a site: with `www.` and without it, a name is one site."""
    return b"gossamer mine 1\n" + without_www(site).encode()

"""What pages mention, read from the archive: the same as what a crawl records now."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.base.disk import Appender
from gossamer.base.errors import GossamerError
from gossamer.config import Settings, override
from gossamer.gatherer.gather import gather
from gossamer.read.audit import older
from gossamer.urls import Scope
from gossamer.web.archive.archive import Archive
from tests.support.archiving import encoded, exchange

URL = "http://site.test/x"
HTML = (
    "<html><h1>Überschrift</h1><link rel=canonical href=/y><link rel=alternate hreflang=de href=/de>"
    "<a href='https://www.other.example/z'>Other</a></html>"
).encode()
SETTINGS = override(Settings(), ('seeder.domains=["site.test"]', "gatherer.mentions=false"))


@pytest.mark.parametrize("encoding", ["", "gzip", "br"])
def test_the_archive_mentions_what_the_page_did(tmp_path: Path, encoding: str) -> None:
    path, fields = tmp_path / "000000.warc.gz", [(b"Content-Type", b"text/html; charset=utf-8")]
    if encoding:
        fields.append((b"Content-Encoding", encoding.encode()))
    file = Appender(path)
    place = Archive(0, file, 300_000).write(exchange(encoded(encoding, HTML), *fields))
    file.close()
    scope, given = Scope.of(SETTINGS.seeder), Settings().gatherer
    found = older._mentions(path, place.offset, place.end, URL, SETTINGS, given, scope)
    now = gather(URL, "text/html; charset=utf-8", (), HTML, given, scope, "Gossamer")
    assert found == now.mentions
    assert [each.kind for each in found] == ["h1", "canonical", "hreflang", "external"]
    raw = bytearray(path.read_bytes())
    raw[place.offset + 40] ^= 0xFF
    path.write_bytes(raw)
    with pytest.raises(GossamerError):
        older._mentions(path, place.offset, place.end, URL, SETTINGS, given, scope)

"""Access logs: blocks of lines, their format, and the kernels that take lines and addresses apart."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import numpy as np

from fuzz.target import Target
from gossamer.base.errors import UsageError
from gossamer.laboratory.sessions.formats import Fields, reader_of
from gossamer.laboratory.sessions.lines import Log
from gossamer.laboratory.sessions.texts import NO_TIME, Phrases, numbers, parts, statuses, times

_COMBINED: Final = (
    b'site.example:80 1.2.3.4 - - [17/May/2015:10:05:03 +0200] "GET /a/b.html?q=%7E#f HTTP/1.1" 200 5 '
    b'"http://www.site.example/" "Mozilla/5.0 \\"x\\""\n::1 - me [17/May/2015:10:05:04 +0000] "HEAD / HTTP/1.0" 304 -\n'
)
_W3C: Final = (
    b"#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(Referer) cs(User-Agent)\n"
    b"2015-05-17 10:05:03 1.2.3.4 GET /index.html a=1 200 - Mozilla\n#Fields: time date c-ip\n"
)
_JSON: Final = (
    b'{"remote_addr":"1.2.3.4","time":"2015-05-17T10:05:03.1+02:00","request":"GET / HTTP/1.1","status":200}\n'
)
_PHRASES: Final = Phrases.of(("../", "select", "/etc/passwd"))


class LogsTarget(Target):
    """access logs of other sites."""

    name = "logs"
    parts = ("laboratory/sessions",)
    words = (
        b' - - [17/May/2015:10:05:03 +0000] "',
        b'GET / HTTP/1.1" 200 5',
        b' "-" "',
        b"\\",
        b'"',
        b"]",
        b"#Fields: ",
        b"#Fields: date time c-ip cs-method cs-uri sc-status date",
        b"\t",
        b"\r\n",
        b'{"remote_addr":',
        b'"time":1431857103.123',
        b'"status":"200"',
        b'{"a":[[[[',
        b"%2e%2E/",
        b"http://www.",
        b"99/Xyz/9999:99:99:99 -9999",
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
        b"\xff",
    )
    longest = 1 << 14

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-logs-")
        self._path = Path(self._folder.name) / "access.log"
        for seed in self.seeds():
            self.check(seed)  # compiles the kernels, which no input shall wait for

    def close(self) -> None:
        self._folder.cleanup()

    def seeds(self) -> list[bytes]:
        return [_COMBINED, _W3C, _JSON, _COMBINED * 3, _W3C + _W3C, _JSON + b"x\n" + _JSON, b""]

    def check(self, data: bytes) -> None:
        self._path.write_bytes(data)
        reader = None
        try:
            for block in Log(self._path).blocks(512):
                reader = reader or reader_of(block)[1]
                assert (block.begin <= block.end).all()
                for fields in reader(block):
                    self._check(fields)
        except UsageError:
            return

    @staticmethod
    def _check(fields: Fields) -> None:
        for texts in fields.texts.values():
            assert len(texts.begin) == len(texts.end) == len(fields.line)
            assert ((texts.begin >= 0) & (texts.end <= len(texts.buffer))).all()
            numbers(texts)
            _PHRASES.are_in(texts)
        found = times(fields.texts["time"])
        assert ((found == NO_TIME) | (found >= 0)).all()
        assert np.isin(statuses(fields.texts["status"]), [0, *range(100, 1_000)]).all()
        parts(fields.texts["target"], fields.texts["query"])

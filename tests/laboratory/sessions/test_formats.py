"""Formats of logs: each says the same of the same requests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from gossamer.base.errors import UsageError
from gossamer.laboratory.sessions.formats import SLOTS, reader_of
from gossamer.laboratory.sessions.lines import Log

COMBINED = (
    '192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /a?b=1 HTTP/1.1" 200 5 "http://e.example/" "Mozilla (\\"x\\")"',
    '192.0.2.2 - a b [17/May/2015:10:05:04 +0000] "HEAD / HTTP/1.0" 304 - "-" "-"',
)
FIELDS = "#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(Referer) cs(User-Agent)"


def read(path: Path, size: int = 1 << 20) -> tuple[str, list[dict[str, str]], list[int]]:
    """The format, what was said, and the numbers of bad lines."""
    log, form, rows, bad, read_by = Log(path), "", [], [], None
    for block in log.blocks(size):
        if read_by is None:
            form, read_by = reader_of(block)
        for fields in read_by(block):
            rows += [{slot: fields.texts[slot].of(i) for slot in SLOTS} for i in range(len(fields.line))]
            bad += fields.bad.tolist()
    return form, rows, bad


def written(folder: Path, *lines: str, name: str = "access.log") -> Path:
    path = folder / name
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def test_combined_lines_are_taken_apart(tmp_path: Path) -> None:
    form, rows, bad = read(written(tmp_path, *COMBINED))
    assert (form, bad) == ("combined", [])
    assert [(r["address"], r["method"], r["target"], r["status"]) for r in rows] == [
        ("192.0.2.1", "GET", "/a?b=1", "200"),
        ("192.0.2.2", "HEAD", "/", "304"),
    ]
    assert rows[0]["time"] == "17/May/2015:10:05:03 +0000"
    assert rows[0]["referer"] == "http://e.example/"
    assert rows[0]["agent"] == 'Mozilla (\\"x\\")'
    assert (rows[1]["referer"], rows[1]["agent"]) == ("", "")


def test_common_lines_and_names_of_hosts(tmp_path: Path) -> None:
    common = [line.partition(' "http')[0].partition(' "-"')[0] for line in COMBINED]
    form, rows, _ = read(written(tmp_path, *common))
    assert form == "common"
    assert [r["target"] for r in rows] == ["/a?b=1", "/"]
    form, rows, _ = read(written(tmp_path, *(f"www.e.example:80 {line}" for line in (COMBINED[0],) * 3)))
    assert form == "combined with hosts"
    assert rows[0]["host"] == "www.e.example:80"
    assert rows[0]["address"] == "192.0.2.1"


def test_bad_lines_are_counted_by_number(tmp_path: Path) -> None:
    path = written(
        tmp_path, COMBINED[0], "nonsense", "", COMBINED[1], '1.2.3.4 - - [x] "GET / HTTP/1.1" 2', COMBINED[0]
    )
    assert read(path)[2] == [2, 5]
    assert len(read(path)[1]) == 3


def test_requests_that_are_none_have_no_target(tmp_path: Path) -> None:
    line = '1.2.3.4 - - [17/May/2015:10:05:03 +0000] "\\x16\\x03\\x01" 400 0 "-" "-"'
    assert read(written(tmp_path, line))[1][0]["target"] == ""


def test_w3c_lines_have_the_fields_that_they_name(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "#Version: 1.0",
        FIELDS,
        "2015-05-17 10:05:03 192.0.2.1 GET /a b=1 200 http://e.example/ Mozilla/5.0+(x)",
        "2015-05-17 10:05:03 192.0.2.1 GET",
        "#Fields: c-ip date time cs-method cs-uri sc-status",
        "192.0.2.2\t2015-05-17\t10:05:04\tGET\t/b?c\t304",
    )
    form, rows, bad = read(path)
    assert (form, bad) == ("W3C", [4])
    assert [(r["address"], r["time"], r["target"], r["query"], r["status"]) for r in rows] == [
        ("192.0.2.1", "2015-05-17 10:05:03", "/a", "b=1", "200"),
        ("192.0.2.2", "2015-05-17\t10:05:04", "/b?c", "", "304"),
    ]


def test_a_w3c_log_that_lacks_a_field_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 1: the log lacks c-ip"):
        read(written(tmp_path, "#Fields: date time cs-method cs-uri-stem sc-status"))
    with pytest.raises(UsageError, match="time does not follow date"):
        read(written(tmp_path, "#Fields: time date c-ip cs-method cs-uri-stem sc-status"))


def test_json_lines_of_several_servers(tmp_path: Path) -> None:
    nginx = {"remote_addr": "192.0.2.1", "time_iso8601": "2015-05-17T10:05:03+00:00", "request": "GET /a?b=1 HTTP/1.1",
             "status": 200, "http_referer": "-", "http_user_agent": "Mözilla"}  # fmt: skip
    caddy = {"ts": 1431857103.5, "status": 200, "request": {"remote_ip": "192.0.2.1", "method": "GET", "uri": "/a?b=1",
             "headers": {"User-Agent": ["Mözilla"], "Referer": []}}}  # fmt: skip
    for made in (nginx, caddy):
        form, rows, bad = read(written(tmp_path, json.dumps(made), "{broken", "", json.dumps(made, ensure_ascii=False)))
        assert (form, bad) == ("JSON", [2])
        assert [(r["address"], r["method"], r["target"], r["status"], r["referer"], r["agent"]) for r in rows] == [
            ("192.0.2.1", "GET", "/a?b=1", "200", "", "Mözilla")
        ] * 2


def test_json_without_what_is_needed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no address and no method and no target") as raised:
        read(written(tmp_path, '{"time": 1, "status": 200}'))
    assert "remote_addr" in raised.value.cure


def test_a_line_of_json_that_nests_deeper_than_the_stack_ends_nothing(tmp_path: Path) -> None:
    good = '{"ip": "1", "time": 1, "status": 200, "method": "GET", "path": "/"}'
    form, rows, _ = read(written(tmp_path, '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", good))
    assert (form, rows[-1]["target"]) == ("JSON", "/")


def test_json_that_is_not_utf_8_is_read(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(b'{"ip": "1", "time": 1, "status": 200, "method": "GET", "path": "/\xff"}\n' * 2)
    assert [row["target"] for row in read(path)[1]] == ["/�"] * 2


@pytest.mark.parametrize("size", [64, 200, 1 << 20])
def test_blocks_of_any_size_give_the_same_lines(size: int, tmp_path: Path) -> None:
    lines = [f"{line}{'x' * n}" for n in range(40) for line in COMBINED]
    plain, packed = written(tmp_path, *lines), written(tmp_path, *lines, name="a.log.gz")
    assert read(plain, size) == read(packed, size) == read(plain)


def test_lines_may_end_like_on_windows_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("\r\n".join(COMBINED).encode())
    assert read(path)[1] == read(written(tmp_path, *COMBINED))[1]


def test_a_file_that_is_damaged_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress("".join(f"{COMBINED[0]}{n}\n" for n in range(5_000)).encode()))
    whole[len(whole) // 2 : len(whole) // 2 + 9] = b"\xff" * 9
    path = tmp_path / "damaged.log.gz"
    path.write_bytes(whole)
    log = Log(path)
    assert sum(len(block.begin) for block in log.blocks(1_000)) < 5_000
    assert log.cut


def test_a_file_that_is_cut_short_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"{COMBINED[0]}{n}\n" for n in range(5_000)).encode())
    path = tmp_path / "a.log.gz"
    path.write_bytes(whole[: len(whole) // 2])
    log = Log(path)
    assert sum(len(block.begin) for block in log.blocks(1 << 12)) > 100
    assert log.cut


@pytest.mark.parametrize("content", [b"BZh91AY", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd12"])
def test_other_compressions_name_the_cure(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        read(path)
    assert "gossamer sessions -" in raised.value.cure


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 1: not a line of an access log"):
        read(written(tmp_path, "Dear diary,", "today", "nothing"))
    with pytest.raises(UsageError, match="No such file"):
        read(tmp_path / "none.log")
    assert read(written(tmp_path))[1] == []

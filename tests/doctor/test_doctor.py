"""The checks of `gossamer doctor`: each passes where all is well, and finds what is wrong where it is not."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import time
import tomllib
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gossamer.base import descriptors, memory
from gossamer.base.errors import UsageError
from gossamer.base.units import Duration
from gossamer.cli import app
from gossamer.collection.layout import MANIFEST, make_folders, shard_folder
from gossamer.collection.lock import LOCK, process_start, take
from gossamer.collection.runs import write_status
from gossamer.config.settings import Settings
from gossamer.doctor import line, machine, package
from gossamer.doctor.check import Check, Found, Level, Patient, examine, ok
from gossamer.doctor.table import CHECKS, OF_A_COLLECTION
from tests.support.nameserver import NameServer
from tests.support.paths import ROOT
from tests.support.server import Server, free_port
from tests.support.statistics import JSON

ROWS = {check.name: check for check in (*CHECKS, *OF_A_COLLECTION)}
Usage = namedtuple("Usage", "total used free")


def settings(**harvester: Any) -> Settings:
    usual = Settings()
    return replace(usual, harvester=replace(usual.harvester, name_timeout=Duration(1), **harvester))


def found(name: str, patient: Patient | None = None) -> Found:
    return ROWS[name].function(patient or Patient(settings()))


def level(name: str, patient: Patient | None = None) -> Level:
    return found(name, patient).level


def test_every_check_has_its_own_name_and_a_cure() -> None:
    assert len(ROWS) == len(CHECKS) + len(OF_A_COLLECTION)
    assert all(check.cure for check in ROWS.values())


def test_a_check_that_cannot_be_made_is_a_note_and_an_error_with_a_cure_is_wrong() -> None:
    def raises(error: Exception) -> Callable[[Patient], Found]:
        def check(_: Patient) -> Found:
            raise error

        return check

    rows = [
        Check("fine", lambda _: ok("well"), "nothing"),
        Check("gone", raises(OSError("no such file")), "look"),
        Check("bad", raises(UsageError("what it is")), "mend"),
    ]
    results = list(examine(rows, Patient()))
    assert [(each.level, each.said, each.cure) for each in results] == [
        (Level.OK, "well", ""),
        (Level.NOTE, "cannot be found out: no such file", "look"),
        (Level.WRONG, "what it is", "mend"),
    ]
    assert results[2].to_json() == {"check": "bad", "level": "wrong", "said": "what it is", "cure": "mend"}


# --- the machine --------------------------------------------------------------------------------------------------


def test_on_a_machine_that_runs_these_tests_nothing_of_the_machine_is_wrong(tmp_path: Path) -> None:
    own = [check for check in CHECKS if check.function.__module__ == machine.__name__]
    assert len(own) == 10
    wrong = [each for each in examine(own, Patient(settings(), tmp_path)) if each.level is Level.WRONG]
    assert wrong == []


def test_another_system_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert level("system") is Level.WRONG


@pytest.mark.parametrize(
    ("cores", "quota", "expected"),
    [
        ({0, 1}, "max 100000", Level.OK),
        ({0}, "max 100000", Level.NOTE),
        ({0, 1}, "50000 100000", Level.NOTE),
        ({0, 1, 2}, "150000 100000", Level.OK),
    ],
)
def test_processors_are_those_of_the_control_group(
    cores: set[int], quota: str, expected: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    limit = machine._quota(tmp_path / "cpu.max")
    assert machine._quota(tmp_path / "missing") is None
    monkeypatch.setattr(machine, "_quota", lambda: limit)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores)
    assert level("processors") is expected


@pytest.mark.parametrize(("left", "expected"), [(10**8, Level.WRONG), (6 * 10**8, Level.NOTE), (10**11, Level.OK)])
def test_memory_is_what_is_left_for_the_pages_of_the_settings(
    left: int, expected: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory.System, "left", lambda _: left)
    assert level("memory") is expected
    assert "free of" in found("memory").said


@pytest.mark.parametrize(("most", "expected"), [(128, Level.WRONG), (512, Level.NOTE), (1024, Level.OK)])
def test_files_are_compared_with_the_connections(most: int, expected: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "at_most", lambda: most)
    assert level("files") is expected


@pytest.mark.parametrize(
    ("most", "expected"), [(20, Level.WRONG), (4096, Level.OK), (resource.RLIM_INFINITY, Level.OK)]
)
def test_processes_have_a_limit(most: int, expected: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    assert level("processes") is expected


def test_a_full_disk_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12, 10**8))
    assert found("space", Patient(folder=tmp_path)) == (Level.WRONG, f"100 MB free at {tmp_path}")


MOUNTS = """\
21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 0:5 / /run rw - tmpfs tmpfs rw
23 21 0:6 / /net/with\\040space rw - nfs4 server:/x rw
24 23 8:2 / /net/with\\040space/deep rw - xfs /dev/sdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/x", "ext4"),
        ("/run", "tmpfs"),
        ("/runner", "ext4"),
        ("/net/with space/x", "nfs4"),
        ("/net/with space/deep/y", "xfs"),
    ],
)
def test_the_kind_of_a_file_system_is_that_of_its_mount(path: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert machine.kind_of(Path(path), tmp_path / "mounts") == kind


@pytest.mark.parametrize(("kind", "expected"), [("ext4", Level.OK), ("tmpfs", Level.NOTE), ("nfs4", Level.NOTE)])
def test_memory_and_servers_are_no_disks(kind: str, expected: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "kind_of", lambda path: kind)
    assert level("file system") is expected


@pytest.mark.parametrize(("seconds", "expected"), [(0.001, Level.OK), (0.2, Level.NOTE), (1.5, Level.WRONG)])
def test_a_slow_disk_is_found_by_its_syncs(
    seconds: float, expected: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(os, "fsync", lambda _: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert level("disk", Patient(folder=tmp_path)) is expected
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (result,) = examine([ROWS["disk"]], Patient(folder=tmp_path / "missing"))
    assert (result.level, "No such file" in result.said) == (Level.NOTE, True)


@pytest.mark.parametrize(("now", "expected"), [(1e9, Level.WRONG), (1.8e9, Level.OK), (5e9, Level.WRONG)])
def test_a_clock_must_be_plausible(now: float, expected: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: now)
    assert level("clock") is expected


@pytest.mark.parametrize(("kept", "expected"), [(True, Level.OK), (False, Level.NOTE)])
def test_a_clock_that_nobody_keeps_right_is_noted(kept: bool, expected: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.synchronised()  # the kernel answers
    monkeypatch.setattr(machine, "synchronised", lambda: kept)
    assert level("time service") is expected


# --- the line -----------------------------------------------------------------------------------------------------


@pytest.fixture
def servers() -> Iterator[Callable[..., NameServer]]:
    made: list[NameServer] = []

    def make(fault: str = "") -> NameServer:
        made.append(NameServer(fault=fault))
        return made[-1]

    yield make
    for each in made:
        each.close()


def asking(*servers: NameServer, url: str = "") -> Patient:
    return Patient(settings(resolvers=tuple(server.address for server in servers)), url=url)


def test_a_name_server_that_says_there_is_no_such_name_answers(servers: Callable[..., NameServer]) -> None:
    server = servers()
    assert found("name servers", asking(server)) == (Level.OK, f"{server.address} answers")
    assert level("names", asking(server)) is Level.OK
    assert all(name.endswith(".invalid") for name in server.asked), "nothing else is asked"


@pytest.mark.parametrize("fault", ["silent", "failing", "refusing"])
def test_name_servers_that_fail_are_named(fault: str, servers: Callable[..., NameServer]) -> None:
    good, bad = servers(), servers(fault)
    assert level("name servers", asking(bad)) is Level.WRONG
    found_ = found("name servers", asking(good, bad))
    assert found_.level is Level.NOTE
    assert f"{bad.address} (" in found_.said


def test_without_name_servers_there_is_nothing_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "system_servers", list)
    assert found("name servers") == (Level.WRONG, "there is none")


def test_a_name_server_that_lies_is_found(servers: Callable[..., NameServer]) -> None:
    good, liar = servers(), servers("many")
    found_ = found("names", asking(good, liar))
    assert found_.level is Level.WRONG
    assert liar.address in found_.said
    assert good.address not in found_.said


def test_with_a_url_a_name_beside_it_is_asked_for_too(servers: Callable[..., NameServer]) -> None:
    server = servers()
    assert level("names", asking(server, url="http://site.test/")) is Level.OK
    assert sorted(name.rpartition(".")[2] for name in server.asked) == ["invalid", "test"]


@pytest.mark.parametrize(("text", "expected"), [("-----BEGIN CERTIFICATE-----\n", Level.OK), ("", Level.WRONG)])
def test_certificates_are_counted(text: str, expected: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bundle").write_text(text)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "bundle"))
    assert level("certificates") is expected
    monkeypatch.setattr(line, "system_bundle", str)
    assert level("certificates") is Level.WRONG


def test_a_contact_is_shown_as_servers_will_see_it() -> None:
    assert level("contact") is Level.NOTE
    assert "Gossamer/" in found("contact", Patient(settings(contact="a@b.example"))).said


def test_a_line_is_tried_only_with_a_url(servers: Callable[..., NameServer]) -> None:
    assert level("line") is Level.NOTE
    with Server() as server:
        here = settings(resolve={"site.test": f"127.0.0.1:{server.port}"}, contact="a@b.example")
        for path, status in (("ok", "200"), ("not-found", "404")):
            result = found("line", Patient(here, url=f"http://site.test/{path}"))
            assert (result.level, f"answers with {status}" in result.said) == (Level.OK, True)
        assert len(server.requests) == 2
        assert b"a@b.example" in server.requests[0]
    closed = settings(resolve={"site.test": f"127.0.0.1:{free_port()}"})
    assert level("line", Patient(closed, url="http://site.test/")) is Level.WRONG
    lost = asking(servers(), url="http://no-such-site.test/")
    assert found("line", lost).said.endswith("no such name")


# --- the package --------------------------------------------------------------------------------------------------


def test_kernels_that_are_not_compiled_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.base.compiled.KEPT", tmp_path / "kernels")
    assert level("kernels") is Level.NOTE
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "crawl").touch()
    assert level("kernels") is Level.OK


def test_a_cache_that_cannot_be_written_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.base.compiled.KEPT", tmp_path / "some" / "kernels")
    assert level("cache") is Level.OK
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert level("cache") is Level.WRONG


def test_missing_extras_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "find_spec", lambda _: None)
    said = found("extras").said
    assert said.startswith("not installed: lab (plots of report, ")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [extra for extra in declared if extra in package.EXTRAS] == [extra for extra in declared if extra != "dev"]
    for extra, (what, modules) in package.EXTRAS.items():
        assert f"{extra} ({what})" in said
        needed = {re.split("[<>=]", each)[0].replace("-", "_") for each in declared[extra]}
        assert set(modules) == needed


# --- a collection -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shard = shard_folder(tmp_path)
    shard.mkdir()
    make_folders(shard)
    (shard / MANIFEST).touch()
    return tmp_path


def test_a_collection_of_another_user_is_noted_and_one_that_cannot_be_written_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = Patient(folder=folder)
    assert level("owner", patient) is Level.OK
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    assert level("owner", patient) is Level.NOTE
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "warc")
    assert found("owner", patient).level is Level.WRONG
    assert "user 54321 may not write it" in found("owner", patient).said


def test_the_lock_of_a_running_crawl_is_noted(folder: Path) -> None:
    patient, lock = Patient(folder=folder), shard_folder(folder) / LOCK
    assert found("lock", patient) == (Level.OK, "free")
    lock.write_text(json.dumps({"pid": os.getpid(), "started": 1, "since": 1.6e9}))
    assert level("lock", patient) is Level.OK
    lock.write_text(json.dumps({"pid": 1, "started": process_start(1), "since": 1.6e9}))
    assert level("lock", patient) is Level.OK, "a process of another program"
    held = take(shard_folder(folder))
    assert level("lock", patient) is Level.NOTE
    held.release()


def test_room_is_what_the_pages_to_come_need_if_they_are_as_large_as_those_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = Patient(folder=folder)
    assert "not known yet" in found("room", patient).said
    write_status(shard_folder(folder), JSON)
    (shard_folder(folder) / "warc" / "000001.warc.gz").write_bytes(bytes(11_000_000))  # 1 KB for each stored page
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 0, 10**9))
    assert level("room", patient) is Level.OK
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 0, 5 * 10**8))
    assert found("room", patient).level is Level.NOTE
    assert "the 812,000 pages to come need 81" in found("room", patient).said


# --- the command --------------------------------------------------------------------------------------------------


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All checks pass, whatever runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    well = tuple(check._replace(function=lambda _: ok("well")) for check in CHECKS)
    monkeypatch.setattr("gossamer.doctor.table.CHECKS", well)


def ended(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as raised:
        app.main(["doctor", *arguments], standalone_mode=False)
    return int(str(raised.value.code)), capsys.readouterr().out


@pytest.mark.usefixtures("healthy")
def test_the_exit_code_is_1_only_if_something_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ended(capsys)[0] == 0
    noted = Check("small", lambda _: Found(Level.NOTE, "it may matter"), "look")
    monkeypatch.setattr("gossamer.doctor.table.CHECKS", (noted,))
    assert ended(capsys) == (0, " note  small: it may matter\n       look\n")
    hurt = Check("large", lambda _: Found(Level.WRONG, "it hurts"), "mend")
    monkeypatch.setattr("gossamer.doctor.table.CHECKS", (noted, hurt))
    code, text = ended(capsys, "--json")
    assert (code, json.loads(text)["wrong"]) == (1, 1)
    assert json.loads(text)["checks"][1] == {"check": "large", "level": "wrong", "said": "it hurts", "cure": "mend"}


@pytest.mark.usefixtures("healthy")
def test_with_a_folder_its_collection_and_its_settings_are_looked_at(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "crawl.toml").write_text('[harvester]\ncontact = "a@b.example"\n')
    monkeypatch.setattr("gossamer.doctor.table.CHECKS", (ROWS["contact"],))
    names = [each["check"] for each in json.loads(ended(capsys, str(folder), "--json")[1])["checks"]]
    assert names == ["contact", "owner", "lock", "room"]
    assert "a@b.example" in ended(capsys, str(folder))[1]


@pytest.mark.parametrize("arguments", [["missing"], ["--url", "ftp://a.example/"], ["--url", "nonsense"]])
def test_bad_arguments_are_refused(arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        app.main(["doctor", *arguments], standalone_mode=False)

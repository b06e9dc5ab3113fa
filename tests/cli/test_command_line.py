"""The command line: exit codes, messages that name the cure, clean stops, and failing disks."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from gossamer.base.ending import Ending
from gossamer.base.errors import UsageError
from gossamer.cli import main
from gossamer.collection import layout, lock, manifest
from gossamer.collection.layout import shard_folder
from gossamer.config.user import user_settings
from gossamer.crawler.run import _Signals
from gossamer.crawler.start import CrawlRequest, Prepared, prepare
from gossamer.webs.demo import DemoWeb
from tests.support.crawling import LIGHT, Crawling, Ended, Served, alive, children, command_line, gossamer, serve
from tests.support.disks import mounted, remount
from tests.support.reading import Found, committed

pytestmark = pytest.mark.slow

WEB = DemoWeb(seed=41, sites=12, pages=240, largest=40, errors=0, busy=0, delays=0, unavailable=0, slow=0)
SLOW = ("--set", "harvester.wait=300ms", "--set", "harvester.wait_large=300ms")
"""So that a crawl lasts until it is stopped."""
SLOWLY_SCORED = """
from gossamer.base.process import Process
from gossamer.manager.scores import schedule
schedule.Process = lambda *a: Process("timeit", ["-n", "1", "-r", "1", "import time; time.sleep(600)"], b"", a[3])
from gossamer.cli import main
main()
"""
"""The command line, with link scores that take long."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(WEB, tmp_path_factory.mktemp("web"), *LIGHT) as served:
        yield served


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawl"


def say(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Ended:
    """Runs a command in this process: for commands that end before anything heavy begins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["gossamer", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    captured = capsys.readouterr()
    return Ended(int(ended.value.code or 0), captured.out, captured.err)


def committed_once(crawling: Crawling) -> bool:
    """Waits until the crawl has committed some pages."""
    standing = shard_folder(crawling.folder) / "standing.json"
    return crawling.wait_for(lambda: standing.exists() and json.loads(standing.read_bytes())["stored"] > 12)


def expect_resume(served: Served, folder: Path, before: list[bytes]) -> None:
    """All committed data is there, and the next run completes the crawl."""
    ended = served.crawl(folder, "--set", "harvester.wait=50ms", "--set", "harvester.wait_large=20ms")
    assert ended.code == 0, ended.errors
    found = Found(folder)
    assert [e.encode() for e in found.effects][: len(before)] == before
    assert set(found.urls) == set(WEB.reachable())
    assert ended.figures["pending"] == 0


# --- seeds and settings --------------------------------------------------------------------------------------


def test_a_seed_line_that_is_not_a_url_is_named_skipped_and_counted(
    served: Served, folder: Path, tmp_path: Path
) -> None:
    seeds = tmp_path / "my.seeds"
    seeds.write_text(f"# mine\n{WEB.seeds[0]}\nhttp://\n\nftp://example.org/\n{WEB.seeds[0]}photo.jpg\n")
    ended = gossamer("crawl", folder, "--config", served.config, "--seeds", seeds, "--pages", "1", "--json")
    assert ended.code == 0
    for line, text in ((3, "http://"), (5, "ftp://example.org/"), (6, "photo.jpg")):
        assert [said for said in ended.errors.splitlines() if f"{seeds}, line {line}:" in said and text in said]
    assert ended.figures["seeds_skipped"] == 3
    assert ended.figures["stored"] == 1


def test_seeds_beyond_the_limits_are_named_and_counted(served: Served, folder: Path, tmp_path: Path) -> None:
    seeds = tmp_path / "many.seeds"
    home = WEB.seeds[0]
    seeds.write_text("".join(f"{home}{n}.html\n" for n in range(60)) + "".join(f"{url}\n" for url in WEB.seeds))
    limits = ("--set", "seeder.pages_per_site=50", "--set", "collection.max_sites=5")
    ended = served.crawl(folder, "--seeds", seeds, "--pages", "1", *limits)
    lines = [line for line in ended.errors.splitlines() if line.startswith("skipped: ")]
    beyond = 11 + (len(WEB.seeds) - 5)
    assert ended.figures["seeds_skipped"] == beyond
    assert len([line for line in lines if "the site or its domain is full (seeder.pages_per_site" in line]) == 11
    assert len([line for line in lines if "the collection is full" in line]) == beyond - 11


def test_without_a_usable_seed_there_is_no_collection(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = say(capsys, "crawl", folder, "--seed", "mailto:you@example.org")
    assert ended.code == 2
    assert "'mailto:you@example.org' is not an http or https URL" in ended.errors
    assert "no usable seed" in ended.errors
    assert "--seeds FILE" in ended.errors
    assert not folder.exists()
    missing = say(capsys, "crawl", folder, "--seeds", folder / "none")
    assert missing.code == 2
    assert str(folder / "none") in missing.errors


def test_the_error_for_an_unknown_setting_suggests_the_nearest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = say(capsys, "crawl", folder, "--seed", "http://a.example/", "--set", "harvester.weight=5s")
    assert ended.code == 2
    assert "unknown setting harvester.weight" in ended.errors
    assert "Did you mean harvester.wait?" in ended.errors
    assert not folder.exists()


def test_the_error_for_an_unknown_command_suggests_the_nearest_once() -> None:
    ended = gossamer("exprot", "somewhere")
    assert ended.code == 2
    assert ended.errors.count("Did you mean 'export'?") == 1


def test_an_invalid_time_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = say(capsys, "crawl", folder, "--seed", "http://a.example/", "--for", "soon")
    assert (ended.code, folder.exists()) == (2, False)
    assert "--for soon" in ended.errors


def test_a_crawl_beyond_this_machine_needs_a_contact(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        ended = say(capsys, "crawl", folder, "--seed", "http://example.org/")
    assert ended.code == 2
    for way in ("--contact you@example.org", "crawl.toml", "~/.config/gossamer/crawl.toml"):
        assert way in ended.errors
    assert not folder.exists()


CONTACT = '[harvester]\ncontact = "you@example.org"\n'


@pytest.mark.parametrize("way", ["flag", "crawl.toml", "--config", "user's folder"])
def test_a_contact_can_be_given_in_four_ways(folder: Path, tmp_path: Path, way: str) -> None:
    own, config = tmp_path / "gossamer" / "crawl.toml", None
    changes = ('harvester.contact="you@example.org"',) if way == "flag" else ()
    if way == "user's folder":
        own.parent.mkdir()
        own.write_text(CONTACT)
    elif way == "crawl.toml":
        folder.mkdir()
        (folder / "crawl.toml").write_text(CONTACT)
    elif way == "--config":
        config = tmp_path / "settings.toml"
        config.write_text(CONTACT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        assert user_settings() == own
    prepared = prepared_for(folder, config=config, changes=changes, user_settings=own)
    assert prepared.settings.harvester.contact == "you@example.org"
    assert b'contact = "you@example.org"' in (prepared.toml or b""), "it is stored with the collection"


def prepared_for(folder: Path, seed: str = "http://example.org/", **more: object) -> Prepared:
    return prepare(CrawlRequest(folder, (seed,), **more), lambda line: None)  # type: ignore[arg-type]


def test_only_a_crawl_of_this_machine_needs_no_contact(folder: Path) -> None:
    to_loopback = 'harvester.resolve={"*.example.org" = "127.0.0.1:80", "example.org" = "127.0.0.1"}'
    assert prepared_for(folder, "http://127.0.0.1:8080/").settings.seeder.domains == ("127.0.0.1",)
    prepared_for(folder, changes=(to_loopback,))
    for changes in ((), (to_loopback, "seeder.domains=*"), ('harvester.resolve={"*" = "192.0.2.1"}',)):
        with pytest.raises(UsageError, match="needs a contact"):
            prepared_for(folder, changes=changes)


# --- folders -------------------------------------------------------------------------------------------------


def test_a_folder_with_other_files_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    for verb in (("crawl", tmp_path, "--seed", "http://127.0.0.1/"), ("status", tmp_path), ("stop", tmp_path)):
        ended = say(capsys, *verb)
        assert ended.code == 2
        assert f"{tmp_path} is not a collection" in ended.errors
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    assert say(capsys, "crawl", tmp_path / "thesis.tex", "--seed", "http://127.0.0.1/").code == 2


def test_a_collection_of_a_newer_format_is_refused_and_not_touched(served: Served, folder: Path) -> None:
    assert served.crawl(folder, "--pages", "1").code == 0
    path = shard_folder(folder) / "manifest.jsonl"
    first, rest = path.read_bytes().split(b"\n", 1)
    line = json.loads(first)
    line.pop("checksum")
    path.write_bytes(manifest.encode(line | {"format": 99}) + rest)
    before = snapshot(folder)
    ended = served.crawl(folder, "--set", "harvester.wait=9s")
    assert ended.code == 2
    assert "has format 99" in ended.errors
    assert snapshot(folder) == before


def snapshot(folder: Path) -> dict[str, bytes]:
    """The contents of all files except the lock, which names its last holder."""
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != "lock"}


def test_the_error_for_a_second_crawl_names_the_process_of_the_first(served: Served, folder: Path) -> None:
    with served.begin(folder, *SLOW) as first:
        assert committed_once(first)
        settings = (folder / "crawl.toml").read_bytes()
        second = gossamer("crawl", folder, "--set", "harvester.wait=9s")
        assert second.code == 3
        assert f"process {first.pid}" in second.errors
        assert f"gossamer stop {folder}" in second.errors
        assert (folder / "crawl.toml").read_bytes() == settings, "the second crawl changes no settings"
        assert not first.over


# --- stopping ------------------------------------------------------------------------------------------------


def test_ctrl_c_stops_cleanly_even_during_sealing(served: Served, folder: Path) -> None:
    with served.begin(folder, *SLOW, "--workers", "2", "--set", "collection.seal_every=1s") as crawling:
        assert committed_once(crawling)
        assert crawling.wait_for(lambda: any("tables.seal" in command_line(p) for p in children(crawling.pid)))
        processes = children(crawling.pid)
        crawling.signal(signal.SIGINT, group=True)
        ended = crawling.ended()
    assert ended.code == 130, ended.errors
    assert ended.figures["ending"] == "stopped on request"
    assert "Traceback" not in ended.errors
    assert not any(map(alive, processes))
    assert list(shard_folder(folder).glob("image/*/meta.json")), "a clean stop leaves an image"
    expect_resume(served, folder, [e.encode() for e in committed(folder)])


def test_ctrl_c_while_the_crawl_finishes_leaves_out_link_scores(served: Served, folder: Path) -> None:
    """A stop by `gossamer stop` waits for the scores; a Ctrl-C then gives them up, and the rest is as ever."""

    def scorers() -> list[int]:
        return [pid for pid in children(crawling.pid) if "timeit" in command_line(pid)]

    scored = ("--set", "manager.weights={completed=1}")
    with served.begin(folder, *SLOW, *scored, program=SLOWLY_SCORED) as crawling:
        assert committed_once(crawling)
        crawling.signal(signal.SIGTERM)
        assert crawling.wait_for(scorers)
        computing = scorers()
        crawling.signal(signal.SIGINT, group=True)
        ended = crawling.ended()
    assert ended.code == 130, ended.errors
    assert ended.figures["ending"] == "stopped on request"
    assert "finishing without new link scores" in ended.errors
    assert "Traceback" not in ended.errors
    assert not any(map(alive, computing))
    shard = shard_folder(folder)
    assert not list(shard.glob("scores/*"))
    assert list(shard.glob("image/*/meta.json")), "a clean stop leaves an image"
    assert gossamer("verify", folder).code == 0


def test_signals_while_the_crawl_finishes() -> None:
    class Stopped:
        stop: Ending | None = None

        class bell:
            ring = staticmethod(lambda: None)

    crawl, said = Stopped(), list[str]()
    with _Signals(cast(Any, crawl), said.append) as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        assert crawl.stop is Ending.STOPPED
        assert (signals.interrupted, signals.hurried()) == (False, False)
        signals.finishing = True
        os.kill(os.getpid(), signal.SIGINT)
        assert (signals.interrupted, signals.hurried(), signals.hurried(), len(said)) == (True, True, True, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_stop_and_status_find_the_crawl(served: Served, folder: Path) -> None:
    with served.begin(folder, *SLOW) as crawling:
        assert committed_once(crawling)
        standing = gossamer("status", folder, "--json").figures
        assert (standing["running"], standing["pid"]) == (True, crawling.pid)
        assert standing["known"] == sum(standing[word] for word in ("pending", "waiting", "done", "excluded"))
        assert f"running (process {crawling.pid})" in gossamer("status", folder).output
        stopped = gossamer("stop", folder)
        assert (stopped.code, stopped.output) == (0, f"{folder}: stopped\n")
        ended = crawling.ended()
    assert (ended.code, ended.figures["ending"]) == (0, "stopped on request")
    assert "not running: stopped on request" in gossamer("status", folder).output
    assert gossamer("stop", folder).output == f"{folder}: not running\n"


def test_stop_names_the_crawl_of_another_user(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    monkeypatch.setattr(layout, "require_collection", lambda folder: None)
    shard_folder(folder).mkdir(parents=True)
    held = lock.take(shard_folder(folder))
    ended = say(capsys, "stop", folder)
    held.release()
    assert ended.code == 2
    assert f"process {os.getpid()} belongs to another user" in ended.errors


def test_status_reports_a_killed_crawl(served: Served, folder: Path) -> None:
    with served.begin(folder, *SLOW) as crawling:
        assert committed_once(crawling)
    assert "not running: it was killed" in gossamer("status", folder).output


def test_a_crawl_ends_after_the_given_time(served: Served, folder: Path) -> None:
    ended = served.crawl(folder, *SLOW, "--for", "1500ms")
    assert (ended.code, ended.figures["ending"]) == (0, "the requested time is over")
    assert ended.figures["pending"] > 0


def test_a_small_crawl_in_several_runs_has_link_scores_and_the_value_of_all_pages(served: Served, folder: Path) -> None:
    scored = ("--set", "manager.weights={completed=1}")
    first = served.crawl(folder, "--pages", "30", *scored).figures
    assert (first["scores"]["visits"], first["scores"]["why"]) == (first["visits"], "")
    assert first["value"][-1][2] == first["why"]["done"]["ok"]
    second = served.crawl(folder, "--pages", "30", *scored).figures
    assert second["scores"]["visits"] == second["visits"] > first["visits"]
    assert second["scores"]["made"] > first["scores"]["made"]
    assert second["value"][: len(first["value"])] == first["value"]
    assert second["value"][-1][2] == second["why"]["done"]["ok"]
    said = gossamer("status", folder).output
    assert "0 visits since" in said
    assert f"with {second['why']['done']['ok']} pages" in said
    other = served.crawl(folder, "--pages", "5", *scored, "--set", "manager.alpha=2").figures
    assert other["value"][0][0] > second["value"][-1][0], "another unit begins a new curve"


# --- disks ---------------------------------------------------------------------------------------------------


def test_a_full_disk_ends_the_crawl_and_loses_nothing(served: Served, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=900k"):
        folder = tmp_path / "disk" / "crawl"
        ended = served.crawl(folder, *SLOW)
        assert ended.code == 4, ended.errors
        assert "No space left on device" in ended.errors
        assert "The disk is full: make room" in ended.errors
        before = [e.encode() for e in committed(folder)]
        assert len(before) > 5
        again = served.crawl(folder)
        assert again.code == 4, again.errors
        assert [e.encode() for e in committed(folder)][: len(before)] == before
        remount(tmp_path / "disk", "size=64m")
        expect_resume(served, folder, before)


def test_a_read_only_disk_is_reported(served: Served, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=16m"):
        folder = tmp_path / "disk" / "crawl"
        assert served.crawl(folder, "--pages", "5").code == 0
        before = snapshot(folder)
        remount(tmp_path / "disk", "ro")
        for place in (folder, tmp_path / "disk" / "new"):
            ended = gossamer("crawl", place, "--config", served.config, "--seed", WEB.seeds[0])
            assert ended.code == 4
            assert "Read-only file system" in ended.errors
            assert "mount it for writing" in ended.errors
        assert snapshot(folder) == before


def test_a_folder_that_cannot_be_created_is_reported(served: Served, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ended = gossamer("crawl", tmp_path / "file" / "crawl", "--config", served.config, "--seed", WEB.seeds[0])
    assert ended.code == 4
    assert f"cannot make folder {tmp_path / 'file'}" in ended.errors
    assert "name another folder" in ended.errors


@pytest.mark.parametrize("who", ["desk", "worker"])
def test_a_limit_on_file_size_ends_the_crawl_and_loses_nothing(served: Served, folder: Path, who: str) -> None:
    """The limit is set during the crawl, so that a write to the journal or the archive fails in the middle."""
    with served.begin(folder, *SLOW) as crawling:
        assert committed_once(crawling)
        grown = max(p.stat().st_size for p in shard_folder(folder).glob("journal/*" if who == "desk" else "warc/*"))
        pid = crawling.pid if who == "desk" else crawling.workers()[0]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (grown + 5_000, resource.RLIM_INFINITY))
        ended = crawling.ended()
    assert ended.code == 4, ended.errors
    assert "cannot write" in ended.errors
    assert "File too large" in ended.errors
    assert "start again" in ended.errors
    expect_resume(served, folder, [e.encode() for e in committed(folder)])


# --- answering at once ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--help"], ["crawl", "--help"], ["status", "DIR"]], ids=" ".join)
def test_help_and_status_load_nothing_heavy(served: Served, folder: Path, arguments: list[str]) -> None:
    if "DIR" in arguments:
        assert served.crawl(folder, "--pages", "1").code == 0
    program = (
        "import sys; from gossamer.cli import main\ntry: main()\nexcept SystemExit as end: assert not end.code\n"
        "print('|'.join(sys.modules), file=sys.stderr)"
    )
    words = [str(folder) if word == "DIR" else word for word in arguments]
    begun = time.perf_counter()
    ended = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, env=os.environ)
    seconds = time.perf_counter() - begun
    assert ended.returncode == 0, ended.stderr
    assert {"numba", "numpy", "pyarrow", "pycurl"}.isdisjoint(ended.stderr.strip().split("|"))
    print(f"{' '.join(arguments)}: {seconds:.2f} s")

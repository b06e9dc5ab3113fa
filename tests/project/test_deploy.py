"""docs/deploy.md and the Containerfile do what they say: the image crawls and stops, a copy made meanwhile is good."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml  # type: ignore[import-untyped]

from gossamer import config
from gossamer.base.compiled import KEPT
from gossamer.base.errors import LockedError, StorageError, UsageError
from tests.support.container import Root, build, can_build, stages
from tests.support.paths import ROOT
from tests.support.timing import COMMAND, WITHIN

DEPLOY: Final = (ROOT / "docs" / "deploy.md").read_text()
STAGES: Final = stages((ROOT / "Containerfile").read_text())
IMAGE: Final = STAGES[""]


def said(word: str) -> list[str]:
    """The arguments of an instruction in the image's own stage."""
    return [step.rest for step in IMAGE if step.word == word]


def shown(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DEPLOY, re.MULTILINE | re.DOTALL)


# --- the Containerfile ---------------------------------------------------------------------------------------


def test_the_image_is_slim_and_without_rights() -> None:
    assert {step.rest.partition(" AS ")[0] for steps in STAGES.values() for step in steps if step.word == "FROM"} == {
        "python:${PYTHON}-slim"
    }
    assert said("USER") == ["10001:10001"]
    assert said("VOLUME") == said("WORKDIR") == ["/data"]
    (entry,) = [step for step in IMAGE if step.word == "ENTRYPOINT"]
    assert entry.listed() == ["gossamer"], "the exec form: SIGTERM reaches gossamer, not a shell"


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = {
        source
        for steps in STAGES.values()
        for step in steps
        if step.word == "COPY" and not step.rest.startswith("--from")
        for source in step.rest.split()[:-1]
    }
    assert {f"!{source}" for source in copied} == {line for line in ignored if line.startswith("!")}
    assert [source for source in copied if not (ROOT / source).exists()] == []


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Root:
    """The image, built step by step. It borrows packages and kernels of this environment: nothing is downloaded."""
    if reason := can_build():
        pytest.skip(f"no image can be built: {reason}")
    folder, built = tmp_path_factory.mktemp("image"), dict[str, Root]()
    for name, steps in STAGES.items():
        root = built[name] = Root(folder / (name or "image"), passable=(sys.base_prefix, sys.prefix))
        for step in steps:
            if step.word == "RUN" and "-m venv" in step.rest:
                borrow(root)
            elif step.word == "RUN" and "tools.compile" in step.rest:
                borrow_kernels(root)
            build([step], root, ROOT, built, COMMAND)
    return built[""]


def borrow(root: Root) -> None:
    root.run("python3", "-m", "venv", "/opt/gossamer", within=WITHIN)
    (packages,) = root.inside("/opt/gossamer").glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in sys.path if path.endswith("-packages")))


def borrow_kernels(root: Root) -> None:
    """Kernels of the same sources, for this processor and not for any."""
    del root.environment["NUMBA_CPU_NAME"]
    cache = root.inside(root.environment["XDG_CACHE_HOME"]) / "gossamer"
    shutil.copytree(KEPT, cache / KEPT.name)
    for path in (cache, *cache.rglob("*")):
        os.chown(path, 10001, 10001)
        path.chmod(0o700 if path.is_dir() else 0o600)


@pytest.mark.slow
def test_the_image_crawls_and_sigterm_stops_it(image: Root) -> None:
    """As process 1, as a user without rights, with kernels that were compiled when the image was built."""
    words = ("gossamer", "crawl", "demo", "--demo", "--workers", "1", "--patience", "1h")
    with subprocess.Popen(
        image.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        output: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            output.append(line)
            if re.search(r"; [1-9][\d,]* visits? ", line):
                os.kill(first_process(process.pid), signal.SIGTERM)
                break
        output += process.stdout
        assert process.wait(WITHIN) == 0, "".join(output)
    assert "The crawl ended: stopped on request." in "".join(output), "".join(output)
    assert image.run("gossamer", "verify", "demo", within=COMMAND).count("no errors") == 1
    assert image.inside("/data/demo/crawl.toml").stat().st_uid == 10001


def test_sigterm_ends_the_first_process_before_a_crawl_listens() -> None:
    if reason := can_build():
        pytest.skip(f"no namespace can be made: {reason}")
    code = "import time; from gossamer import cli; cli._run = lambda: time.sleep(print(flush=True) or 600); cli.main()"
    words = ("unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", code)
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(first_process(process.pid), signal.SIGTERM)
        assert process.wait(WITHIN) == 128 + signal.SIGTERM


def first_process(unshare: int) -> int:
    """The process that is number 1 in its namespace: the child of `unshare`, as numbered here."""
    (child,) = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()
    return int(child)


# --- docs/deploy.md ------------------------------------------------------------------------------------------


def test_the_unit_is_valid(tmp_path: Path) -> None:
    (unit,) = shown("ini")
    needing_people = {error.exit_code for error in (UsageError, LockedError, StorageError)}
    assert set(map(int, re.search(r"RestartPreventExitStatus=(.*)", unit)[1].split())) == needing_people  # type: ignore[index]
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze to judge it")
    path = tmp_path / "gossamer@x.service"
    path.write_text(unit.replace("/opt/gossamer/bin/gossamer", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, timeout=WITHIN)
    assert [line for line in done.stderr.splitlines() if "gossamer@" in line] == []


def test_the_manifest_fits_the_image() -> None:
    (text,) = shown("yaml")
    claim, settings, job = yaml.safe_load_all(text)
    pod = job["spec"]["template"]["spec"]
    (crawler,) = pod["containers"]
    secured = pod["securityContext"]
    assert f"{secured['runAsUser']}:{secured['runAsGroup']}" == said("USER")[0]
    assert crawler["volumeMounts"][0]["mountPath"] == said("VOLUME")[0]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert config.loads(settings["data"]["crawl.toml"], "the manifest").harvester.contact
    named = {option.partition("=")[2] for option in crawler["args"] if option.startswith("--")}
    assert {f"/etc/gossamer/{name}" for name in settings["data"]} < named


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Path]:
    """The folder of a crawl that runs and seals segments all the time, with its log. It goes slowly and without link
    scores: what is copied needs no more."""
    sealing = ("collection.seal_every=2s", "collection.seal_visits=200")
    changes = (*sealing, "harvester.wait=2s", "manager.weights={opic=1}")
    options = [word for change in changes for word in ("--set", change)]
    words = ("crawl", "live", "--demo", "--workers", "1", "--log", "events.jsonl", *options)
    with subprocess.Popen([sys.executable, "-m", "gossamer", *words], cwd=tmp_path, stdout=subprocess.DEVNULL) as crawl:
        try:
            manifest = tmp_path / "live" / "shard-000" / "manifest.jsonl"
            until(lambda: crawl.poll() is not None or (manifest.exists() and manifest.read_bytes().count(b"\n") > 2))
            assert crawl.poll() is None
            yield tmp_path
        finally:
            crawl.send_signal(signal.SIGTERM)
            assert crawl.wait(WITHIN) == 0


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + COMMAND
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
def test_a_copy_of_a_running_crawl_is_whole(busy: Path) -> None:
    """Copied slowly, so that segments are sealed between any two of its parts. The journal of such a copy may have been
    sealed before its manifest was copied; if the two are copied at once, it has records of its own."""
    (script,) = re.findall(r"<<'END'\n(.*?)^END$", DEPLOY, re.MULTILINE | re.DOTALL)
    (busy / "backup.sh").write_text(script.replace("    cp -Rp", "    sleep 0.5; cp -Rp"))
    copied(busy, "slow")
    at_once = "[ $part = journal ] || [ $part = manifest.jsonl ] || sleep 0.5"
    (busy / "backup.sh").write_text(script.replace("    cp -Rp", f"    {at_once}; cp -Rp"))
    assert any(copied(busy, f"copy{n}") for n in range(3)), "the journal has records that are not sealed yet"


def copied(busy: Path, name: str) -> int:
    """The journal records of a copy that is made and verified while the crawl goes on."""
    subprocess.run(["sh", "backup.sh", "live", name], cwd=busy, timeout=COMMAND, check=True)
    before, after = (max(path.stem for path in (busy / each).glob("shard-000/ticks/*")) for each in (name, "live"))
    assert before < after, "segments were sealed meanwhile"
    done = subprocess.run(
        [sys.executable, "-m", "gossamer", "verify", name], cwd=busy, capture_output=True, text=True, timeout=COMMAND
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"no errors\. .* ([\d,]+) journal records", " ".join(done.stdout.split()))
    assert found, done.stdout
    return int(found[1].replace(",", ""))


@pytest.mark.slow
def test_the_log_may_be_copied_and_truncated(busy: Path) -> None:
    log = busy / "events.jsonl"
    until(lambda: log.stat().st_size > 10_000)
    os.truncate(log, 0)
    until(lambda: log.stat().st_size > 0)
    assert log.read_bytes()[:1] == b"{", "no hole before the next line"

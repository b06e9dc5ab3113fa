"""Builds and runs an image from a Containerfile without a container engine, as far as tests need it: each stage is an
overlay over the root of this machine, whose steps run in a `chroot` in namespaces of their own.

What a registry would give, a slim Python, is what this machine has: `python3` of the running interpreter. Nothing
outside of the overlays changes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

BASE: Final = sys.base_prefix
"""Python of this machine, which may lie in a folder that only root may enter."""


class Step(NamedTuple):
    """An instruction of a Containerfile."""

    word: str
    rest: str

    def listed(self) -> list[str]:
        """The arguments of the exec form."""
        parts: list[str] = json.loads(self.rest)
        return parts


def stages(text: str) -> dict[str, list[Step]]:
    """The steps of each stage by its name; the last one is called "". Steps before the first FROM are left out."""
    found: dict[str, list[Step]] = {}
    current: list[Step] = []
    for line in re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines():
        if line.strip():
            step = Step(*line.strip().split(maxsplit=1))
            if step.word == "FROM":
                current = found.setdefault(step.rest.partition(" AS ")[2], [])
            current.append(step)
    return found


@dataclass
class Root:
    """The file system of a stage, and what ENV, USER and WORKDIR have set."""

    folder: Path
    passable: Sequence[str] = (BASE,)
    """Folders of this machine that every user of the stage must reach."""
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": f"{BASE}/bin:/usr/sbin:/usr/bin:/sbin:/bin"})
    user: str = "0:0"
    workdir: str = "/"

    def __post_init__(self) -> None:
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True)

    def inside(self, path: str) -> Path:
        """Where a path of the stage that some step has written lies on this machine."""
        return self.folder / "upper" / os.path.normpath(os.path.join(self.workdir, path)).lstrip("/")

    def command(self, *words: str) -> list[str]:
        """A command of this machine that runs `words` as process 1 of new namespaces, in this root, as its user."""
        user, group = self.user.split(":")
        as_user = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        inner = ["chroot", f"{self.folder}/root", "env", "-i", "-C", self.workdir, *as_user, "env"]
        inner += [f"{name}={value}" for name, value in self.environment.items()]
        closed = " ".join(f"{self.folder}/root{parent}" for path in self.passable for parent in _closed(path))
        script = (
            f"mount -t overlay overlay -o lowerdir=/,upperdir={self.folder}/upper,workdir={self.folder}/work"
            f" {self.folder}/root && mount -t proc proc {self.folder}/root/proc"
            f" && mount --bind /dev {self.folder}/root/dev && mount -t tmpfs tmpfs {self.folder}/root/tmp"
            + (f" && chmod o+x {closed}" if closed else "")
            + f" && exec {shlex.join([*inner, *words])}"
        )
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", script]

    def run(self, *words: str, within: float) -> str:
        done = subprocess.run(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=within
        )
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}"
        return done.stdout


def build(steps: Sequence[Step], root: Root, context: Path, built: dict[str, Root], within: float) -> None:
    """Runs the steps of a stage in its root. `context`: the folder that COPY copies from."""
    for step in steps:
        if step.word == "RUN":
            root.run("sh", "-e", "-c", step.rest, within=within)
        elif step.word == "COPY":
            *flags, rest = [step.rest] if not step.rest.startswith("--from=") else step.rest.split(maxsplit=1)
            *sources, target = rest.split()
            for source in sources:
                start = built[flags[0].partition("=")[2]].inside(source) if flags else context / source
                _copy(
                    start, root.inside(target) / start.name if target.endswith("./") else root.inside(target), not flags
                )
        elif step.word == "ENV":
            for name, value in re.findall(r"(\w+)=(\S+)", step.rest):
                root.environment[name] = value.replace("$PATH", root.environment["PATH"])
        elif step.word == "USER":
            root.user = step.rest
        elif step.word == "WORKDIR":
            root.workdir = step.rest
            root.inside(".").mkdir(parents=True, exist_ok=True)


def can_build() -> str:
    """Why no image can be built here; empty if one can."""
    if os.geteuid() != 0:
        return "only root can mount and change roots"
    if missing := [name for name in ("unshare", "chroot", "setpriv", "useradd") if not shutil.which(name)]:
        return f"there is no {missing[0]}"
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True)
    return "" if tried.returncode == 0 else "namespaces are not allowed here"


def _copy(source: Path, target: Path, clean: bool) -> None:
    """`clean`: without what .dockerignore leaves out."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info") if clean else None
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=ignored)
    else:
        shutil.copy2(source, target)


def _closed(path: str) -> list[str]:
    """The folders above a path that others than their owner may not enter."""
    return [str(parent) for parent in reversed(Path(path).parents) if not parent.stat().st_mode & 0o001]

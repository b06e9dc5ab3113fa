"""The shell completes: it loads the script that `gossamer completion` prints, and asks for the rest of a word."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.cli import app
from gossamer.manager.strategies import STRATEGIES
from tests.support.needed import needed
from tests.support.paths import ROOT
from tests.support.timing import COMMAND

ASK = """
eval "$(gossamer completion bash)"
compopt() { printf '%s\\n' "$*"; }  # bash allows it only while it completes
COMP_WORDS=(gossamer "$@"); COMP_CWORD=$#
_gossamer_completion gossamer
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bin") / "gossamer"
    main = "import sys; sys.argv[0] = 'gossamer'; from gossamer.cli import main; main()"
    made.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{main}" "$@"\n')
    made.chmod(0o755)
    return made


def asked(program: Path, folder: Path, *words: str) -> list[str]:
    """What a shell prints that runs these words; `gossamer` is on its path."""
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=COMMAND)
    assert done.stderr == ""
    return done.stdout.splitlines()


def completed(program: Path, folder: Path, *words: str) -> list[str]:
    return " ".join(asked(program, folder, "bash", "--norc", "-c", ASK, "bash", *words)).split()


def test_bash_completes_commands_options_settings_strategies_and_folders(program: Path, tmp_path: Path) -> None:
    assert sorted(completed(program, tmp_path, "co")) == ["compact", "compare", "completion", "config"]
    assert completed(program, tmp_path, "graph", "s") == ["show", "sample"]
    assert completed(program, tmp_path, "crawl", "--pat") == ["--patience"]
    assert completed(program, tmp_path, "crawl", "x", "--set", "harvester.address_") == ["harvester.address_wait="]
    begun = [name for name in STRATEGIES if name.startswith("b")]
    assert completed(program, tmp_path, "simulate", "x", "--strategy", "b") == begun != []
    assert completed(program, tmp_path, "status", "my") == ["-o", "dirnames"]


@needed("fish", shutil.which("fish") is not None, "apt-get install fish")
def test_fish_completes(program: Path, tmp_path: Path) -> None:
    (tmp_path / "my-crawl").mkdir()
    lines = ("gossamer co", "gossamer crawl --pat", "gossamer crawl x --set harvester.address_", "gossamer status my")
    script = "gossamer completion fish | source; for line in $argv; complete -C $line; echo; end"
    said = "\n".join(asked(program, tmp_path, "fish", "--no-config", "-c", script, *lines)).split("\n\n")
    found = [sorted(line.partition("\t")[0] for line in part.splitlines()) for part in said]
    assert found == [
        ["compact", "compare", "completion", "config"],
        ["--patience"],
        ["harvester.address_wait="],
        ["my-crawl/"],
    ]


ZSH = """
compdef() { print registered $2 }
_describe() { print -l -- ${(@P)3} }
compadd() { print -l -- ${(@P)@[-1]} }
_path_files() { print paths $@ }
eval "$(gossamer completion zsh)"
for line; do words=(${=line}); CURRENT=$#words; print; _gossamer_completion; done
"""
"""What belongs to the line editor, which no script can use, prints what it is given."""


@needed("zsh", shutil.which("zsh") is not None, "apt-get install zsh")
def test_zsh_completes(program: Path, tmp_path: Path) -> None:
    lines = ("gossamer co", "gossamer crawl --pat", "gossamer crawl x --set harvester.address_", "gossamer status my")
    said = "\n".join(asked(program, tmp_path, "zsh", "-f", "-c", ZSH, "zsh", *lines)).split("\n\n")
    found = [sorted(line.partition(":")[0] for line in part.splitlines()) for part in said]
    assert found == [
        ["registered gossamer"],
        ["compact", "compare", "completion", "config"],
        ["--patience"],
        ["harvester.address_wait="],
        ["paths -/"],
    ]


def test_an_unknown_shell_is_refused_with_the_known_ones() -> None:
    said = CliRunner().invoke(app, ["completion", "tcsh"])
    assert said.exit_code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in said.output

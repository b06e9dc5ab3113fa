"""The shell completes: bash loads the script that `gossamer completion` prints, and asks for the rest of a word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gossamer.cli import app
from gossamer.manager.strategies import STRATEGIES
from tests.support.paths import ROOT

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


def completed(program: Path, folder: Path, *words: str) -> list[str]:
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    asked = ["bash", "--norc", "-c", ASK, "bash", *words]
    done = subprocess.run(asked, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_settings_strategies_and_folders(program: Path, tmp_path: Path) -> None:
    assert sorted(completed(program, tmp_path, "co")) == ["compact", "compare", "completion", "config"]
    assert completed(program, tmp_path, "graph", "s") == ["show"]
    assert completed(program, tmp_path, "crawl", "--pat") == ["--patience"]
    assert completed(program, tmp_path, "crawl", "x", "--set", "harvester.address_") == ["harvester.address_wait="]
    begun = [name for name in STRATEGIES if name.startswith("b")]
    assert completed(program, tmp_path, "simulate", "x", "--strategy", "b") == begun != []
    assert completed(program, tmp_path, "status", "my") == ["-o", "dirnames"]


@pytest.mark.parametrize(("shell", "word"), [("zsh", "#compdef gossamer"), ("fish", "complete --no-files")])
def test_other_shells_have_their_script(shell: str, word: str) -> None:
    said = CliRunner().invoke(app, ["completion", shell])
    assert said.exit_code == 0
    assert word in said.output
    assert "_GOSSAMER_COMPLETE" in said.output


def test_an_unknown_shell_is_refused_with_the_known_ones() -> None:
    said = CliRunner().invoke(app, ["completion", "tcsh"])
    assert said.exit_code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in said.output

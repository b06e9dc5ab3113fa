"""A test that needs a missing program is skipped with a reason, or fails in CI."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.needed import needed


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_program_that_is_installed_is_used(ci: str, prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", ci)
    assert needed("nginx", True, "apt-get").args == (False,)


def test_a_missing_program_skips_the_test_with_a_reason(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    mark = needed("nginx", False, "apt-get")
    assert (mark.args, mark.kwargs) == ((True,), {"reason": "nginx is not installed (apt-get)"})


def test_in_ci_a_missing_program_is_an_error_unless_make_said_that_it_cannot_be_installed(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(RuntimeError, match="without-nginx"):
        needed("nginx", False, "apt-get")
    (prefix / "without-nginx").touch()
    assert needed("nginx", False, "apt-get").args == (True,)

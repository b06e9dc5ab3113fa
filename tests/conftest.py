"""Property tests have no deadlines, and may be slow to make their examples: the machine may be busy, and what must be
quick is shown by benchmarks.

Files of the tests lie in memory where there is room (`tests/support/memory.py`).

Files that take longest come first, so that no process is left with one of them when the others are through. A shell
lets what it runs in the background ignore Ctrl-C, and all programs that it starts: those of the tests do not.
"""

import os
import signal
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.support.memory import use_memory

use_memory()
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST: Final = [
    "test_docs",
    "test_readme",
    "test_kill",
    "test_powercut",
    "test_command_line",
    "test_deploy",
    "test_whole_crawl",
    "test_imager",
    "test_first_words",
    "test_costs",
    "test_scheduling",
    "test_runs",
    "test_continuous",
    "test_hostile",
    "test_simulated_crawl",
    "test_verify",
    "test_run",
    "test_plan",
    "test_progress",
    "test_robots_unreachable",
    "test_hard_times",
    "test_fuzz",
    "test_limits",
    "test_conditional",
    "test_collection_graph",
    "test_compact",
    "test_week",
    "test_revisits",
    "test_merging",
    "test_wheel",
    "test_contract",
    "test_events",
    "test_forecast",
    "test_scores",
]


WHOLE: Final = (
    "crawler",
    "project/test_docs",
    "project/test_readme",
    "library/test_crawl",
    "library/test_examples",
    "webs",
    "cli",
    "laboratory",
    "bench",
    "fuzz",
)
"""Folders and files of tests that run whole crawls, commands or experiments: `make quick` leaves them out."""


NO_CRAWLS: Final = "TESTS_WITHOUT_CRAWLS"
"""An environment variable of `make quick`: a test that starts a crawl fails (`tests/support/crawling.py`)."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out whole crawls, commands and experiments")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        os.environ[NO_CRAWLS] = "1"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("--quick"):
        return None
    name = collection_path.relative_to(Path(__file__).parent).with_suffix("").as_posix()
    return True if name in WHOLE else None


EXAMPLES: Final = 20
"""Examples of each property in `make quick`, at most."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        for item in items:
            _shorten(getattr(item, "obj", None))
    places = {f"{name}.py": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def _shorten(test: Any) -> None:
    """Makes a property test try fewer examples. Hypothesis has no public way to change settings that a test names."""
    test = getattr(test, "__func__", test)
    usual = getattr(test, "_hypothesis_internal_use_settings", None)
    if usual is not None:
        test._hypothesis_internal_use_settings = settings(usual, max_examples=min(EXAMPLES, usual.max_examples))

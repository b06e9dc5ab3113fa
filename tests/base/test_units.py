"""Durations, sizes and numbers: parsing and printing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.base.units import Duration, Size, human_size, human_time, plural, thousands


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15),
        ("10min", 600),
        ("12h", 43200),
        ("1d", 86400),
        ("500ms", 0.5),
        ("1min30s", 90),
        (" 1 h 5 min ", 3900),
        ("2.5s", 2.5),
        ("7", 7),
        (3, 3),
        (0.25, 0.25),
        ("0s", 0),
    ],
)
def test_durations_are_parsed_with_their_units(text: str | float, seconds: float) -> None:
    assert Duration.parse(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "5m", "5 parsecs", "-1s", "1s2", "1_0s", "nan", "1e3s", True, -1, float("inf")]
)
def test_a_wrong_duration_is_refused_with_the_valid_units(text: str | float) -> None:
    with pytest.raises(ValueError, match="ms, s, min, h, d"):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("400KB", 400_000),
        ("1MiB", 2**20),
        ("1.5MB", 1_500_000),
        ("2TB", 2 * 10**12),
        ("12B", 12),
        ("12", 12),
        (5, 5),
        ("3 gib", 3 * 2**30),
        ("1kb", 1000),
    ],
)
def test_sizes_are_parsed_with_their_units(text: str | int, size: int) -> None:
    assert Size.parse(text) == size


@pytest.mark.parametrize("text", ["", "KB", "5k", "0.5B", "1.0001KB", "-1", "1MB/s", True, -3])
def test_a_wrong_size_is_refused_with_the_valid_units(text: str | int) -> None:
    with pytest.raises(ValueError, match="KiB, MiB, GiB"):
        Size.parse(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Duration(15), "15s"),
        (Duration(300), "5min"),
        (Duration(86400), "1d"),
        (Duration(0.5), "0.5s"),
        (Duration(0), "0s"),
        (Duration(0.002), "2ms"),
        (Size(400_000), "400KB"),
        (Size(2**20), "1MiB"),
        (Size(1), "1B"),
        (Size(0), "0B"),
    ],
)
def test_values_print_in_their_shortest_form(value: Duration | Size, text: str) -> None:
    assert f"{value}" == text


@given(st.floats(0, 1e12, allow_nan=False).map(Duration))
@settings(deadline=None)
def test_durations_parse_back_to_themselves(duration: Duration) -> None:
    assert Duration.parse(str(duration)) == duration


@given(st.integers(0, 2**63).map(Size))
@settings(deadline=None)
def test_sizes_parse_back_to_themselves(size: Size) -> None:
    assert Size.parse(str(size)) == size


def test_numbers_for_people() -> None:
    assert thousands(1234567) == "1,234,567"
    assert [plural(n, "page") for n in (0, 1, 1000)] == ["0 pages", "1 page", "1,000 pages"]
    assert plural(1, "thing is", "things are") == "1 thing is"
    assert plural(2, "thing is", "things are") == "2 things are"
    assert [human_size(n) for n in (0, 999, 1234, 45_600_000, 789e9, 2e15)] == [
        "0 B",
        "999 B",
        "1.23 KB",
        "45.6 MB",
        "789 GB",
        "2000.0 TB",
    ]
    assert [human_time(s) for s in (0.25, 12.34, 59.99, 125, 3599.9, 11220, 187200)] == [
        "0.25 s",
        "12.3 s",
        "1 min 00 s",
        "2 min 05 s",
        "1 h 00 min",
        "3 h 07 min",
        "2 d 04 h",
    ]

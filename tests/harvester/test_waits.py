"""The wait of a site by settings, robots.txt and owner."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from gossamer.config import Settings, override
from gossamer.harvester.waits import OWN_WAIT, Waits, seconds_between

SECONDS = st.floats(0, 400, width=32)


@examples(max_examples=300, deadline=None)
@given(pages=st.integers(0, 300), delay=SECONDS, named=st.booleans(), owned=st.integers(0, 4), wait=st.integers(0, 400))
def test_only_a_site_that_is_owned_or_names_us_in_its_crawl_delay_has_a_shorter_wait_than_the_settings_say(
    pages: int, delay: float, named: bool, owned: int, wait: int
) -> None:
    harvester = override(Settings(), [f"harvester.wait={wait}s"]).harvester
    columns = {"pages": np.uint32, "delay": np.float32, "named": np.uint8, "owned": np.uint8}
    values = {"pages": pages, "delay": delay, "named": named, "owned": owned}
    sites = SimpleNamespace(**{name: np.array([values[name]], kind) for name, kind in columns.items()})
    usual = float(harvester.wait_large if pages > harvester.large_site else harvester.wait)
    found = seconds_between(Waits.of(sites, harvester), 0)
    assert found >= delay
    if not (named or owned):
        assert found == max(usual, delay)
    elif owned:
        assert found == max(OWN_WAIT, delay)
    else:
        assert min(usual, harvester.address_wait) <= found <= max(usual, delay)


def test_an_image_of_an_older_version_has_no_owners() -> None:
    sites = SimpleNamespace(pages=np.array([3], np.uint32), delay=np.array([0.0], np.float32))
    assert seconds_between(Waits.of(sites, Settings().harvester), 0) == 15.0

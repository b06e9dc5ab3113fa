"""The crawl: the loop, the steps of a tick, what is applied to the state, and a run from start to end."""

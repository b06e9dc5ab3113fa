"""The life of the demonstration Web: when its pages change, move, vanish and return, and how its sites tell."""

from gossamer.webs.demo.life.habits import DAY, Caching, Dates, Habits, Rhythm, Validators, counted, habits
from gossamer.webs.demo.life.life import Event, Happening, Life, Standing, happened
from gossamer.webs.demo.life.pulse import Beat, Pulse

__all__ = [
    "DAY", "Beat", "Caching", "Dates", "Event", "Habits", "Happening", "Life", "Pulse", "Rhythm", "Standing",
    "Validators", "counted", "habits", "happened",
]  # fmt: skip

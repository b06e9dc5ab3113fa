"""Short names of settings: what people look for first, as options of `gossamer crawl` and as arguments of
`gossamer.crawl`. Each stands for one or more `--set`, so the collection keeps them, and a resumed crawl needs none of
them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from gossamer.base.errors import UsageError


class Short(NamedTuple):
    """An option, and what it sets: {} stands for its value, and += adds to a list."""

    option: str
    sets: tuple[str, ...]
    help: str
    span: tuple[int, int | None] | None = None
    """The least and the greatest value of a number."""
    metavar: str | None = None
    multiple: bool = False
    flag: str | bool | None = None
    """The value that a flag stands for; None: the option is not a flag."""

    @property
    def name(self) -> str:
        return self.option.removeprefix("--").replace("-", "_")


# fmt: off
SHORT: Final = (
    Short("--depth", ("seeder.depth_static={}", "seeder.depth_dynamic={}"),
          "Fetch pages at most this many clicks below a seed, or below a page that another site links to.",
          (0, 254), "N"),
    Short("--include", ("seeder.accept+=[{}]",),
          "Follow only links whose URL contains a match of this regular expression; repeatable.", metavar="PATTERN",
          multiple=True),
    Short("--exclude", ("seeder.reject+=[{}]",),
          "Do not follow links whose URL contains a match of this regular expression; repeatable.", metavar="PATTERN",
          multiple=True),
    Short("--only-list", ("seeder.follow={}",), "Fetch only the URLs given, and where they redirect to.", flag="none"),
    Short("--only-sitemaps", ("seeder.follow={}",), "Fetch only the URLs given and what the sitemaps of their sites "
          "list.", flag="sitemaps"),
    Short("--continuous", ("manager.continuous={}",), "Do not end: fetch pages again, as often as they change, until "
          "the crawl is stopped.", flag=True),
    Short("--pace", ("harvester.pace={}",), "How long to wait between requests to a site.", metavar="polite|gentle"),
    Short("--mine", ("harvester.mine={}",), "Request sites that prove to be yours (`gossamer mine`) without waits.",
          flag=True),
    Short("--contact", ("harvester.contact={}",), "Mail address or Web page of the person who runs the crawl."),
    Short("--workers", ("harvester.workers={}",), "Worker processes; default: one per core.", (1, None)),
    Short("--bandwidth", ("harvester.bandwidth={}",), "Bytes per second to use at most (2MB/s); 0: no limit.",
          metavar="SPEED"),
)
# fmt: on


def changes_of(given: Mapping[str, Any], typed: Callable[[Short, Any], str] | None = None) -> list[str]:
    """The values of the options, by name, as `--set` would have them. `typed`: how a value was written, for errors."""
    from gossamer.config.values import write

    found, by = list[str](), dict[str, str]()
    for each in SHORT:
        value = given.get(each.name)
        if each.flag is not None:
            value = each.flag if value else None
        for one in value if each.multiple and value is not None else () if value is None else (value,):
            for change in each.sets:
                other = by.setdefault(change, each.option)
                if other != each.option:
                    raise UsageError(f"{other} and {each.option} cannot be combined", "Leave one of them out.")
                found.append(_checked(change.format(write(one)), typed(each, one) if typed else f"{each.option} {one}"))
    return found


def _checked(change: str, typed: str) -> str:
    """The change; what is wrong with it is told in the words that were typed."""
    from gossamer.config import Settings, override

    try:
        override(Settings(), (change,))
    except UsageError as error:
        raise UsageError(error.message.replace(f"--set {change}", typed), error.cure) from error
    return change

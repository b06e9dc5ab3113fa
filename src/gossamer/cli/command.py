"""What commands are made of: click's commands, options and arguments, with the sentence of each argument in `--help`
and with words for the completion of the shell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

Verb = TypeVar("Verb", bound=Callable[..., None])

_CLAUSE: Final = re.compile(r"[:;]|\. |, (?:and|so|or of)\b")
PATH: Final = click.Path(path_type=Path)


class Argument(click.Argument):
    """An argument with a sentence about it. click has none before 8.5."""

    def __init__(self, names: list[str], sentence: str, **more: Any) -> None:
        super().__init__(names, **more)
        self.sentence = sentence


class Command(click.Command):
    """A command whose `--help` has the sentences of its arguments too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        about = [(str(each.metavar), each.sentence) for each in self.params if isinstance(each, Argument)]
        if about:
            with formatter.section("Arguments"):
                formatter.write_dl(about)
        super().format_options(ctx, formatter)


class Group(click.Group):
    """Commands that are listed in the order given."""

    def __init__(self, name: str, commands: Iterable[click.Command], **more: Any) -> None:
        super().__init__(name, {each.name or "": each for each in commands}, no_args_is_help=True, **more)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def command(verb: Callable[..., None]) -> click.Command:
    """A command of the function's name; its docstring is the help, and its first clause stands in lists of commands."""
    short = _CLAUSE.split((verb.__doc__ or "").partition("\n\n")[0])[0]
    short = " ".join(short.split()).removesuffix(".") + "."
    return click.command(verb.__name__, cls=Command, short_help=short, context_settings={"show_default": True})(verb)


def argument(name: str, metavar: str, sentence: str, **more: Any) -> Callable[[Verb], Verb]:
    """An argument: a path unless another type is given."""
    if metavar.strip("[]") == "DIR":
        more = {"shell_complete": folders, **more}
    return click.argument(name, cls=Argument, metavar=metavar, sentence=sentence, **{"type": PATH, **more})


def flag(*names: str, help: str) -> Callable[[Verb], Verb]:
    return click.option(*names, is_flag=True, help=help)


unchecked: Final = flag("--unchecked", help="Do not compare files with their checksums before they are read.")


# --- what the shell completes: folders, and names that begin with what was typed ------------------------------------


def folders(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    return [CompletionItem(typed, type="dir")]


def settings_keys(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    from gossamer.config.values import known

    return _beginning(typed, (f"{key}=" for key in known()))


def strategies(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    from gossamer.manager.strategies import STRATEGIES

    return _beginning(typed, STRATEGIES)


def _beginning(typed: str, words: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(word) for word in words if word.startswith(typed)]

"""`gossamer completion`: what a shell needs to complete commands, options, settings and folders."""

from __future__ import annotations

import click

from gossamer.cli.command import argument, command


@command
@argument("shell", "SHELL", "bash, zsh or fish.", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL. For bash, ~/.bashrc may have: eval "$(gossamer completion bash)"."""
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    print(made(context.find_root().command, {}, "gossamer", "_GOSSAMER_COMPLETE").source())

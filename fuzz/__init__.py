"""Fuzzing: unlikely bytes as input for everything that reads data from others.

    python -m fuzz TARGET --minutes 10      search for inputs that break it; `all`: each target in turn
    python -m fuzz TARGET FILE…             try these inputs again

A *target* (`fuzz.targets`) has seeds, made by the generators of this repository, and a check: what must hold for any
bytes. The *hunt* (`fuzz.hunt`) mutates seeds (`fuzz.mutate`) and keeps mutants that reach new lines (`fuzz.lines`). It
runs in its own process (`fuzz.watch`), so that a crash of native code or a hang is a finding like any other. Findings
are written to a folder; once fixed, they are kept in `fuzz/once`, where tests try them forever.

Refused: atheris. It has no release for every version of Python that Gossamer supports, and stops at its first finding;
docs/decisions.md compares what the two reached in the same time.
"""

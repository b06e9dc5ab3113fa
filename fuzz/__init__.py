"""Fuzzing: bytes that nobody would send, at everything that reads what others send.

    python -m fuzz TARGET --minutes 10      look for inputs that break it; `all`: each target in turn
    python -m fuzz TARGET FILE…             try these inputs again

A *target* (`fuzz.targets`) has seeds, made by the generators of this repository, and a check: what must hold whatever
the bytes are. The *hunt* (`fuzz.hunt`) changes seeds (`fuzz.mutate`) and keeps the changed ones that reach lines not
reached before (`fuzz.lines`). It runs in a process of its own (`fuzz.watch`), so that a crash of native code or a hang
is a finding like any other. What is found is written to a folder, and once mended kept in `fuzz/once`: tests try it
forever.

Refused: atheris. It has no release for every version of Python that Gossamer runs on, and stops at its first finding;
see docs/decisions.md for what each of both reached in the same time.
"""

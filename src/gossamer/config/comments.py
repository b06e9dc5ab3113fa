"""The documentation of the settings, taken from the source of `settings.py`: written once, shown everywhere."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from gossamer.config import settings


@cache
def sentences(module: ModuleType = settings) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """For each class of a module: the paragraphs of each field, by name; "" is the class itself."""
    return {
        node.name: {"": _paragraphs(ast.get_docstring(node) or ""), **_fields(node)}
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ClassDef)
    }


def _fields(node: ast.ClassDef) -> dict[str, tuple[str, ...]]:
    """The string literal below a field documents the field."""
    return {
        field.target.id: _paragraphs(ast.literal_eval(text.value))
        for field, text in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr)
    }


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(each.split()) for each in text.split("\n\n"))

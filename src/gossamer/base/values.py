"""Frozen dataclasses from JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def from_keys(kind: type[T], json: Mapping[str, Any]) -> T:
    """A value of this dataclass from the keys that are its fields. Missing fields have their defaults; other keys are
    ignored: both let a program read what an earlier or a later version wrote."""
    return kind(**{field.name: json[field.name] for field in fields(kind) if field.name in json})

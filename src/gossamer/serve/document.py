"""The OpenAPI document of the API, made from the tables of questions and orders."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from gossamer import __version__
from gossamer.serve.answers import LONGEST
from gossamer.serve.question import Accepts, Field
from gossamer.serve.replies import API, Problem
from gossamer.serve.routes import FILES, ORDERS, PRIVATE, QUESTIONS
from gossamer.serve.subjects.overview import Overview

_FAILED: Final = ("400", "401", "403", "404", "405", "411", "413", "421", "422", "429", "500", "503")
"""Statuses of errors: all have the same form."""


def document() -> dict[str, Any]:
    """The OpenAPI document of the API."""
    given = [*(question.kind for question in QUESTIONS), *(order.kind for order in ORDERS), Overview, Problem]
    kinds = [kind for kind in dict.fromkeys(given) if kind is not None]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    by_kind = dict(zip(kinds, schemas, strict=True))
    failed = {
        "description": "What is wrong, and the cure.",
        "content": {"application/problem+json": {"schema": by_kind[Problem]}},
    }

    def operation(sentence: str, fields: list[dict[str, Any]], media: str, schema: Any, token: bool) -> dict[str, Any]:
        answered = {"description": sentence, "content": {media: {"schema": schema}}}
        about = {
            "summary": sentence,
            "parameters": fields,
            "responses": {"200": answered, **dict.fromkeys(_FAILED, failed)},
        }
        return about | ({"security": [{"token": []}]} if token else {})

    paths: dict[str, Any] = {
        f"{API}/collections": {
            "get": operation(
                "How the crawls of all collections stand.",
                [],
                "application/json",
                {"type": "array", "items": by_kind[Overview]},
                False,
            )
        }
    }
    for question in QUESTIONS:
        schema = by_kind.get(question.kind, {"type": "object"})
        schema = {"anyOf": [schema, {"type": "null"}]} if question.path in PRIVATE else schema
        fields = [_NAME, *map(_parameter, question.accepts)]
        asked = operation(question.sentence, fields, "application/json", schema, question.path in PRIVATE)
        paths[address(question.path)] = {"get": asked}
    for file in FILES:
        fields = [_NAME, *map(_parameter, file.accepts)]
        paths[address(file.path)] = {"get": operation(file.sentence, fields, file.media, {"type": "string"}, False)}
    for order in ORDERS:
        schema = by_kind.get(order.kind, {"type": "object"})
        about = operation(order.sentence, [_NAME, _KEY], "application/json", schema, True)
        paths[address(order.path)] = {"post": about | {"requestBody": _body(order.accepts)}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gossamer", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def address(path: str) -> str:
    """Where the API answers a question."""
    return f"{API}/collections/{{name}}{'/' if path else ''}{path}"


_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "An order that comes again under the same key is not carried out again: it gets the first answer.",
    "schema": {"type": "string", "maxLength": LONGEST},
}
_NAME: Final = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}


def _schema(field: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": field.kind}
    if field.among:
        schema["enum"] = list(field.among)
    if field.needed:
        schema["minLength"] = 1
    return schema


def _parameter(given: tuple[str, str] | Field) -> dict[str, Any]:
    field = Field(*given)
    about = {"name": field.name, "in": "query", "description": field.sentence, "schema": _schema(field)}
    return about | ({"required": True} if field.needed else {})


def _body(accepts: Accepts) -> dict[str, Any]:
    """The body of an order: a JSON object of texts."""
    fields = [Field(*given) for given in accepts]
    properties = {field.name: _schema(field) | {"description": field.sentence} for field in fields}
    schema = {"type": "object", "properties": properties, "required": [field.name for field in fields if field.needed]}
    return {"required": True, "content": {"application/json": {"schema": schema}}}

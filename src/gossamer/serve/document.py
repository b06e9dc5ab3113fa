"""The OpenAPI document of the API, made from the tables of questions and orders."""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer import __version__
from gossamer.serve.replies import API, Problem
from gossamer.serve.routes import ORDERS, QUESTIONS


def document() -> dict[str, Any]:
    """The OpenAPI document of the API, made from the tables above."""
    given = [*(question.kind for question in QUESTIONS), *(order.kind for order in ORDERS), Problem]
    kinds = [kind for kind in dict.fromkeys(given) if kind is not None]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    by_kind = dict(zip(kinds, schemas, strict=True))
    failed = {
        "description": "What is wrong, and the cure.",
        "content": {"application/problem+json": {"schema": by_kind[Problem]}},
    }
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}

    def operation(sentence: str, accepts: tuple[tuple[str, str], ...], kind: Any) -> dict[str, Any]:
        schema = by_kind.get(kind, {"type": "object"})
        chosen = [
            {
                "name": key,
                "in": "query",
                "description": text,
                "schema": {"type": "integer" if key in ("rows", "after") else "string"},
            }
            for key, text in accepts
        ]
        answered = {"description": sentence, "content": {"application/json": {"schema": schema}}}
        return {"summary": sentence, "parameters": [name, *chosen], "responses": {"200": answered, "default": failed}}

    paths: dict[str, Any] = {}
    for question in QUESTIONS:
        at = f"{API}/collections/{{name}}{'/' if question.path else ''}{question.path}"
        paths[at] = {"get": operation(question.sentence, question.accepts, question.kind)}
    for order in ORDERS:
        at = f"{API}/collections/{{name}}/{order.path}"
        paths[at] = {"post": operation(order.sentence, order.accepts, order.kind)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gossamer", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }

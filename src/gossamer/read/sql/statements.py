"""Decides which statements `gossamer sql` runs: queries that read the views, and nothing else.

DuckDB parses the text, and its tree is examined as a whole: since a CTE may contain COPY, INSERT, UPDATE or
DELETE, the type of the statement says nothing. What is not on these lists is refused: kinds of nodes and tables
(`KINDS`), of expressions (`CLASSES`), and table functions (`FUNCTIONS`). A name that could be a file is refused, and so
is every function that does more than compute a value. The text that is run is the text that was examined.

PIVOT without a list of values has no tree: DuckDB first looks the values up. Its text is examined with a list added
(`_pivoted`), which gives it a tree; and it must not contain a word that only statements that write have.

Invariants, each a test of the same name: every node of a query is examined; only queries are run; table functions that
are not known are refused; no nesting takes for ever.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, Final

import duckdb

from gossamer.base.errors import UsageError

KINDS: Final = frozenset(
    {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
    | {"BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "PIVOT", "SHOW_REF", "CTE"}
    | {"ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER"}
    | {"ORDER_DEFAULT", "ASCENDING", "DESCENDING"}
)
"""Kinds of nodes that are not expressions: queries, tables, and what modifies them."""
CLASSES: Final = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "LAMBDA"}
    | {"LAMBDA_REF", "OPERATOR", "PARAMETER", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE", "WINDOW"}
)
"""Classes of expressions. A parameter stands for a value."""
FUNCTIONS: Final = frozenset(
    {"unnest", "range", "generate_series", "repeat", "repeat_row", "json_each", "json_tree", "histogram"}
    | {"histogram_values", "summary", "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_tables"}
    | {"duckdb_types", "duckdb_views", "pg_timezone_names", "pragma_table_info", "pragma_version"}
)
"""Table functions that read neither files nor the state of other queries, and change nothing."""
REFUSED: Final = frozenset(
    {"write_log", "setseed", "setval", "nextval", "currval", "sleep_ms", "pg_sleep", "getenv", "getvariable"}
    | {"current_query", "json_execute_serialized_sql", "parse_duckdb_log_message", "which_secret"}
)
"""Functions of values that do more than compute one."""
SCHEMAS: Final = frozenset({"main", "stored", "information_schema", "pg_catalog", "temp", "memory", "system"})
_WRITING: Final = frozenset(
    {"copy", "insert", "update", "delete", "merge", "truncate", "create", "drop", "alter", "attach", "detach"}
    | {"install", "load", "pragma", "call", "export", "import", "vacuum", "checkpoint", "execute", "prepare"}
)
"""Words that a PIVOT without values must not contain outside quotation marks."""
_PLAIN: Final = re.compile(r"[^./\\:*?\[\]]*")
"""Names that DuckDB cannot take for a file."""
_EXPLAINED: Final = re.compile(r"\s*explain(?:\s+analyze\b|\s*\([\w\s,]*\))?(.*)", re.IGNORECASE | re.DOTALL)
"""Captures the explained statement. It allows no comment or text in between, which could hide something."""
_DEEPEST: Final = 6
"""Most CTEs within one another. DuckDB's parser takes six times as long for each further one, if an error is inside."""
_MARK: Final = "pivoted"
_LISTS: Final = 3
"""PIVOT is accepted with at most this many columns without values."""
_LONGEST: Final = 24
"""Maximum number of words and signs from ON to the last of them."""
PIVOT: Final = "Write the values of PIVOT: pivot visits on outcome in ('ok', 'timed_out') using count(*)"
CURE: Final = "The collection is never changed. To keep a result, redirect --csv or --json to a file."


def only_query(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """The only statement of the text, without its semicolon. UsageError if it is not a query, or does not only read;
    duckdb.Error if it cannot be parsed."""
    if (deep := _nesting(text)) > _DEEPEST:
        cure = "Write them side by side: with a as (select …), b as (select … from a) select … from b"
        raise UsageError(f"{deep} WITH are inside one another; at most {_DEEPEST} may be", cure)
    statements = connection.extract_statements(text)
    if len(statements) != 1:
        raise UsageError(f"{len(statements)} statements were given; give one query at a time")
    query, kind = statements[0].query.strip().rstrip(";"), statements[0].type
    explains = kind == duckdb.StatementType.EXPLAIN
    if explains:
        explained = _EXPLAINED.fullmatch(query)
        inner = _parsed(connection, explained[1]) if explained else []
        kind = inner[0].type if len(inner) == 1 else kind
    asked = inner[0].query if explains and len(inner) == 1 else query
    tree = _tree(connection, asked, kind)
    if tree is None and kind == duckdb.StatementType.MULTI:
        raise UsageError("only queries are run, and this one cannot be examined", PIVOT)
    if tree is None:
        refused = f"run, not {kind.name.lower().replace('_', ' ')} statements"
        raise UsageError(f"only queries are {'explained' if explains else refused}", CURE)
    for wrong in faults(tree):
        raise UsageError(f"only queries are run, and this one does more than read the views: {wrong}", CURE)
    return query


def _nesting(text: str) -> int:
    """How many WITH are inside one another at most, each in parentheses of its own."""
    within, deepest = [False], 0
    for word, _ in _tokens(text):
        if word == "with":
            within[-1] = True
            deepest = max(deepest, sum(within))
        elif word == "(":
            within.append(False)
        elif word == ")" and len(within) > 1:
            within.pop()
    return deepest


def _parsed(connection: duckdb.DuckDBPyConnection, text: str) -> list[Any]:
    try:
        return list(connection.extract_statements(text))
    except duckdb.Error:
        return []


def _tree(connection: duckdb.DuckDBPyConnection, text: str, kind: Any) -> Any:
    """The tree of a query; None if the statement is none."""
    kinds = duckdb.StatementType
    if kind == kinds.SELECT:
        return _serialized(connection, text)
    return _pivoted(connection, text) if kind == kinds.MULTI else None


def _serialized(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    ((raw,),) = connection.execute("select json_serialize_sql(?::varchar)", [text]).fetchall()
    tree = json.loads(str(raw))
    return None if tree["error"] or len(tree["statements"]) != 1 else tree


def _pivoted(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    """The tree of a PIVOT whose values DuckDB looks up, with a list of one value in each place where one is missing;
    None if this is no such statement."""
    tokens = list(_tokens(text))
    words = [word for word, _ in tokens]
    if not _WRITING.isdisjoint(words) or "pivot" not in words or "on" not in words:
        return None
    first = words.index("on", words.index("pivot")) + 1 if "on" in words[words.index("pivot") :] else len(words)
    ends = [end for _, end in tokens[first : first + _LONGEST]]
    for count in range(1, _LISTS + 1):
        for places in combinations(ends, count):
            tree = _serialized_or_none(connection, _with_lists(text, places))
            if tree is not None and _marks(tree) == count:
                return tree
    return None


def _with_lists(text: str, places: Sequence[int]) -> str:
    for place in reversed(places):
        text = f"{text[:place]} in ('{_MARK}') {text[place:]}"
    return text


def _serialized_or_none(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    try:
        return _serialized(connection, text)
    except duckdb.Error:
        return None


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """The words and signs of a statement, words in lower case, with the places where the next ones begin. Strings and
    comments are one sign each."""
    raw = text.encode()
    tokens = duckdb.tokenize(text)
    quoted = duckdb.token_type.string_const, duckdb.token_type.comment
    for (start, kind), (end, _) in pairwise([*tokens, (len(raw), None)]):
        piece = raw[start:end].decode(errors="replace")
        yield "" if kind in quoted else piece.strip().lower(), len(raw[:end].decode(errors="replace"))


def _marks(tree: Any) -> int:
    """How many PIVOTs of the tree have the value that was put in."""
    return sum(
        json.dumps(node.get("pivots")).count(f'"{_MARK}"') for node in _objects(tree) if node.get("type") == "PIVOT"
    )


def faults(tree: Any) -> Iterator[str]:
    """What a parsed query does besides reading views."""
    for node in _objects(tree):
        kind, of_class = node.get("type"), node.get("class")
        if of_class is not None and of_class not in CLASSES:
            yield f"{of_class}"
        elif of_class is None and isinstance(kind, str) and kind not in KINDS:
            yield kind.removesuffix("_NODE").removesuffix("_QUERY").lower()
        if kind in ("BASE_TABLE", "SHOW_REF"):
            yield from _no_view(node)
        if of_class is None and kind == "TABLE_FUNCTION":
            name = str(node["function"].get("function_name", ""))
            if name.lower() not in FUNCTIONS:
                yield f"{name}()"
        elif of_class == "FUNCTION" and str(node.get("function_name", "")).lower() in REFUSED:
            yield f"{node['function_name']}()"


def _no_view(node: Any) -> Iterator[str]:
    """The name of a table that may be a file, or is in another schema."""
    path = [str(part) for part in (node.get("qualified_name") or {}).get("path", [])]
    names = [*path, *(str(node.get(key, "")) for key in ("catalog_name", "schema_name", "table_name"))]
    if not all(_PLAIN.fullmatch(name) for name in names):
        yield f"the file {'.'.join(path) or names[-1]}"
    qualifiers = {str(node.get("catalog_name", "")), str(node.get("schema_name", "")), *path[:-1]} - {""}
    if not {q.lower() for q in qualifiers} <= SCHEMAS:
        yield f"the table {'.'.join(path)}"


def _objects(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of the tree."""
    left = [tree]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield one
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)

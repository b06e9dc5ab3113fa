"""What can be asked and ordered: the tables from which the pages, the API and its document are made.

Each question about a collection has a page at /c/NAME/… and an answer in JSON at /api/v1/collections/NAME/…; the page's
own address gives the same JSON to who asks for `application/json`. A new subject is a file in `subjects/`, and its rows
here and in `TABS` (`shell.py`).
"""

from __future__ import annotations

from typing import Final

from gossamer.serve.question import File, Order, Question
from gossamer.serve.subjects import changes, frontier, orders, overview, pages, sites, sql, watches

QUESTIONS: Final[tuple[Question, ...]] = (
    overview.QUESTION,
    frontier.QUESTION,
    sites.QUESTION,
    sites.ONE,
    pages.QUESTION,
    pages.ONE,
    pages.LINKS,
    pages.CONTENT,
    changes.QUESTION,
    watches.QUESTION,
    orders.QUESTION,
    sql.QUESTION,
)
FILES: Final[tuple[File, ...]] = (pages.COPY, changes.FEED, frontier.PLOT)
"""What is neither a page nor JSON, at the same two addresses."""
ORDERS: Final[tuple[Order, ...]] = (orders.ADD, orders.AGAIN, *orders.STEERING)
PRIVATE: Final = frozenset({sql.QUESTION.path})
"""Questions that need the token everywhere."""

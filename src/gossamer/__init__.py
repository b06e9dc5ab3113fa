"""Gossamer: a Web crawler that fetches the important pages first, politely, and never loses what it fetched."""

__version__ = "0.1.0"

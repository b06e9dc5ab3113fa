"""Extraction without code: rows of tables by rules of the settings, and from what pages say of themselves."""

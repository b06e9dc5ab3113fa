"""Limits on markup: finds pages that would cost the HTML parser too much, before it runs.

Three checks, each slower and more exact than the one before: `prefilter`, `fast`, `limits`. The last is the entry.
"""

"""Limits on markup: pages that would cost the HTML parser too much are found before it runs."""

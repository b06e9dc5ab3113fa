"""Fetching one URL: request, response, decoding, certificates."""

"""The gatherer: bytes become charset, title, cleaned text, links, digest, directives. Pure, in the worker."""

"""The gatherer: bytes become charset, title, text, language, sketch, links, digest, directives. Pure, in the worker."""

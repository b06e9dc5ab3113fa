"""The pool of worker processes, seen from the desk."""

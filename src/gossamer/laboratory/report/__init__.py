"""The report of a collection: what its Web is like, in the sections of chapter 8 of the thesis; alone or compared."""

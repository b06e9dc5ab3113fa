"""The site queue: which sites may be asked now, under all clocks of politeness."""

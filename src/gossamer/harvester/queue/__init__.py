"""The site queue: which sites may be requested now, under all rules of politeness."""

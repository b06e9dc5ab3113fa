"""The manager, long-term scheduling: which pages are worth fetching next (thesis 3.4, 7.2.1)."""

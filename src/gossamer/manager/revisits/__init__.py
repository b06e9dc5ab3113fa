"""Re-visits: how often pages change, and which copy is worth asking for again (thesis 2.1.2, 2.4.2, 3.4 and 7.2.1)."""

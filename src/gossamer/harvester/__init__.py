"""The harvester, short-term scheduling: which site is requested now (thesis 3.3, 7.2.2)."""

"""Webs to crawl on this machine (demonstration, hostile, simulated), and judges of a crawl of them (checker,
coverage)."""

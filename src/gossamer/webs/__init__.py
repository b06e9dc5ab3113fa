"""Webs to crawl on this machine: demonstration, hostile and simulated Webs, and the judges of a crawl of them."""

"""Errands: requests a site needs besides its pages: moved robots.txt files, sitemaps, probes for soft 404."""

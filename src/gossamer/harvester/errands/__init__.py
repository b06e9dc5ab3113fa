"""Errands: requests to a site for something other than its pages: moved robots.txt files, sitemaps, soft 404 probes."""

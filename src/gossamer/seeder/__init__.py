"""The seeder: links become pages. A whole tick at a time: known or new, within the limits, allowed by robots.txt."""

"""The subjects of the dashboard: of each, what is answered, its page, and its rows of the tables."""

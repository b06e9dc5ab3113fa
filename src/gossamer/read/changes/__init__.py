"""What became of pages, for people and programs: events with the lines that changed, as text, JSON, Atom and HTML."""

"""Sealed tables: segments in Parquet, their columns, and how a journal file becomes a segment."""

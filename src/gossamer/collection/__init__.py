"""The collection: all durable data, as a folder of files in open formats, and the desk's columns made from it."""

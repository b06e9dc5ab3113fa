"""The collection: all that is durable, as a folder of open files, and the desk's columns made from it."""

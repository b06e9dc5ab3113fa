"""The journal: records of effects, written before anything is applied."""

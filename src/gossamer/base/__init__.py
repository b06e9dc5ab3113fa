"""The lowest layer: values, outcomes, units, clocks, disk writes, errors. It imports nothing else of the project."""

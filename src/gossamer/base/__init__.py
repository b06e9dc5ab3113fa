"""What every other part rests on: values, outcomes, units, clocks, disk writes, errors. Imports nothing of the
project."""

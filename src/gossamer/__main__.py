"""`python -m gossamer`: the command line."""

from gossamer.cli import main

main()

"""`python -m toolhaft.cli` is `toolhaft`."""

from toolhaft.cli import main

main()

"""What not to do: each file has one fault, and `test_conformance.py` knows which."""

from toolhaft import lazy_tools

lazy_tools(__name__)

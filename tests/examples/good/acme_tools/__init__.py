"""Tools of Acme: one file each, imported when first asked for."""

from toolhaft import lazy_tools

lazy_tools(__name__)

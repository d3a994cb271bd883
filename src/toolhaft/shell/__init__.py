"""Reads a command line before it runs: what bash would execute, how far it may be trusted, which paths it names.

Pure text work: no process is started, no file is read, and nothing else of toolhaft is imported.
"""

from .classify import classify
from .output import Gap, Shown, fold_progress, shown_output
from .syntax import Command, Script, parse
from .verdict import Access, Level, PathUse, Verdict
from .words import Redirect, Word

__all__ = [
    "Access",
    "Command",
    "Gap",
    "Level",
    "PathUse",
    "Redirect",
    "Script",
    "Shown",
    "Verdict",
    "Word",
    "classify",
    "fold_progress",
    "parse",
    "shown_output",
]

"""The built-in tools: one file each, with one async function of the file's name; imported when first asked for.

The names below `TYPE_CHECKING` are for type checkers; while a program runs, the files of this folder are the list.
"""

from typing import TYPE_CHECKING

from toolhaft.discovery import lazy_tools

if TYPE_CHECKING:
    from toolhaft.tools.list_dir import list_dir as list_dir
    from toolhaft.tools.read_file import read_file as read_file
    from toolhaft.tools.submit import submit as submit
    from toolhaft.tools.write_file import write_file as write_file

lazy_tools(__name__)

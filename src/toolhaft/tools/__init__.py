"""The built-in tools: one file each, with one async function of the file's name; imported when first asked for.

The names below `TYPE_CHECKING` are for type checkers; while a program runs, the files of this folder are the list.
"""

from typing import TYPE_CHECKING

from toolhaft.discovery import lazy_tools

if TYPE_CHECKING:
    from toolhaft.tools.apply_patch import apply_patch as apply_patch
    from toolhaft.tools.bash import bash as bash
    from toolhaft.tools.bash_output import bash_output as bash_output
    from toolhaft.tools.delete_file import delete_file as delete_file
    from toolhaft.tools.edit_file import edit_file as edit_file
    from toolhaft.tools.find_files import find_files as find_files
    from toolhaft.tools.glob import glob as glob
    from toolhaft.tools.grep import grep as grep
    from toolhaft.tools.list_dir import list_dir as list_dir
    from toolhaft.tools.list_files import list_files as list_files
    from toolhaft.tools.memory import memory as memory
    from toolhaft.tools.read_file import read_file as read_file
    from toolhaft.tools.run_command import run_command as run_command
    from toolhaft.tools.search_code import search_code as search_code
    from toolhaft.tools.stop_bash import stop_bash as stop_bash
    from toolhaft.tools.submit import submit as submit
    from toolhaft.tools.todo import todo as todo
    from toolhaft.tools.undo_change import undo_change as undo_change
    from toolhaft.tools.update_file import update_file as update_file
    from toolhaft.tools.web_fetch import web_fetch as web_fetch
    from toolhaft.tools.write_file import write_file as write_file

lazy_tools(__name__)

"""Pure engines that change text: no file is read or written here, and nothing but text goes in and out.

`replace_exact` and `replace_tolerant` change one place of one text; `plan_patch` turns a patch into the changes of all
its files, or none; `unified_diff` and `edits_diff` show what was changed. What they will not do they refuse with an
`EditError`, a `ValueError`.
"""

from toolhaft.editing.diff import UnifiedDiff, edits_diff, unified_diff
from toolhaft.editing.exact import Edit, Replaced, replace_exact
from toolhaft.editing.patch_model import PatchError, PatchProblem
from toolhaft.editing.patch_plan import FileChange, plan_patch
from toolhaft.editing.placeholders import refuse_placeholder
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.editing.tolerant import replace_tolerant

__all__ = [
    "Edit",
    "EditError",
    "FileChange",
    "PatchError",
    "PatchProblem",
    "Reason",
    "Replaced",
    "UnifiedDiff",
    "edits_diff",
    "plan_patch",
    "refuse_placeholder",
    "replace_exact",
    "replace_tolerant",
    "unified_diff",
]

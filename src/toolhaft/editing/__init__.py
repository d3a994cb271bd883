"""Pure engines that change text: no file is read or written here, and nothing but text goes in and out.

`replace_exact` and `replace_tolerant` change one place of one text; `plan_patch` turns a patch into the changes of all
its files, or none; `unified_diff` and `edits_diff` show what was changed. What they will not do they refuse with an
`EditError`, a `ValueError`.

Names are imported from the module that has them (`editing.exact`, `editing.tolerant`, `editing.patch_plan`,
`editing.diff`), so that who writes a file loads no reader of patches.
"""

"""One rule for the indentation of a whole block, or none."""

import pytest

from toolhaft.editing.indentation import indent_rule


@pytest.mark.parametrize(
    ("pairs", "line", "after"),
    [
        ([("a", "    a"), ("  b", "      b")], "    c", "        c"),
        ([("    a", "a"), ("      b", "  b")], "        c", "    c"),
        ([("    a", "a")], "  c", None),
        ([("    a", "\ta"), ("        b", "\t\tb")], "            c", "\t\t\tc"),
        ([("    a", "\ta"), ("        b", "\t\tb")], "      c", "\t  c"),
        ([("        a", "\t\ta")], "            c", "\t\t\tc"),
        ([("  a", "\ta")], "    c", "\t\tc"),
        ([("\ta", "    a")], "\t\tc", "        c"),
        ([("\ta", "  a"), ("\t\tb", "    b")], "\t\t\tc", "      c"),
        ([("  a", "    a"), ("    b", "        b")], "      c", "            c"),
        ([("    a", "  a"), ("        b", "    b")], " c", None),
        ([("    a", "\ta")], "\tc", None),
        ([("     a", "\ta")], "c", None),
        ([("a", "  a"), ("b", "    b")], "c", None),
        ([("  a", "a"), ("  b", " b")], "c", None),
        ([(" \ta", "  a")], "c", None),
        ([("  a", "    a"), ("    b", "  b")], "c", None),
        ([], "  c", "  c"),
        ([("", "  ")], "  c", "  c"),
        ([("a", "    a")], "", ""),
        ([("    a", "a")], "   ", "   "),
        ([("    a", "\ta"), ("        b", "\t\tb")], "", ""),
    ],
)
def test_a_line_is_indented_as_the_block_is(pairs: list[tuple[str, str]], line: str, after: str | None):
    rule = indent_rule(pairs)

    assert (rule(line) if rule else None) == after

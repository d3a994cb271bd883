"""Lines that stand for text left out are found; ordinary code and prose are not taken for one."""

import pytest

from toolhaft.editing.placeholders import new_placeholder
from toolhaft.editing.refusal import EditError, Reason
from toolhaft.editing.tolerant import replace_tolerant

OLD = "def f():\n    a = 1\n    b = 2\n    c = 3\n    return a"


@pytest.mark.parametrize(
    "line",
    [
        "... rest unchanged",
        "# ... rest of the code unchanged",
        "    // ... existing code ...",
        "// rest of code",
        "# rest of the function",
        "/* ... remaining methods ... */",
        "<!-- rest of the page stays the same -->",
        "-- ... same as before",
        "[rest of file unchanged]",
        "(... other methods unchanged ...)",
        "{/* ... existing JSX ... */}",
        "# the remaining tests are unchanged",
        "// remaining methods stay the same",
        "…rest of file…",
        "# unchanged",
        "; omitted for brevity",
        "# ...",
        "//…",
    ],
)
def test_a_line_that_stands_for_others_is_found(line: str):
    assert new_placeholder(OLD, f"def f():\n{line}") == line.strip()


@pytest.mark.parametrize(
    "line",
    [
        "    ...",
        'print("loading existing files...")',
        "return the_rest",
        "# the rest of the world is described in chapter nine, which nobody has read",
        "The rest stays the same.",
        "# wait for the other thread",
        "x = [*rest]",
        "# keep the previous value",
        "# " + "rest unchanged ... " * 40,
        "## Existing tools",
        "",
    ],
)
def test_ordinary_lines_are_let_through(line: str):
    assert new_placeholder(OLD, f"def f():\n{line}") is None


def test_a_line_that_the_old_text_has_too_is_meant():
    assert new_placeholder("# ... rest unchanged\na", "# ... rest unchanged\nb") is None


def test_a_bare_commented_ellipsis_counts_only_where_text_goes_missing():
    assert new_placeholder("a", "a\n# ...\nb c d") is None


def test_a_replacement_with_one_is_refused_and_quoted():
    with pytest.raises(EditError, match="# rest of the function") as refused:
        replace_tolerant(OLD, OLD, "def f():\n    # rest of the function")

    assert refused.value.reason is Reason.PLACEHOLDER


@pytest.mark.parametrize(
    "line",
    [
        "# [rest of implementation]",
        "# [existing code]",
        "<!-- existing code -->",
        "// existing code",
        "// existing imports",
        "/* previous code here */",
        "# No changes below this line",
        "// no further changes",
        "# No other changes needed",
        "// (remaining methods)",
        "# <rest of file>",
        "// existing code here",
        "# Rest of the file",
        "# rest of the code goes here",
    ],
)
def test_a_bracket_or_the_bare_name_of_what_is_left_out_stands_for_it(line: str):
    assert new_placeholder(OLD, f"def f():\n{line}") == line.strip()


@pytest.mark.parametrize(
    "line",
    [
        "# Existing users stay logged in",
        "# The rest of the file is here for tests",
        "## Remaining work here",
        "# Remaining budget",
        "# existing sessions remain valid",
        "// other threads remain unaffected here",
        "# No changes are written until commit() is called",
        "# [existing] users only",
        "# Rest of the week is off",
        "## Existing code",
    ],
)
def test_a_sentence_with_a_subject_of_its_own_or_a_heading_is_let_through(line: str):
    assert new_placeholder(OLD, f"def f():\n{line}") is None

"""Every patch case: the files it must give, or a refusal."""

import json
from pathlib import Path

import pytest

from tests.editing.trees import patched
from toolhaft.editing.patch_model import PatchError

CASES = sorted((Path(__file__).parents[1] / "cases" / "patches").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_patch_gives_an_accepted_result_or_is_refused_where_that_is_accepted(path: Path):
    case = json.loads(path.read_text(encoding="utf-8"))

    try:
        result = {"after": patched(case["before"], case["patch"])}
    except PatchError:
        result = {"error": True}

    assert result in case["accept"]

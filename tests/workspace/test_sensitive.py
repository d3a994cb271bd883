"""Which names the default lists mean."""

import pickle

import pytest

from toolhaft.workspace.access import Access, FileRuleError
from toolhaft.workspace.sensitive import DEFAULT_PROTECTED_FILES, DEFAULT_SENSITIVE_FILES, matches


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        (".env", ".env"),
        ("deploy/prod/.env", ".env"),
        (".ENV", ".env"),
        (".env.local", ".env.*"),
        ("a/.env.production", ".env.*"),
        ("tls/server.PEM", "*.pem"),
        ("server.key", "*.key"),
        ("id_rsa", "id_*"),
        ("keys/id_ed25519.pub", "id_*"),
        (".netrc", ".netrc"),
        (".aws/credentials", ".aws/credentials"),
        ("home/.aws/credentials", ".aws/credentials"),
        (".ssh", ".ssh/**"),
        (".ssh/config", ".ssh/**"),
        ("home/.SSH/keys/deep/one", ".ssh/**"),
        (".ssh/.env.example", ".ssh/**"),
    ],
)
def test_secrets_are_sensitive_at_any_depth_and_in_any_case(path: str, pattern: str) -> None:
    assert matches(path, DEFAULT_SENSITIVE_FILES) == pattern


@pytest.mark.parametrize(
    "path",
    [
        ".",
        ".env.example",
        "a/.env.example",
        ".environment",
        "env",
        ".env/bin/python",
        "id_cards/list.txt",
        "hid_x",
        "pem",
        "credentials",
        ".aws/config",
        "aws/credentials",
        "x.aws/credentials",
        "ssh/config",
        "key.py",
        ".sshx/config",
    ],
)
def test_other_names_are_not(path: str) -> None:
    assert matches(path, DEFAULT_SENSITIVE_FILES) is None


@pytest.mark.parametrize("path", [".git", ".git/config", "sub/.git/hooks/pre-commit", ".GIT/HEAD"])
def test_a_git_folder_is_protected_wherever_it_is(path: str) -> None:
    assert matches(path, DEFAULT_PROTECTED_FILES) == ".git/**"


@pytest.mark.parametrize("path", [".gitignore", ".github/workflows/ci.yml", "git/config"])
def test_files_about_git_are_not(path: str) -> None:
    assert matches(path, DEFAULT_PROTECTED_FILES) is None


def test_the_last_pattern_that_applies_decides() -> None:
    assert matches("a.key", ["*.key", "!a.key"]) is None
    assert matches("a.key", ["!a.key", "*.key"]) == "*.key"


def test_a_star_does_not_reach_across_a_slash() -> None:
    assert matches("a/b/secret", ["a/*/secret"]) == "a/*/secret"
    assert matches("a/b/c/secret", ["a/*/secret"]) is None


def test_without_patterns_nothing_matches_and_two_stars_match_everything() -> None:
    assert matches(".env", ()) is None
    assert matches("any/thing", ["**"]) == "**"


def test_a_folder_pattern_of_several_names_needs_them_in_a_row() -> None:
    assert matches("x/a/b/c", ["a/b/**"]) == "a/b/**"
    assert matches("a/b", ["a/b/**"]) == "a/b/**"
    assert matches("a/x/b/c", ["a/b/**"]) is None


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        (".env", "**/.env"),
        ("a/b/.env", "**/.env"),
        ("config/x.yml", "config/**/*.yml"),
        ("app/config/a/b/x.yml", "config/**/*.yml"),
        ("secrets/a/b", "secrets/"),
        ("deep/secrets", "secrets/"),
        ("a/old/b/c", "a/**/b/**"),
        ("secrets/x", "/secrets/*"),
        ("secrets/x", "./secrets/*"),
    ],
)
def test_patterns_as_people_write_them_in_ignore_files_mean_the_same_here(path: str, pattern: str) -> None:
    assert matches(path, [pattern]) == pattern


@pytest.mark.parametrize(
    ("path", "pattern"),
    [("deep/secrets/x", "/secrets/*"), ("config/x.yaml", "config/**/*.yml"), ("b/x.yml", "a/**/x.yml")],
)
def test_a_pattern_reaches_no_further_than_it_says(path: str, pattern: str) -> None:
    assert matches(path, [pattern]) is None


def test_a_refusal_tells_its_rule_also_out_of_a_pickle() -> None:
    access = Access(read_only=False, sensitive_files=("*.key",), protected_files=("*.lock",))

    with pytest.raises(FileRuleError, match=r"'a.lock' is protected against changes \(pattern '\*.lock'\)") as raised:
        access.check_change("a.lock", "a.lock")

    copied = pickle.loads(pickle.dumps(raised.value))
    assert (copied.rule, copied.pattern, str(copied)) == ("protected_files", "*.lock", str(raised.value))

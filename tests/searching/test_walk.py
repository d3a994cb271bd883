"""Which files a search sees: links, circles, deep trees, hidden and sensitive names, and what it says of the rest."""

import asyncio
import os
import socket
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.searching.trees import Ripgrep, build, tree_of
from toolhaft.searching.glob import compile_glob
from toolhaft.searching.query import Query, Scope
from toolhaft.searching.results import Found, Reason
from toolhaft.searching.ripgrep import search
from toolhaft.searching.scan import scan, scan_names
from toolhaft.searching.tree import Listing, Tree


def by_both(root: Path, query: Query, *, withheld: tuple[str, ...] = ()) -> Found:
    tree = tree_of(root, withheld=lambda path: path.rpartition("/")[2] in withheld)
    fast = asyncio.run(search(query, tree, Ripgrep(root)))
    assert fast == scan(query, tree)
    return fast


def needle(root: Path, scope: Scope | None = None, *, withheld: tuple[str, ...] = ()) -> tuple[list[str], dict]:
    found = by_both(root, Query(pattern="needle", scope=scope or Scope()), withheld=withheld)
    return [file.path for file in found.files], {one.reason: (one.count, one.example) for one in found.unsearched}


def test_a_circle_of_links_ends_and_every_file_is_searched_once(tmp_path: Path) -> None:
    build(tmp_path, {"d/a.txt": "needle\n", "d/again": "->..", "d/e/up": "->../../d", "same": "->d"})

    assert needle(tmp_path) == (["d/a.txt"], {})


def test_a_link_is_followed_to_what_the_search_does_not_reach_otherwise(tmp_path: Path) -> None:
    build(
        tmp_path,
        {
            "src/in": "->../lib",
            "src/f": "->../lib/a.txt",
            "src/b.txt": "->../b.txt",
            "lib/a.txt": "needle\n",
            "lib/n/up": "->..",
            "b.txt": "needle",
        },
    )

    assert needle(tmp_path, Scope(path="src")) == (
        ["src/b.txt", "src/f", "src/in/a.txt"],
        {},
    )


def test_links_that_lead_outside_or_nowhere_are_counted_and_not_followed(tmp_path: Path) -> None:
    build(tmp_path / "out", {"secret.txt": "needle"})
    root = build(tmp_path / "root", {"dir": "->../out", "file": "->../out/secret.txt", "gone": "->nothing"})

    assert needle(root) == ([], {Reason.LINKED_OUT: (3, "dir")})


def test_a_link_to_ignored_or_sensitive_files_opens_nothing_it_should_not(tmp_path: Path) -> None:
    build(tmp_path, {"notes.txt": "->.env", ".env": "needle", "key.pem": "needle", "a.txt": "needle", "in": "->d"})

    files, left_out = needle(tmp_path, withheld=(".env", "key.pem"))

    assert files == ["a.txt"]
    assert left_out == {Reason.HIDDEN: (1, ".env"), Reason.SENSITIVE: (2, "key.pem"), Reason.LINKED_OUT: (1, "in")}


def test_sensitive_patterns_keep_ripgrep_from_reading_what_the_workspace_withholds(tmp_path: Path) -> None:
    build(
        tmp_path, {"key.pem": "needle", "s/.aws/credentials": "needle", "s/.aws/x": "needle", ".env.example": "needle"}
    )
    scope = Scope(include_hidden=True, sensitive=("*.pem", ".aws/credentials", ".env.*", "!.env.example"))

    assert needle(tmp_path, scope, withheld=("key.pem", "credentials")) == (
        [".env.example", "s/.aws/x"],
        {Reason.SENSITIVE: (2, "key.pem")},
    )


def test_a_tree_of_a_thousand_folders_is_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    depth = 1_000
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    Path("deep.txt").write_text("needle", encoding="utf-8")

    os.chdir(tmp_path)
    found = scan(Query(pattern="needle"), tree_of(Path()))
    os.chdir("d/" * depth)

    os.unlink("deep.txt")
    for _ in range(depth):  # by hand: pytest removes folders by a recursion of its own
        os.chdir("..")
        os.rmdir("d")
    assert [file.path for file in found.files] == ["d/" * depth + "deep.txt"]


def test_hidden_and_ignored_entries_are_counted_by_the_folder(tmp_path: Path) -> None:
    build(
        tmp_path,
        {
            ".gitignore": "node_modules/\n*.log\n",
            "node_modules/a/b.js": "needle",
            "node_modules/c.js": "needle",
            "x.log": "needle",
            ".github/w.yml": "needle",
            "a.txt": "needle",
        },
    )

    assert needle(tmp_path) == (
        ["a.txt"],
        {Reason.IGNORED: (2, "node_modules/"), Reason.HIDDEN: (2, ".github/")},
    )
    everything = needle(tmp_path, Scope(include_hidden=True, include_ignored=True))
    assert everything == ([".github/w.yml", "a.txt", "node_modules/a/b.js", "node_modules/c.js", "x.log"], {})


def test_git_itself_is_never_searched(tmp_path: Path) -> None:
    build(tmp_path, {".git/config": "needle", "sub/.git": "needle", "a": "needle"})

    assert needle(tmp_path, Scope(include_hidden=True)) == (["a"], {Reason.HIDDEN: (2, ".git/")})


@pytest.mark.parametrize("start", ["build", "build/x.log", "a/.hid"])
def test_what_is_named_as_the_path_is_searched_though_it_is_ignored_or_hidden(tmp_path: Path, start: str) -> None:
    build(
        tmp_path, {".gitignore": "build/\n*.log\n", "build/x.log": "needle", "build/y": "needle", "a/.hid/f": "needle"}
    )

    files, _ = needle(tmp_path, Scope(path=start))

    assert files == {"build": ["build/y"], "build/x.log": ["build/x.log"], "a/.hid": ["a/.hid/f"]}[start]


def test_ignore_files_above_the_start_hold_and_those_above_the_root_do_not(tmp_path: Path) -> None:
    build(tmp_path, {".gitignore": "*\n", ".ignore": "*\n"})
    root = build(
        tmp_path / "root",
        {
            ".gitignore": "*.log\n/top\n",
            "p/.gitignore": "/q/gone\n",
            "p/q/a.log": "needle",
            "p/q/gone": "needle",
            "p/q/top": "needle",
        },
    )

    assert needle(root, Scope(path="p/q")) == (["p/q/top"], {Reason.IGNORED: (2, "p/q/a.log")})
    assert needle(root) == (["p/q/top"], {Reason.IGNORED: (2, "p/q/a.log"), Reason.HIDDEN: (2, ".gitignore")})


def test_devices_are_counted_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        build(tmp_path, {"zero": "->/dev/zero", "p": "->pipe", "a": "needle"})

        assert needle(tmp_path) == (["a"], {Reason.LINKED_OUT: (1, "zero"), Reason.NOT_A_FILE: (3, "p")})


def test_what_an_ordinary_user_may_not_read_is_counted(tmp_path: Path) -> None:
    build(tmp_path, {"nope/a": "needle", "shut": "needle", "a": "needle"})
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    (tmp_path / "nope").chmod(0)
    (tmp_path / "shut").chmod(0)

    said = as_nobody(lambda: needle(tmp_path))

    (tmp_path / "nope").chmod(0o700)
    assert said == "(['a'], {<Reason.UNREADABLE: 'unreadable'>: (2, 'nope/')})"


def as_nobody(work: Callable[[], object]) -> str:
    """Give the repr of what `work` returns in a child that is no super-user."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.chdir("/")  # this checkout may lie where nobody may look
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(write, repr(work()).encode())
        except BaseException:  # noqa: BLE001  # the child must not run on as a second test session
            os.write(write, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def test_a_name_that_is_not_utf8_is_searched_and_shown(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("needle")

    assert needle(tmp_path) == ([os.fsdecode(b"caf\xe9.txt")], {})


def test_a_file_pattern_decides_what_is_searched_and_what_is_counted(tmp_path: Path) -> None:
    names = ["a.py", "b.js", "src/c.py", "src/.d.py", "x.log", "src/deep/e.py", "src/{f}.py"]
    build(tmp_path, {".gitignore": "*.log\nsrc/deep\n", **dict.fromkeys(names, "needle")})

    def searched(pattern: str) -> tuple[list[str], dict]:
        return needle(tmp_path, Scope(files=compile_glob(pattern, commas=True)))

    assert searched("*.py") == (
        ["a.py", "src/c.py", "src/{f}.py"],
        {Reason.HIDDEN: (1, "src/.d.py"), Reason.IGNORED: (1, "src/deep/")},
    )
    assert searched("src/*.py,*.js")[0] == ["b.js", "src/c.py", "src/{f}.py"]
    assert searched("src/\\{f\\}.py")[0] == ["src/{f}.py"]
    assert searched(".*.py")[0] == ["src/.d.py"]
    assert searched("**/*.{js,log}") == (["b.js"], {Reason.IGNORED: (2, "src/deep/")})


def test_a_search_that_is_not_recursive_stays_in_its_folder(tmp_path: Path) -> None:
    build(tmp_path, {"a": "needle", "d/b": "needle", "l": "->d"})

    assert needle(tmp_path, Scope(recursive=False)) == (["a"], {})


@pytest.mark.parametrize("engine", ["fast", "plain"])
def test_a_start_that_is_not_there_is_an_error_of_the_caller(tmp_path: Path, engine: str) -> None:
    query = Query(pattern="x", scope=Scope(path="nothing"))
    tree = tree_of(tmp_path)

    with pytest.raises(FileNotFoundError, match="nothing"):
        scan(query, tree) if engine == "plain" else asyncio.run(search(query, tree, Ripgrep(tmp_path)))


def test_names_are_listed_with_links_and_hidden_names_where_the_pattern_names_them(tmp_path: Path) -> None:
    files = {
        ".gitignore": "*.log\n",
        "a.env": "",
        ".env": "",
        "d/.env.x": "",
        "x.log": "",
        "key.pem": "",
        "l.env": "->a.env",
    }
    build(tmp_path, {**files, "in": "->../nowhere"})
    tree = tree_of(tmp_path, withheld=lambda path: path.endswith((".env", ".pem")))

    named, _ = scan_names(Scope(files=compile_glob("*.env*")), tree)
    every, left_out = scan_names(Scope(), tree)
    one, _ = scan_names(Scope(path="a.env"), tree)

    assert sorted(named) == [".env", "a.env", "d/.env.x", "l.env"]
    assert every == []
    assert {one.reason: one.count for one in left_out} == {
        Reason.IGNORED: 1, Reason.HIDDEN: 3, Reason.SENSITIVE: 3, Reason.LINKED_OUT: 1,
    }  # fmt: skip
    assert one == ["a.env"]


def test_a_link_above_the_start_and_links_left_out_by_name_are_counted(tmp_path: Path) -> None:
    files = {
        "src/up": "->..",
        "src/in/me": "->../../src/in",
        "src/.l": "->../a",
        "src/in/x": "->../../key",
        "key": "needle",
    }
    build(tmp_path, {**files, "a": "needle", "src/in/b": "needle"})

    assert needle(tmp_path, Scope(path="src/in"), withheld=("key",)) == (
        ["src/in/b"],
        {Reason.SENSITIVE: (1, "src/in/x")},
    )
    assert needle(tmp_path, Scope(path="src"), withheld=("key",)) == (
        ["src/in/b"],
        {Reason.HIDDEN: (1, "src/.l"), Reason.SENSITIVE: (1, "src/in/x"), Reason.LINKED_OUT: (1, "src/up/")},
    )


def test_a_folder_that_cannot_be_listed_is_counted(tmp_path: Path) -> None:
    tree = tree_of(build(tmp_path, {"a": "needle", "d/b": "needle"}))

    def listed(path: str) -> Listing:
        if path == "d":
            raise PermissionError(path)
        return tree.scan(path)

    found = scan(Query(pattern="needle"), Tree(scan=listed, open=tree.open, resolve=tree.resolve))

    assert [file.path for file in found.files] == ["a"]
    assert [(entry.reason, entry.example) for entry in found.unsearched] == [(Reason.UNREADABLE, "d/")]


def test_two_links_to_one_place_are_followed_once_and_only_where_the_pattern_is_about_them(tmp_path: Path) -> None:
    files = {
        "s/a.py": "->../lib/x",
        "s/b.py": "->../lib/x",
        "s/c.js": "->../lib/x",
        "s/d1": "->../lib",
        "s/d2": "->../lib",
    }
    build(tmp_path, {**files, "lib/x": "needle", "lib/y.py": "needle"})

    assert needle(tmp_path, Scope(path="s", files=compile_glob("*.py"))) == (["s/a.py", "s/d1/y.py"], {})


def test_a_listing_that_is_kept_answers_any_number_of_different_searches(tmp_path: Path) -> None:
    """What it remembers of them is bounded; that it forgets changes no answer."""
    tree = tree_of(build(tmp_path, {"a.py": "needle", "b.key3": "needle", "d/c.txt": "needle"}))
    kept = {path: tree.scan(path) for path in (".", "d")}
    keeping = Tree(scan=kept.__getitem__, open=tree.open, resolve=tree.resolve)
    scopes = [Scope(sensitive=(f"*.key{number}", "*.py"), include_hidden=number > 4) for number in range(9)]

    for scope in scopes * 2:
        query = Query(pattern="needle", scope=scope)
        assert scan(query, keeping) == scan(query, tree)
    assert len(kept["."].quiet) < len(scopes)

"""Nothing leads out of a root, and everything inside can be reached."""

import errno
import os
import stat
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.path_cases import swapping
from toolhaft.workspace import PathTraversalError, beneath, kernel, validate_path
from toolhaft.workspace.beneath import O_PATH, Root

STRESS = 10 if os.environ.get("TOOLHAFT_STRESS") else 1


@pytest.fixture
def root(tmp_path: Path) -> Root:
    folder = tmp_path / "ws"
    (folder / "d" / "e").mkdir(parents=True)
    (folder / "d" / "e" / "a.txt").write_text("deep")
    (folder / "a.txt").write_text("top")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.txt").write_text("SECRET")
    return Root(folder)


def link(root: Root, name: str, target: str) -> None:
    os.symlink(target, os.path.join(root.given, name))


def read(root: Root, path: str) -> str:
    opened = root.open(path, os.O_RDONLY)
    with open(opened.fd) as file:
        return f"{opened.path}: {file.read()}"


@pytest.fixture(autouse=True)
def no_descriptor_is_left_open() -> Generator[None]:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    yield

    assert before == (len(os.listdir("/proc/self/fd")) if before else 0)


@pytest.mark.parametrize("path", ["d/e/a.txt", "./d//e/./a.txt", "d/../d/e/a.txt", "d/e/../e/a.txt"])
def test_a_path_inside_is_opened_and_its_real_path_known(root: Root, resolver: str, path: str) -> None:
    assert read(root, path) == "d/e/a.txt: deep"


def test_an_absolute_path_inside_is_opened_under_either_name_of_the_root(root: Root, resolver: str) -> None:
    alias = f"{root.given}-alias"
    os.symlink(root.given, alias)
    aliased = Root(alias)

    for path in (f"{root.given}/d/e/a.txt", f"{alias}/d/e/a.txt", f"/{root.given}/./d/e//a.txt"):
        assert read(aliased, path) == "d/e/a.txt: deep"
    with pytest.raises(PathTraversalError):
        root.open(f"{alias}/d/e/a.txt", os.O_RDONLY)


@pytest.mark.parametrize("target", ["d/e", "./d/e/", "{root}/d/e", "d/../d/e", "{root}/d/./e/", "l2", "d/up/e"])
def test_links_that_stay_inside_work_absolute_ones_too(root: Root, resolver: str, target: str) -> None:
    link(root, "l2", f"{root.given}/d/e")
    link(root, "d/up", "../d")
    link(root, "ln", target.format(root=root.given))

    assert read(root, "ln/a.txt") == "d/e/a.txt: deep"


@pytest.mark.parametrize(
    "target",
    [
        "../out",
        "{out}",
        "/",
        "/proc/self/root{out}",
        "/proc/self/cwd",
        "../ws/../out",
        "d/../../out",
        "{root}/../out",
        "{root}-x/../out",
        "l2",
    ],
)
@pytest.mark.parametrize("rest", ["secret.txt", "../out/secret.txt", ".", ""])
def test_links_that_lead_out_are_refused_without_saying_where(
    root: Root, resolver: str, target: str, rest: str
) -> None:
    out = os.path.join(os.path.dirname(root.given), "out")
    os.mkdir(f"{root.given}-x")
    link(root, "l2", out)
    link(root, "ln", target.format(root=root.given, out=out))

    with pytest.raises(PathTraversalError) as refused:
        root.open(os.path.join("ln", rest), os.O_RDONLY)

    assert "workspace" in str(refused.value)
    assert out not in str(refused.value)


@pytest.mark.parametrize("path", ["..", "../out/secret.txt", "d/../..", "../ws/a.txt", "d/e/../../../ws/a.txt"])
def test_dot_dot_may_not_leave_the_root_not_even_to_come_back(root: Root, resolver: str, path: str) -> None:
    with pytest.raises(PathTraversalError, match="climbs above the workspace root"):
        root.open(path, os.O_RDONLY)


def test_dot_dot_after_a_link_is_the_parent_of_what_the_link_leads_to(root: Root, resolver: str) -> None:
    (Path(root.given) / "d" / "a.txt").write_text("kernel")
    link(root, "ln", "d/e")

    assert read(root, "ln/../a.txt") == "d/a.txt: kernel"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("nope", FileNotFoundError),
        ("nope/../a.txt", FileNotFoundError),
        ("a.txt/", NotADirectoryError),
        ("a.txt/.", NotADirectoryError),
        ("a.txt/b", NotADirectoryError),
        ("a.txt/../a.txt", NotADirectoryError),
        ("", ValueError),
        ("a\0.txt", ValueError),
        ("\ud800", ValueError),
        ("x" * 300, OSError),
        ("a/" * 3000, OSError),
    ],
)
def test_a_path_to_nothing_is_a_clear_error_with_the_path_as_given(
    root: Root, resolver: str, path: str, error: type[Exception]
) -> None:
    with pytest.raises(error) as raised:
        root.open(path, os.O_RDONLY)

    assert not isinstance(raised.value, UnicodeError)
    assert repr(path) in str(raised.value)


def test_a_name_that_is_not_utf_8_can_be_opened(root: Root, resolver: str) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (Path(root.given) / name).write_text("latin")

    assert read(root, name) == f"{name}: latin"


def test_forty_links_are_followed_and_not_one_more(root: Root, resolver: str) -> None:
    link(root, "l0", "a.txt")
    for number in range(1, 41):
        link(root, f"l{number}", f"l{number - 1}")

    assert read(root, "l39") == "a.txt: top"
    with pytest.raises(OSError, match="symbolic links") as loop:
        root.open("l40", os.O_RDONLY)
    assert loop.value.errno == errno.ELOOP


def test_a_loop_of_absolute_links_ends(root: Root, resolver: str) -> None:
    link(root, "one", f"{root.given}/two")
    link(root, "two", f"{root.given}/one")

    with pytest.raises(OSError, match="symbolic links"):
        root.open("one", os.O_RDONLY)


def test_the_root_of_the_machine_is_a_root_too(root: Root, resolver: str) -> None:
    machine = Root("/")

    assert read(machine, f"{root.given}/d/e/a.txt").endswith("d/e/a.txt: deep")
    with pytest.raises(PathTraversalError):
        machine.open("..", os.O_RDONLY)


@pytest.mark.skipif(sys.platform != "linux", reason="magic links are those of Linux's /proc")
def test_the_jump_of_a_magic_link_is_never_taken(root: Root, resolver: str) -> None:
    """`/proc/self/fd/N` leads to an open file, wherever it is; it is refused, or followed as the text it shows."""
    secret = Path(root.given).parent / "out" / "secret.txt"

    with secret.open() as file, pytest.raises(OSError, match="self/fd") as refused:
        Root("/proc").open(f"self/fd/{file.fileno()}", os.O_RDONLY)

    assert refused.value.errno in (errno.ELOOP, None)


def test_a_removed_file_keeps_its_real_path(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is removed while it is being opened is still judged by its own name."""
    through_kernel = beneath.open_beneath

    def open_and_lose(path: str, flags: int, *, dir_fd: int) -> int:
        fd = through_kernel(path, flags, dir_fd=dir_fd)
        os.unlink(path, dir_fd=dir_fd)
        return fd

    monkeypatch.setattr(beneath, "open_beneath", open_and_lose)

    assert read(root, "a.txt") == "a.txt: top"


def test_without_proc_the_real_path_comes_from_the_walk(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    link(root, "ln", "d/e/a.txt")
    readlink = os.readlink

    def no_proc(path: str, *, dir_fd: int | None = None) -> str:
        return readlink("/nothing/here" if path.startswith("/proc/") else path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", no_proc)

    assert read(root, "ln") == "d/e/a.txt: deep"


def test_a_descriptor_for_metadata_alone_needs_no_permission_and_waits_for_nothing(root: Root, resolver: str) -> None:
    os.mkfifo(os.path.join(root.given, "fifo"))

    opened = root.open("fifo", O_PATH)

    assert stat.S_ISFIFO(os.fstat(opened.fd).st_mode)
    os.close(opened.fd)


@pytest.mark.usefixtures("no_kernel_calls")
def test_a_kernel_without_the_calls_says_so(root: Root, tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)

    calls: list[Callable[[], object]] = [
        lambda: kernel.open_beneath("x", os.O_RDONLY, dir_fd=fd),
        lambda: kernel.rename_new("x", "y", dir_fd=fd),
        lambda: kernel.exchange("x", "y", dir_fd=fd),
    ]
    for call in calls:
        with pytest.raises(OSError, match="not implemented"):
            call()
    os.close(fd)

    assert read(root, "d/e/a.txt") == "d/e/a.txt: deep"


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("d/e/nope/x", "d/e/nope/x"),
        ("ln/nope", "d/e/nope"),
        ("ln/..", "d"),
        ("dangling/..", "."),
        ("nope/../a.txt", "a.txt"),
        (".", "."),
    ],
)
def test_a_real_path_keeps_missing_names(root: Root, path: str, real: str) -> None:
    link(root, "ln", "d/e")
    link(root, "dangling", "gone")

    assert root.realpath(path) == os.path.realpath(os.path.join(root.given, path))
    assert root.realpath(path) == os.path.normpath(os.path.join(root.real, real))


def test_validate_path_answers_the_real_path_in_the_type_it_was_given(root: Root) -> None:
    link(root, "ln", f"{root.given}/d/e")

    assert validate_path("ln/a.txt", root.given) == f"{root.real}/d/e/a.txt"
    assert validate_path(Path("ln/a.txt"), Path(root.given)) == Path(root.real, "d/e/a.txt")
    with pytest.raises(PathTraversalError):
        validate_path("../out", root.given)
    with pytest.raises(PathTraversalError, match="absolute path outside"):
        validate_path(Path("/etc/passwd"), root.given)


def test_a_name_that_keeps_turning_into_a_link_is_an_error_in_the_end(
    root: Root, monkeypatch: pytest.MonkeyPatch, resolver: str
) -> None:
    monkeypatch.setattr(beneath, "_open_unless_link", lambda place, flags: None)
    link(root, "ln", f"{root.given}/a.txt")

    with pytest.raises(OSError, match="kept changing into a link"):
        root.open("ln", os.O_RDONLY)


def test_what_vanishes_while_it_is_walked_is_not_found(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    link(root, "ln", "d")
    readlink = os.readlink

    def vanished(path: str, *, dir_fd: int | None = None) -> str:
        os.unlink(path, dir_fd=dir_fd)
        return readlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", vanished)

    with pytest.raises(FileNotFoundError, match="ln/a"), root.locate("ln/a.txt"):
        pass


def test_what_became_a_link_after_the_walk_is_never_opened(root: Root) -> None:
    link(root, "ln", "../out/secret.txt")

    with root.locate("ln", follow_last=False) as place:
        for flags in (os.O_RDONLY, O_PATH):
            assert beneath._open_unless_link(place, flags) is None


def test_an_attacker_who_swaps_folders_and_links_gets_nothing_out_of_ten_thousand_opens(
    root: Root, resolver: str
) -> None:
    """100,000 in a stress run; enough of them succeed for the race to be a real one."""
    out = Path(root.given).parent / "out"
    (out / "e").mkdir()
    (out / "e" / "a.txt").write_text("SECRET")
    link(root, "evil", str(out))
    link(root, "evil.txt", str(out / "secret.txt"))
    succeeded = refused = 0

    with swapping(Path(root.given), "d", "evil", "a.txt", "evil.txt"):
        for number in range(10_000 * STRESS):
            try:
                assert read(root, ("a.txt", "d/e/a.txt")[number % 2]).endswith((": top", ": deep"))
                succeeded += 1
            except OSError:
                refused += 1

    assert succeeded > 100
    assert refused > 100

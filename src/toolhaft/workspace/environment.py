"""The environment of a command: rebuilt from nothing, so that no token or key of ours is in it.

It has the search path, the language and the places of toolchains of ours; home, caches and temporary files lie
in the commands' own private folder. A caller adds what decides no program's code.
"""

import os
import re
from collections.abc import Mapping, Sequence

# Neither secret nor able to run code that PATH could not run: language, places of toolchains and of certificates.
_PASSED = re.compile(
    r"""PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|JAVA_HOME|GOROOT|RUSTUP_HOME|PYENV_ROOT|NVM_DIR|VIRTUAL_ENV|CONDA_PREFIX
|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|PIP_CERT""",
    re.X,
)
# Toolchains that look for themselves in the home folder, which a command does not see as its own.
_TOOLCHAINS = {"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm"}
# What makes a program run or load something else than it would.
_REFUSED = re.compile(
    r"""PATH|HOME|SHELL|TMPDIR|IFS|ENV|BASH_.*|BASHOPTS|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|ZDOTDIR|CDPATH|GLOBIGNORE
|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|GLIBC_TUNABLES|MALLOC_.*|OPENSSL_CONF|OPENSSL_MODULES|OPENSSL_ENGINES
|PYTHON(?!DONTWRITEBYTECODE|UNBUFFERED|HASHSEED|IOENCODING|UTF8|FAULTHANDLER|TRACEMALLOC|NOUSERSITE|SAFEPATH).*
|PERL.*|RUBY(?:OPT|LIB)|GEM_(?:HOME|PATH)|BUNDLE_.*|NODE_(?:OPTIONS|PATH)|NPM_CONFIG_.*|npm_config_.*
|_?JAVA_(?:TOOL_)?OPTIONS|JDK_.*|CLASSPATH|(?:MAVEN|GRADLE|SBT|ANT)_(?:OPTS|ARGS)|LUA_.*|PHP(?:RC|_INI_SCAN_DIR)
|DOTNET_STARTUP_HOOKS|CORECLR_.*|RUSTC.*|RUSTDOC|CARGO_(?:HOME|BUILD_.*|TARGET_.*)|GOFLAGS|GOTOOLCHAIN|MAKEFLAGS|GNUMAKEFLAGS|MAKEFILES|PIP_CONFIG_FILE
|GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT|OPTIONAL_LOCKS|CEILING_DIRECTORIES).*|SSH_.*|GNUPGHOME|XDG_.*
|(?:.*_)?(?:PAGER|EDITOR|ASKPASS|BROWSER|PRELOAD)|VISUAL|LESS(?:OPEN|CLOSE|KEY.*)|TAR_OPTIONS|RIPGREP_CONFIG_PATH|VIMINIT|EXINIT|WGETRC|CURL_HOME""",
    re.X,
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.A)


def scrubbed(
    host: Mapping[str, str], *, private: str, env: Mapping[str, str], pass_env: Sequence[str] = ()
) -> dict[str, str]:
    """Return the environment of a command.

    `private` is the folder of its home and temporary files as the command sees it; `env` adds to the rest; `pass_env`
    names what else of `host` passes and what `env` may set although it decides what runs.
    Raises `ValueError` for a name in `env` that is none or that is refused.
    """
    check_env(env, pass_env)
    passed = {name: value for name, value in host.items() if _PASSED.fullmatch(name) or name in pass_env}
    home = host.get("HOME") or os.path.expanduser("~")
    toolchains = {name: os.path.join(home, place) for name, place in _TOOLCHAINS.items()}
    own_home = os.path.join(private, "home")
    return {
        "PATH": os.defpath,
        **{name: path for name, path in toolchains.items() if os.path.isdir(path)},
        **{name: host[name] for name in ("USER", "LOGNAME") if name in host},
        "HOME": own_home,
        "TMPDIR": private,
        "XDG_CACHE_HOME": os.path.join(own_home, ".cache"),
        "PIP_CACHE_DIR": os.path.join(own_home, ".cache", "pip"),
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        **passed,
        **env,
    }


def check_env(env: Mapping[str, str], pass_env: Sequence[str] = ()) -> None:
    """Raise `ValueError` for a name that is none or that is refused, unless `pass_env` has it."""
    for name, value in env.items():
        _check(name, value, pass_env)


def is_text(text: str) -> bool:
    """Whether a process can be given this text: half of a surrogate pair has no bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(name: str, value: str, pass_env: Sequence[str]) -> None:
    if not _NAME.fullmatch(name) or "\0" in value or not is_text(value):
        raise ValueError(
            f"{name!r} cannot be set in the environment: a name is letters, digits and '_', and a value holds no NUL "
            "and no half of a surrogate pair. Give it another name, or write the value to a file."
        )
    if _REFUSED.fullmatch(name) and name not in pass_env:
        raise ValueError(
            f"the environment variable {name!r} is refused: it decides which code a program runs or loads. "
            "Set it inside the command, where it is judged with it, or let whoever set up the workspace add it to "
            "pass_env."
        )

"""Known build, test and lint tools: they run the project's own code and write what they build, no more than that."""

from __future__ import annotations

import re
from typing import NamedTuple

from .environment import matters
from .options import names, read_options
from .words import Word


class Tool(NamedTuple):
    """A development tool; `commands` are the sub-commands that are development, None when all calls are."""

    commands: frozenset[str] | None = None
    never: frozenset[str] = frozenset()  # options that make it run or load what is not the project's
    values: frozenset[str] = frozenset()
    single_dash: bool = False
    bare: bool = False  # also without a sub-command
    each: bool = False  # every operand is a sub-command: `mvn clean test`
    excluded: frozenset[str] = frozenset()  # sub-commands that are not development

    def refusal(self, words: tuple[Word, ...]) -> str | None:
        """Why this call is not plain development; None when it is."""
        options = read_options(words, self.values | self.never, single_dash=self.single_dash)
        if option := options.has(self.never):
            return f"option {option!r} makes it run something else"
        if any("://" in word.text or word.text.startswith("git+") for word in options.operands):
            return "it takes something from an address"
        if options.operands and options.operands[0].text in self.excluded:
            return f"{options.operands[0].text!r} is not development"
        if self.commands is None:
            return None
        if not options.operands:
            return None if self.bare else "without a sub-command"
        if self.each:
            odd = (word.text for word in options.operands if not (word.known and _goal(word.text) in self.commands))
            return next((f"{text!r} is not development" for text in odd), None)
        first = options.operands[0]
        # cargo takes the toolchain first: `cargo +nightly test`
        if first.text.startswith("+") and len(options.operands) > 1:
            first = options.operands[1]
        return None if first.known and first.text in self.commands else f"{first.text!r} is not development"


def _goal(text: str) -> str:
    """What a task is called, without the part of the project (`:app:test`) and its arguments (`test[unit]`)."""
    goal = text.partition("[")[0]
    return goal.rpartition(":")[2] if goal.startswith(":") else goal


def _tool(commands: str | None = None, *, never: str = "", values: str = "", excluded: str = "", **flags: bool) -> Tool:
    told = None if commands is None else names(commands)
    return Tool(told, names(never), names(values), excluded=names(excluded), **flags)


_ANY = """
    pytest py.test pyright basedpyright black isort flake8 pyflakes pycodestyle pydocstyle bandit
    autopep8 yapf vulture radon xenon nox sphinx-build ninja bazelisk scons ant rspec rubocop
    standardrb phpunit phpstan psalm phpcs php-cs-fixer pest tsc vue-tsc svelte-check eslint prettier jest
    vitest mocha ava karma biome stylelint tslint oxlint xo standard webpack rollup esbuild tsup swc babel
    golangci-lint staticcheck gofmt goimports gofumpt gotestsum rustfmt clang-tidy clang-format shellcheck shfmt
    hadolint yamllint markdownlint markdownlint-cli2 actionlint javac kotlinc
    ktlint detekt checkstyle codespell cspell lint-imports tflint buf protoc djlint sqlfluff ty pyrefly deptry
    interrogate pip-audit semgrep"""
_SCRIPTS = """
    test t tst run run-script install ci i audit build lint format fmt check typecheck type-check tsc eslint
    jest vitest prettier outdated list ls ll la why explain root prefix"""

_MODULES = """
    pytest mypy black isort flake8 pyflakes pycodestyle pydocstyle bandit autopep8 yapf vulture radon tox nox
    doctest unittest compileall py_compile build json.tool sphinx pylint basedpyright pyright tabnanny
    coverage ruff pre_commit"""

_MAKE_VALUES = "C f I W o j directory file makefile include-dir assume-new assume-old jobs"
TOOLS: dict[str, Tool] = {
    **dict.fromkeys(names(_ANY), Tool()),
    **dict.fromkeys(("make", "gmake"), _tool(never="eval E", values=_MAKE_VALUES)),
    **dict.fromkeys(
        names("gcc g++ cc c++ clang clang++"),
        _tool(never="wrapper specs fplugin load", values="o", single_dash=True),
    ),
    **dict.fromkeys(("mypy", "dmypy"), _tool(never="python-executable")),
    "tox": _tool(never="x override", values="e c", excluded="exec e devenv d"),
    "ctest": _tool(
        never="S SP script D dashboard M T build-and-test build-makeprogram test-command",
        values="R E L LE j C timeout test-dir parallel build-config preset output-log",
    ),
    "pylint": _tool(never="init-hook load-plugins"),
    "ruff": _tool("check format rule config linter version clean analyze", bare=True),
    "coverage": _tool("report html xml json lcov combine erase annotate"),
    "pre-commit": _tool("run validate-config validate-manifest"),
    "npm": _tool(
        _SCRIPTS,
        never="g global location prefix registry script-shell userconfig globalconfig node-options",
        values="w",
    ),
    "pnpm": _tool(_SCRIPTS, never="g global C dir registry", values="F filter"),
    "yarn": _tool(_SCRIPTS, never="global cwd registry", bare=True),
    "bun": _tool("test run install i build lint", never="g global r preload registry cwd"),
    "deno": _tool("test lint fmt check"),
    "cargo": _tool(
        "test t build b check c clippy fmt doc bench tree metadata nextest llvm-cov verify-project fetch",
        never="config Z",
        values="color manifest-path",
    ),
    "go": _tool("test build vet fmt list mod", never="exec toolexec vettool overlay modfile", single_dash=True),
    "cmake": _tool(never="P E C", values="S B D U G T A W preset build target config j parallel"),
    "meson": _tool("setup compile test configure introspect"),
    "bazel": _tool("build test query cquery info"),
    "mvn": _tool(
        """clean validate compile test-compile test package install verify integration-test site dependency:tree
        spotless:check""",
        never="s settings gs global-settings",
        values="f pl P T D file projects",
        bare=True,
        each=True,
    ),
    "gradle": _tool(
        """build test check assemble clean compileJava compileKotlin classes jar tasks dependencies lint
        ktlintCheck detekt spotlessCheck""",
        never="I init-script g gradle-user-home",
        values="p b x D P project-dir tests",
        bare=True,
        each=True,
    ),
    "sbt": _tool("compile test clean update scalafmtCheck", each=True),
    "lein": _tool("test compile check deps"),
    "rake": _tool(
        "test spec lint rubocop build compile",
        never="e E p r execute execute-continue execute-print require",
        bare=True,
        each=True,
    ),
    "composer": _tool("install test validate run-script check-platform-reqs dump-autoload"),
    "dotnet": _tool("build test restore format"),
    "swift": _tool("build test"),
    "mix": _tool("test compile format credo dialyzer deps.get"),
    "stack": _tool("build test"),
    "cabal": _tool("build test check"),
    "dune": _tool("build test runtest fmt"),
    "zig": _tool("build test fmt"),
    "flutter": _tool("test analyze build format"),
    "dart": _tool("test analyze format compile"),
    "playwright": _tool("test"),
    "cypress": _tool("run verify"),
    "vite": _tool("build", bare=False),
    "next": _tool("build lint"),
    "nuxt": _tool("build"),
    "turbo": _tool("run build test lint"),
    "nx": _tool("run test build lint affected run-many"),
    "lerna": _tool("run test"),
    "mkdocs": _tool("build"),
    "terraform": _tool("validate fmt version"),
    "helm": _tool("lint template version", never="post-renderer"),
    "uv": _tool("sync lock tree build venv export pip version", never="index-url extra-index-url default-index index"),
    "poetry": _tool("install check show lock build env version"),
    "pdm": _tool("install sync lock list build"),
    "hatch": _tool("test fmt build version"),
    "pipenv": _tool("install sync check graph verify"),
    "rustup": _tool("show"),
    "docker": _tool("ps images logs inspect version info top stats", never="H host c context config"),
    "kubectl": _tool(
        "get describe logs version explain api-resources api-versions top cluster-info",
        never="kubeconfig raw s server as token",
    ),
}
_PYTHON = {"pre_commit": "pre-commit"}
TOOLS.update({f"python -m {module}": TOOLS.get(_PYTHON.get(module, module), Tool()) for module in _MODULES.split()})
# Sub-commands that only print what is installed.
LISTS: dict[str, frozenset[str]] = {
    "npm": names("list ls ll la root prefix why explain"),
    "pnpm": names("list ls ll la root why"),
    "yarn": names("list why"),
    "rustup": names("show"),
}
# What `--version` and its like may be asked of besides the tools above.
INTERPRETERS = names(
    """
    python python2 python3 pypy3 node nodejs ruby perl php java lua R Rscript julia ghc erl elixir iex scala
    kotlin rustc cargo rustup go deno bun gcc g++ clang cmake git docker docker-compose kubectl helm terraform
    ansible psql mysql sqlite3 redis-cli gh curl wget ssh rsync bash zsh sh fish pip pip3 uv uvx poetry pipx
    pipenv conda npx corepack nvim vim emacs tmux rg fd jq yq make ninja gdb lldb ffmpeg convert pandoc latex
    pdflatex openssl brew apt apt-get dpkg snap systemctl aws gcloud az"""
)
_SHORT = {
    "-V": names(
        "python python2 python3 pip pip3 rustc cargo perl tmux redis-cli ssh psql mysql uv uvx ruff black mypy pytest"
    ),
    "-v": names("node nodejs npm yarn pnpm bun tsc ruby perl php gcc g++ clang make gradle mvn docker nginx lua"),
    "-version": names("java javac ant"),
    "version": names("go docker kubectl helm terraform deno hugo gh"),
}
_PROJECT_BINARIES = ("node_modules/.bin/", ".venv/bin/", "venv/bin/", "env/bin/", "vendor/bin/")
_WRAPPERS = {"./gradlew": "gradle", "./mvnw": "mvn", "gradlew": "gradle", "mvnw": "mvn", "./manage.py": "manage.py"}


def is_version_query(name: str, words: tuple[Word, ...]) -> bool:
    """Whether this only asks a known program for its version."""
    if len(words) != 1 or not words[0].known:
        return False
    option = words[0].text
    if option == "--version":
        return name in INTERPRETERS or name in TOOLS
    return name in _SHORT.get(option, ())


def is_listing(name: str, words: tuple[Word, ...]) -> bool:
    """Whether this only prints which packages are installed."""
    return bool(words) and name in LISTS and words[0].text in LISTS[name] and TOOLS[name].refusal(words) is None


def project_program(path: str) -> str | None:
    """The tool's name when `path` is where a project keeps its own copy of it (`.venv/bin/pytest`)."""
    if path in _WRAPPERS:
        return _WRAPPERS[path]
    short = path.removeprefix("./")
    folder = next((folder for folder in _PROJECT_BINARIES if short.startswith(folder)), None)
    return short.removeprefix(folder) if folder and "/" not in short.removeprefix(folder) else None


_MADE = re.compile(r"[$`;&|<>\n]")


def make(words: tuple[Word, ...]) -> str | None:
    """Why this `make` runs more than the project's own makefile; None when it does not.

    A variable is text that make expands (`X=$(shell ...)`) and that recipes hand to a shell (`CC=...`).
    """
    options = read_options(words, names(_MAKE_VALUES))
    for file in options.values(names("f file makefile")):
        if not file.known or file.nested or file.text == "-" or file.text.startswith("/dev/"):
            return f"a makefile from {file.text!r}"
    for word in words:
        name, equals, value = word.text.partition("=")
        if not equals or name.startswith("-"):
            continue
        runs = matters(name.rstrip(":?+!")) and not name.rstrip(":?+!").endswith("FLAGS") and re.search(r"[\s/]", value)
        if runs or _MADE.search(value) or name.lstrip(".").startswith(("SHELL", "MAKE")):
            return f"the variable {name} decides what it runs"
    return None


_FOREIGN = names(
    """
    i index-url extra-index-url f find-links trusted-host t target prefix root break-system-packages proxy
    config-settings global-option install-option cert index default-index system python"""
)
_PIP_READS = names("list show freeze check")


def pip(words: tuple[Word, ...]) -> tuple[bool, str | None]:
    """Whether a `pip` call only reads, and else why it is not plain development."""
    options = read_options(words, _FOREIGN | names("r c requirement constraint e editable"))
    command = options.operands[0].text if options.operands else ""
    if command in _PIP_READS:
        return not (options.options and options.has(names("f find-links log i index-url"))), None
    if command not in ("install", "sync", "compile"):
        return False, f"pip {command} is not development"
    if option := options.has(_FOREIGN):
        return False, f"pip option {option!r} takes packages from, or puts them, somewhere else"
    lists = options.values(names("r c requirement constraint e editable"))
    if any("://" in word.text or not word.known for word in (*options.operands, *lists)):
        return False, "pip installs from an address"
    return False, None

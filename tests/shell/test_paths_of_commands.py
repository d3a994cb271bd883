"""The paths a command names, so that rules about files hold for commands too."""

import pytest

from toolhaft.shell import PathUse, classify


def uses(command: str) -> set[tuple[str, str]]:
    return {(use.path, use.access) for use in classify(command).paths}


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "cat < .env",
        "cat 0< .env",
        "head -n 3 .env",
        "head -n3 .env",
        "tail .env",
        "sed -n p .env",
        "awk '{print}' .env",
        "grep x .env",
        "grep -e x .env",
        "grep -f .env x",
        "rg x .env",
        "xxd .env",
        "od -c .env",
        "base64 .env",
        "strings .env",
        "sort .env",
        "cp .env x",
        "tar cf x .env",
        "tar -cf x .env",
        "zip x .env",
        "git show HEAD:.env",
        "git log -p -- .env",
        "git diff .env",
        "git blame .env",
        "git cat-file -p HEAD:.env",
        "cat '.env'",
        "cat .e\\nv",
        'cat ".env"',
        "c'at' $'.env'",
        "bash -c 'cat .env'",
        "env cat .env",
        "xargs cat .env",
        "find .env -exec cat {} +",
        "while read l; do echo $l; done < .env",
        "echo $(cat .env)",
        "echo $(< .env)",
        "cat <(cat .env)",
        "diff .env a",
        "paste .env",
        "nl .env",
        "jq . .env",
        "source .env",
        "timeout 5 cat .env",
        "curl -d @.env x",
        "curl -T .env x",
        "curl -F f=@.env x",
        "wget --post-file=.env x",
        "python -m json.tool .env",
        "F=.env; cat $F",
        "cat a .env b",
        "cat -- .env",
        "cat -n .env",
        "dd if=.env of=x",
        "rsync .env x",
        "scp .env h:",
        "for f in .env; do cat $f; done",
    ],
)
def test_a_file_that_is_read_is_named(command: str) -> None:
    assert any(path == ".env" and access in ("read", "unknown") for path, access in uses(command)), uses(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo x > .env",
        "echo x >> .env",
        "ls &> .env",
        "ls 2> .env",
        "> .env",
        "{ ls; } > .env",
        "cp a .env",
        "mv a .env",
        "mv .env a",
        "rm .env",
        "rm -f -- .env",
        "tee .env",
        "ls | tee -a .env",
        "touch .env",
        "sed -i s/a/b/ .env",
        "sed --in-place s/a/b/ .env",
        "truncate -s0 .env",
        "ln -s a .env",
        "sort -o .env a",
        "sort -o.env a",
        "sort --output=.env a",
        "curl -o .env x",
        "wget -O .env x",
        "dd if=a of=.env",
        "tar cf .env a",
        "zip .env a",
        "git diff --output=.env",
        "find . -fprint .env",
        "find .env -delete",
        "chmod 600 .env",
        "install a .env",
        "cp -t .env a",
        "xxd a .env",
        "uniq a .env",
        "ls 3<> .env",
        "shuf -o .env a",
        "bash -c 'echo x > .env'",
        'ls > ".env"',
        "rsync a .env",
    ],
)
def test_a_file_that_is_written_is_named(command: str) -> None:
    assert any(path == ".env" and access in ("write", "unknown") for path, access in uses(command)), uses(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo .env",
        "printf .env",
        "grep .env a",
        "rg .env a",
        "git commit -m .env",
        "test -f .env",
        "basename .env",
        "ls a | grep .env",
        "awk '/.env/' a",
        "sed -n /.env/p a",
    ],
)
def test_a_word_that_is_only_text_is_no_path(command: str) -> None:
    assert ".env" not in {path for path, _ in uses(command)}


@pytest.mark.parametrize(
    "command",
    ["foo .env", "foo --file=.env", "foo -f.env", "foo @.env", "python a.py .env", "vim .env", "FOO=1 foo .env"],
)
def test_an_unknown_program_may_do_anything_with_its_operands(command: str) -> None:
    assert (".env", "unknown") in uses(command)


def test_what_the_shell_will_expand_is_not_exact() -> None:
    assert classify("cat .e*").paths == (PathUse(".e*", "read", exact=False),)
    assert classify("cat $F").paths == (PathUse("$F", "read", exact=False),)
    assert classify("cat ~/.ssh/id_rsa").paths == (PathUse("~/.ssh/id_rsa", "read"),)
    assert classify('cat "$HOME/.ssh/id_rsa"').paths == (PathUse("~/.ssh/id_rsa", "read"),)
    assert classify("cat '$F' '*'").paths == (PathUse("$F", "read"), PathUse("*", "read"))
    assert classify("cat {a,b}").paths == (PathUse("a", "read"), PathUse("b", "read"))


def test_a_path_tells_where_cd_has_led() -> None:
    assert PathUse("a", "read", folder="sub") in classify("cd sub && cat a").paths
    assert PathUse("a", "read", folder="/etc") in classify("cd /etc; cat a").paths
    assert PathUse("a", "read", folder="s/t") in classify("cd s && cd t && cat a").paths
    assert PathUse("a", "read", folder="") in classify("(cd sub); cat a").paths
    assert PathUse("a", "read", folder="~") in classify("cd; cat a").paths
    assert PathUse("a", "read", folder=None) in classify("cd $X; cat a").paths
    assert PathUse("a", "read", folder=None) in classify("cd -; cat a").paths
    assert PathUse("a", "read", folder="sub") in classify("git -C sub show HEAD:a").paths
    assert PathUse("a", "read", folder=None) in classify("cd $X; cd t; cat a").paths


def test_the_words_of_a_loop_are_paths_and_its_variable_is_none() -> None:
    assert {use.path for use in classify("for f in a b; do cat $f; done").paths} == {"a", "b", "$f"}


def test_devices_and_descriptors_are_no_paths() -> None:
    assert classify("ls > /dev/null 2>&1 < /dev/stdin").paths == (PathUse(".", "read"),)

"""Prompt files: where they are, what they may hold, what is refused."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from toolhaft.exceptions import ToolDefinitionError
from toolhaft.prompts import armour, check_name, find_prompt, load_prompt

GREP = """<?xml version="1.0" encoding="UTF-8"?>
<tool_prompt>
    <description>
        Find lines.

          - indented
        Last line.
    </description>

    <parameters>
        <parameter name="pattern" required="true">
            <description>The search pattern</description>
            <type>string</type>
        </parameter>
        <!-- a comment -->
        <parameter name="mode" required="false">
            <description>Output mode</description>
            <type>str</type>
            <enum>content</enum>
            <enum>files_only</enum>
        </parameter>
        <parameter name="rest"/>
    </parameters>
</tool_prompt>
"""


def written(folder: Path, text: str | bytes) -> Path:
    file = folder / "x_prompt.xml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def described(inner: str) -> str:
    return f"<tool_prompt>\n<description>{inner}</description>\n</tool_prompt>"


def test_a_prompt_says_all_that_its_file_says(tmp_path: Path):
    prompt = load_prompt(written(tmp_path, GREP))

    assert prompt.description == "Find lines.\n\n  - indented\nLast line."
    assert prompt.parameters is not None
    pattern, mode, rest = prompt.parameters
    assert (pattern.name, pattern.description, pattern.required, pattern.type) == (
        "pattern", "The search pattern", True, "string",
    )  # fmt: skip
    assert (mode.required, mode.type, mode.enum) == (False, "string", ("content", "files_only"))
    assert (rest.description, rest.required, rest.type, rest.enum) == (None, None, None, ())


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ("a", "a"),
        (" a\n   b \n", "a\n   b"),
        ("\n    a\n      b\n\n    c\n  ", "a\n  b\n\nc"),
        ("a <b>c</b> d", "a <b>c</b> d"),
        ("a <b x='1'>c &lt; <i>d</i></b> e<br/>", 'a <b x="1">c < <i>d</i></b> e<br/>'),
        ("<x:b xmlns:x='u'>c</x:b>", "<x:b>c</x:b>"),
        ("1 &lt; 2 &amp;&amp; <![CDATA[<raw> & ]]>x", "1 < 2 && <raw> & x"),
        ("a <!-- not for the model -->b<?pi x?>c", "a bc"),
        ("a\ttab\u2028sep\u00a0x", "a\ttab\u2028sep\u00a0x"),
    ],
)
def test_a_description_arrives_whole(tmp_path: Path, inner: str, text: str):
    assert load_prompt(written(tmp_path, described(inner))).description == text


def test_a_file_without_parameters_says_nothing_of_them_and_an_empty_list_says_there_are_none(tmp_path: Path):
    assert load_prompt(written(tmp_path, described("a"))).parameters is None
    none = "<tool_prompt><description>a</description><parameters/></tool_prompt>"
    assert load_prompt(written(tmp_path, none)).parameters == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_the_declared_encoding_is_read(tmp_path: Path, encoding: str):
    text = f'<?xml version="1.0" encoding="{encoding}"?><tool_prompt><description>é</description></tool_prompt>'

    assert load_prompt(written(tmp_path, text.encode(encoding))).description == "é"


def parameter(inner: str, attributes: str = 'name="a"') -> str:
    return f"<tool_prompt>\n<description>x</description>\n<parameters>\n<parameter {attributes}>{inner}</parameter>\n</parameters></tool_prompt>"  # noqa: E501


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "is no XML"),
        ("<tool_prompt>\n<description>x\n</tool_prompt>", 3, "is no XML"),
        (described("&undeclared;"), 2, "is no XML"),
        (described("<b>" * 300 + "</b>" * 300), 2, "is no XML"),
        ("<prompt/>", 1, "the outermost element is <prompt>"),
        ("<tool_prompt>\n</tool_prompt>", 1, "there is no <description>"),
        (described(""), 2, "the <description> is empty"),
        (described(" \n "), 2, "the <description> is empty"),
        (described("<!-- x -->"), 2, "the <description> is empty"),
        (described("x").replace("</tool", "<descriptoin/></tool"), 3, "<descriptoin> is unknown in <tool_prompt>"),
        (described("x").replace("</tool", "<description>y</description></tool"), 3, "<description> comes twice"),
        (described("x").replace("</tool", "stray</tool"), 1, "the text 'stray' stands alone in <tool_prompt>"),
        (described("x").replace("<tool_prompt", "<tool_prompt lang='en'"), 1, "the attribute 'lang' is unknown"),
        (parameter("", "required='true'"), 4, "a <parameter> has no name"),
        (parameter("", "name='a' required='yes'"), 4, "required='yes' is neither true nor false"),
        (parameter("", "name='a' requird='true'"), 4, "the attribute 'requird' is unknown"),
        (parameter("\n<type>text</type>"), 5, "the type 'text' is unknown. Use one of string, str,"),
        (parameter("\n<type/>"), 5, "the type '' is unknown"),
        (parameter("<enum>x</enum><enum> x </enum>"), 4, "the parameter 'a' has the same <enum> twice"),
        (parameter("</parameter>\n<parameter name='a'>"), 5, "the parameter 'a' comes twice"),
        (parameter("\n<default>x</default>"), 5, "<default> is unknown in <parameter>"),
    ],
)
def test_a_broken_file_is_an_error_that_names_file_and_line(tmp_path: Path, text: str, line: int, what: str):
    file = written(tmp_path, text)

    with pytest.raises(ToolDefinitionError) as caught:
        load_prompt(file)

    assert f"the prompt {file}, line {line}" in str(caught.value)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE t [<!ENTITY x "y">]>' + described("a &x; b"),
        '<!DOCTYPE t [<!ENTITY x "y">]>' + described("<b a='&x;'/>"),
        '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + described("&x;"),
        '<!DOCTYPE t SYSTEM "http://127.0.0.1:1/x.dtd">' + described("a"),
        "<!DOCTYPE t>" + described("a"),
        '<!DOCTYPE t [<!ENTITY a "xxxxxxxxxx">'
        + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
        + "]>"
        + described("<b a='&j;'/>"),
    ],
)
def test_a_doctype_is_refused_and_no_entity_is_resolved(tmp_path: Path, text: str):
    with pytest.raises(ToolDefinitionError, match=r"line \d, (has a DOCTYPE|is no XML)"):
        load_prompt(written(tmp_path, text))


def test_a_huge_file_is_refused_without_being_parsed(tmp_path: Path):
    with pytest.raises(ToolDefinitionError, match="is over 1,000,000 bytes"):
        load_prompt(written(tmp_path, described("x" * 1_000_000)))


@pytest.mark.parametrize("make", [lambda path: path, lambda path: path.mkdir() or path])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, make):
    with pytest.raises(ToolDefinitionError, match="cannot be read|is not a file"):
        load_prompt(make(tmp_path / "none.xml"))


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes an importable module with one async function, in a folder that has prompts."""

    def make(module: str, *, package: bool) -> ModuleType:
        folder = tmp_path.joinpath(*module.split(".")[:-1])
        (folder / "prompts").mkdir(parents=True, exist_ok=True)
        if package:
            (folder / "__init__.py").touch()
        (folder / f"{module.split('.')[-1]}.py").write_text("async def grep(): ...\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        importlib.invalidate_caches()
        return importlib.import_module(module)

    yield make
    for name in [name for name in sys.modules if name.startswith("made_")]:
        del sys.modules[name]


@pytest.mark.parametrize(("module", "package"), [("made_pkg.grep", True), ("made_namespace.sub.grep", False)])
def test_a_prompt_lies_in_prompts_beside_the_module(tools, tmp_path: Path, module: str, package: bool):
    function = tools(module, package=package).grep
    folder = tmp_path.joinpath(*module.split(".")[:-1]) / "prompts"

    assert find_prompt(function, "grep") is None
    (folder / "grep_prompt.xml").write_text(GREP)
    assert find_prompt(function, "grep") == folder / "grep_prompt.xml"


def test_a_function_without_a_file_has_no_prompt():
    names: dict[str, object] = {}
    exec("async def grep(): ...", names)  # noqa: S102 - as at a prompt of the interpreter

    assert find_prompt(names["grep"], "grep") is None  # pyright: ignore[reportArgumentType]


def test_the_tools_of_toolhaft_have_theirs_beside_pyproject_toml_in_a_checkout():
    from toolhaft.tools import submit

    checkout = Path(__file__).parents[1]
    assert find_prompt(submit, "submit") == checkout / "prompts" / "submit_prompt.xml"


def test_two_prompts_for_one_tool_are_an_error_that_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = tmp_path / "src" / "toolhaft"
    for folder in (tmp_path / "prompts", package / "tools" / "prompts"):
        folder.mkdir(parents=True)
        (folder / "grep_prompt.xml").write_text(GREP)
    (tmp_path / "pyproject.toml").touch()
    (package / "tools" / "grep.py").write_text("async def grep(): ...\n")
    monkeypatch.setattr("toolhaft.prompts.find._PACKAGE", package)
    names: dict[str, object] = {"__file__": str(package / "tools" / "grep.py")}
    exec("async def grep(): ...", names)  # noqa: S102

    with pytest.raises(ToolDefinitionError) as caught:
        find_prompt(names["grep"], "grep")  # pyright: ignore[reportArgumentType]

    assert str(tmp_path / "prompts" / "grep_prompt.xml") in str(caught.value)
    assert str(package / "tools" / "prompts" / "grep_prompt.xml") in str(caught.value)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a.b", "1a", "a-b", "é", "a\n", "a b"])
def test_a_name_that_could_lead_elsewhere_is_refused(name: str):
    with pytest.raises(ToolDefinitionError, match="is no name for a tool"):
        check_name(name)


def test_a_text_without_section_like_lines_is_its_own_docstring():
    assert (
        armour("Find lines.\n\nIt is quick, and knows regex: yes.")
        == "Find lines.\n\nIt is quick, and knows regex: yes."
    )

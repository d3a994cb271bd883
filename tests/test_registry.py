"""A registry gives tools by name, to many threads at once, and imports only what is asked for."""

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolhaft.decorators import base_tool
from toolhaft.discovery import LazyTool, ToolLoadError, ToolSource, discover_package
from toolhaft.registry import ALL, GROUPS, DuplicateToolError, Registry, ToolNotFoundError
from toolhaft.spec import tool_spec

STRESS_SECONDS = 10.0 if os.environ.get("TOOLHAFT_STRESS") else 1.0


def tool_named(name: str) -> Callable[..., Any]:
    """A decorated tool of this name."""

    async def tool(text: str) -> str:
        """Say the text again, as it was given."""
        return text

    tool.__name__ = tool.__qualname__ = name
    return base_tool(tool)


@pytest.fixture
def registry() -> Registry:
    """A registry of two file tools, a search tool and one that belongs to no group."""
    registry = Registry()
    for name in ("write_file", "read_file", "grep", "weather"):
        registry.register(tool_named(name))
    return registry


class TestRegister:
    def test_a_registered_tool_is_found_by_its_name(self) -> None:
        registry, tool = Registry(), tool_named("echo")

        registry.register(tool)

        assert registry.get("echo") is tool
        assert registry.has("echo")
        assert "echo" in registry
        assert registry.count() == len(registry) == 1

    def test_names_are_sorted(self, registry: Registry) -> None:
        assert registry.names() == ["grep", "read_file", "weather", "write_file"]

    def test_a_name_that_is_taken_is_refused_and_both_modules_are_named(self, registry: Registry) -> None:
        old = registry.get("grep")
        source = ToolSource(tools={"grep": LazyTool(name="grep", where="acme.tools.grep", load=lambda: old)})

        with pytest.raises(DuplicateToolError, match=f"'grep' .* from {__name__}; the new one is from acme.tools.grep"):
            registry.register_source(source)

        assert registry.get("grep") is old

    def test_replace_takes_the_new_one(self, registry: Registry) -> None:
        new = tool_named("grep")

        registry.register(new, replace=True)

        assert registry.get("grep") is new
        assert registry.count() == 4

    def test_an_undecorated_function_is_an_error(self) -> None:
        async def plain(text: str) -> str:
            return text

        with pytest.raises(TypeError, match="plain"):
            Registry().register(plain)

    def test_a_source_with_one_name_that_is_taken_adds_nothing(self, registry: Registry) -> None:
        def lazy(name: str) -> LazyTool:
            return LazyTool(name=name, where="acme", load=lambda: tool_named(name))

        with pytest.raises(DuplicateToolError):
            registry.register_source(ToolSource(tools={name: lazy(name) for name in ("aaa", "grep", "zzz")}))

        assert registry.names() == ["grep", "read_file", "weather", "write_file"]

    def test_a_source_is_imported_when_a_tool_is_asked_for_and_no_earlier(self) -> None:
        asked: list[str] = []

        def load() -> Callable[..., Any]:
            asked.append("late")
            return tool_named("late")

        registry = Registry().register_source(ToolSource(tools={"late": LazyTool(name="late", where="x", load=load)}))
        assert (registry.names(), registry.names_of([ALL]), registry.has("late")) == (["late"], ["late"], True)
        assert asked == []

        registry.get("late")

        assert asked == ["late"]

    def test_a_tool_that_does_not_import_tells_its_true_cause(
        self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "broken_kit").mkdir()
        (tmp_path / "broken_kit" / "__init__.py").touch()
        (tmp_path / "broken_kit" / "broken.py").write_text("import no_such_module")
        registry = Registry().register_source(discover_package("broken_kit"))

        with pytest.raises(ToolLoadError, match=r"'broken' .* broken_kit.broken: .*No module named 'no_such_module'"):
            registry.get("broken")

        del sys.modules["broken_kit"]

    def test_register_all_adds_the_built_in_tools(self) -> None:
        registry = Registry().register_all()

        assert registry.names() == list(discover_package("toolhaft.tools").names)

    def test_clear_leaves_nothing(self, registry: Registry) -> None:
        registry.clear()

        assert registry.names() == []
        assert registry.count() == 0


class TestSelect:
    def test_names_come_in_the_order_asked_each_once(self, registry: Registry) -> None:
        selected = registry.select(["weather", "grep", "weather"])

        assert [tool_spec(tool).name for tool in selected] == ["weather", "grep"]

    def test_no_names_mean_no_tools(self, registry: Registry) -> None:
        assert registry.select([]) == []
        assert registry.schemas([]) == []
        assert registry.tools([]) == []

    @pytest.mark.parametrize(
        ("asked", "meant"),
        [
            (["files"], ["read_file", "write_file"]),
            (["search"], ["grep"]),
            (["commands"], []),
            (["all"], ["grep", "read_file", "weather", "write_file"]),
            (["weather", "files"], ["weather", "read_file", "write_file"]),
            (["write_file", "files"], ["write_file", "read_file"]),
        ],
    )
    def test_a_group_means_what_the_registry_has_of_it(
        self, registry: Registry, asked: list[str], meant: list[str]
    ) -> None:
        assert registry.names_of(asked) == meant

    def test_a_tool_named_like_a_group_wins_over_it(self, registry: Registry) -> None:
        registry.register(tool_named("search"))

        assert registry.names_of(["search"]) == ["search"]

    def test_unknown_names_are_an_error_with_the_near_ones(self, registry: Registry) -> None:
        with pytest.raises(ToolNotFoundError) as caught:
            registry.select(["grpe", "grep", "filse"])

        assert str(caught.value) == (
            "no tool is named 'grpe' (near: 'grep'); no tool is named 'filse' (near: 'files'). "
            "There are: grep, read_file, weather, write_file."
        )
        assert isinstance(caught.value, KeyError)

    def test_unknown_names_can_be_ignored(self, registry: Registry) -> None:
        assert registry.names_of(["nothing", "grep"], missing="ignore") == ["grep"]
        assert [tool.__name__ for tool in registry.select(["nothing", "grep"], missing="ignore")] == ["grep"]
        assert len(registry.schemas(["nothing", "grep"], missing="ignore")) == 1
        assert len(registry.tools(["nothing", "grep"], missing="ignore")) == 1

    def test_get_of_an_unknown_name_is_the_same_error(self, registry: Registry) -> None:
        with pytest.raises(ToolNotFoundError, match=r"'raed_file' .near: 'read_file'"):
            registry.get("raed_file")

    def test_an_empty_registry_says_that_it_is_empty(self) -> None:
        with pytest.raises(ToolNotFoundError, match="There are: none, yet"):
            Registry().get("grep")

    def test_one_string_in_place_of_a_list_is_an_error(self, registry: Registry) -> None:
        with pytest.raises(TypeError, match=r"Pass \['grep'\]"):
            registry.select("grep")

    def test_no_tool_is_in_two_groups(self) -> None:
        members = [name for group in GROUPS.values() for name in group]

        assert len(members) == len(set(members))


class TestSchemasAndTools:
    def test_a_schema_has_the_form_of_an_openai_function(self, registry: Registry) -> None:
        [schema] = registry.schemas(["weather"])

        assert schema["type"] == "function"
        assert schema["function"]["name"] == "weather"
        assert schema["function"]["description"] == "Say the text again, as it was given."
        assert schema["function"]["parameters"]["type"] == "object"
        assert schema["function"]["parameters"]["required"] == ["text"]

    def test_without_names_every_tool_is_meant(self, registry: Registry) -> None:
        assert [schema["function"]["name"] for schema in registry.schemas()] == registry.names()
        assert [tool.name for tool in registry.tools()] == registry.names()

    def test_a_schema_that_was_changed_by_its_reader_is_whole_the_next_time(self, registry: Registry) -> None:
        registry.schemas(["weather"])[0]["function"]["parameters"].clear()

        assert registry.schemas(["weather"])[0]["function"]["parameters"]["required"] == ["text"]

    def test_a_tool_that_was_changed_by_its_reader_is_whole_the_next_time(self, registry: Registry) -> None:
        [tool] = registry.tools(["weather"])
        tool.max_retries = 77

        [again] = registry.tools(["weather"])

        assert again is not tool
        assert again.max_retries != 77
        assert again.function_schema is tool.function_schema, "the schema is built once"


def test_sixteen_threads_lose_no_entry_and_see_no_torn_list() -> None:
    """Each thread keeps a pair of tools of its own, registered and replaced together, beside a shared one."""
    registry = Registry()
    tools = {name: tool_named(name) for number in range(16) for name in (f"a_{number}", f"b_{number}")}
    shared = tool_named("shared")
    faults: list[str] = []
    rounds = [0] * 16
    end = time.monotonic() + STRESS_SECONDS

    def pair(number: int) -> ToolSource:
        names = (f"a_{number}", f"b_{number}")
        return ToolSource(
            tools={name: LazyTool(name=name, where="here", load=lambda name=name: tools[name]) for name in names}
        )

    def work(number: int) -> None:
        chance = random.Random(number)
        try:
            while rounds[number] < 20 or time.monotonic() < end:
                rounds[number] += 1
                registry.register_source(pair(number), replace=True)
                registry.register(shared, replace=True)
                seen = registry.names_of([ALL])
                if seen != sorted(set(seen)) or len(registry.select(seen, missing="ignore")) > len(seen):
                    faults.append(f"a torn list: {seen}")
                faults.extend(f"half a pair: {n}" for n in range(16) if (f"a_{n}" in seen) != (f"b_{n}" in seen))
                if chance.random() < 0.02:
                    registry.clear()
        except Exception as error:  # noqa: BLE001  (whatever it is, the test must tell it)
            faults.append(repr(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=STRESS_SECONDS + 30)

    assert not [thread for thread in threads if thread.is_alive()], "a deadlock"
    assert faults == []
    assert min(rounds) >= 20


def test_entries_registered_at_once_from_sixteen_threads_are_all_there() -> None:
    registry = Registry()
    tools = [[tool_named(f"tool_{thread}_{number}") for number in range(20)] for thread in range(16)]
    start = threading.Barrier(16)

    def work(mine: list[Callable[..., Any]]) -> None:
        start.wait()
        for tool in mine:
            registry.register(tool)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in tools]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert registry.count() == 320
    assert all(registry.get(tool_spec(tool).name) is tool for mine in tools for tool in mine)

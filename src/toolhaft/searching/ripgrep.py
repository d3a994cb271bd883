"""The fast engine: ripgrep does the work, the survey and our own rules have the last word.

ripgrep is fast because it walks in parallel, and then its results come in no order. So it runs unordered and is
collected up to `count_limit`; a search that stays below is sorted here. One that does not is ended, and an ordered,
single-threaded run gives the first results by path, which come early. Beside the first run goes the survey: one
thread that walks the folders and judges names, since ripgrep is silent about all that it leaves out. (`--debug` makes
it speak, but costs it a tenth of a millisecond for each ignored file.)

ripgrep does not follow links and reads a few ignore patterns otherwise than git does. What it found and the survey does
not see is dropped; the files under such patterns and the links that are to be followed are searched after it. It opens
files by their paths, which somebody may swap meanwhile; so where the tree is not sure of a file it is searched again.
"""

import asyncio
import errno
import os
import re
import threading
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Protocol, TypeVar

from .content import with_context
from .dialect import Pattern
from .drive import MatchSink, Run, Said, drive
from .ignore import IGNORE_FILES
from .query import Query, Scope, search_arguments
from .results import Cut, FileMatches, Found, Reason, Tally
from .scan import scan, search_file
from .tree import Kind, Tree
from .walk import Walk

_SPEAKS_OF_PATHS = re.compile(rb"^[^#\n].*/[^\s]|^/", re.MULTILINE)
_SURVEY_WAITS_SECONDS = 0.03
_MOST_TARGETS = 500  # of one command line


T = TypeVar("T")


class InThread(Protocol):
    """Does some work in a thread, as `asyncio.to_thread` does; the work may ask the tree."""

    def __call__(self, work: Callable[[], T], /) -> Coroutine[Any, Any, T]: ...


async def search(
    query: Query, tree: Tree, run: Run, *, time_limit: float | None = None, in_thread: InThread = asyncio.to_thread
) -> Found:
    """Search with ripgrep. After `time_limit` seconds the answer is what was found until then.

    Raises `PatternError` before anything runs, `EngineError` where ripgrep fails, and the `OSError` of a start that is
    not there. Cancelling ends ripgrep.
    """
    pattern = Pattern(query.pattern, use_regex=query.use_regex, case_sensitive=query.case_sensitive)
    stop = threading.Event()
    job = _Search(query, pattern, tree, run, stop, in_thread)
    try:
        async with asyncio.timeout(time_limit):
            return await job.answer()
    except TimeoutError:
        return await in_thread(job.answer_out_of_time)
    finally:
        stop.set()


class _Search:
    """One search: its first run and its survey, the runs that correct them, and what all of them found."""

    def __init__(
        self, query: Query, pattern: Pattern, tree: Tree, run: Run, stop: threading.Event, in_thread: InThread
    ) -> None:
        self._query = query
        self._pattern = pattern
        self._tree = tree
        self._run = run
        self._stop = stop
        self._in_thread = in_thread
        self._above: list[str] = []
        self._tally = Tally(query)
        self._sink = MatchSink(query, limit=query.most_counted)

    async def answer(self) -> Found:
        surveyed = threading.Event()

        def prepare() -> tuple[Kind, list[str], Walk]:
            walk = self._walk(stop=lambda: self._stop.is_set() or surveyed.is_set())
            return *_prepared(self._tree, self._query.scope), walk

        kind, self._above, walk = await self._in_thread(prepare)
        if kind != "folder":
            return await self._in_thread(lambda: scan(self._query, self._tree, stop=self._stop.is_set))
        first = asyncio.create_task(self._drive([self._query.scope.path], self._sink))
        try:
            # A search that ends soon, with too much or with all, is not slowed down by the survey.
            await asyncio.wait((first,), timeout=_SURVEY_WAITS_SECONDS)
            survey = None if first.done() else asyncio.create_task(self._in_thread(lambda: _survey(walk)))
            said = await first
            if said.was_ended:
                surveyed.set()  # as far as it is of use
                return await self._first_by_path()
            single = await survey if survey else None
        finally:
            first.cancel()
            await asyncio.wait((first,))
        return await self._completed(walk, self._sink, said, single=single)

    def answer_out_of_time(self) -> Found:
        """Give what the first run had found, judged by a walk of its own: the other's thread may still be at work."""
        walk = self._walk()
        walk.judge.ledger.note(Reason.OUT_OF_TIME, self._query.scope.path)
        self._stop.set()
        self._add(walk, self._sink, self._tally)
        return self._found(walk)

    async def _first_by_path(self) -> Found:
        counting = asyncio.create_task(self._in_thread(self._counted))
        limit = self._query.max_results
        while True:
            self._tally = Tally(self._query)
            walk = await self._in_thread(self._walk)
            sink = MatchSink(self._query, limit=limit)
            said = await self._drive([self._query.scope.path], sink, in_order=True)
            last = sink.last if said.was_ended else None
            found = await self._completed(walk, sink, said, until=last, at_least=counting)
            if not said.was_ended or self._tally.shown >= self._query.max_results:
                return found
            limit *= 4  # our rules dropped some of what ripgrep found

    async def _completed(
        self,
        walk: Walk,
        sink: MatchSink,
        said: Said,
        *,
        single: list[str] | None = None,
        until: str | None = None,
        at_least: asyncio.Task[tuple[int, int]] | None = None,
    ) -> Found:
        """Take what a run found, survey the tree if that is not done, and search what ripgrep had to leave out."""
        counted = await at_least if at_least else None

        def settle() -> Found | list[str]:
            alone = _survey(walk, until) if single is None else single
            self._settle(walk, sink, said, alone)
            return [link for link in walk.links if link not in alone] or self._found(walk, counted)

        targets = await self._in_thread(settle)
        if isinstance(targets, Found):
            return targets
        while targets and not self._tally.is_full:
            more = MatchSink(self._query, limit=self._query.most_counted)
            said = await self._drive(targets[:_MOST_TARGETS], more)
            await self._in_thread(partial(self._settle, walk, more, said, []))
            targets = targets[_MOST_TARGETS:]
        return await self._in_thread(lambda: self._found(walk, counted))

    def _walk(self, *, stop: Callable[[], bool] = lambda: False) -> Walk:
        return Walk(self._tree, self._query.scope, survey=True, stop=stop)

    def _found(self, walk: Walk, at_least: tuple[int, int] | None = None) -> Found:
        def complete(cut: Cut) -> FileMatches:
            return with_context(cut, self._query, self._tree)

        return self._tally.found(walk.judge.ledger, complete=complete, at_least=at_least)

    def _counted(self) -> tuple[int, int]:
        tally = Tally(self._query)
        self._add(self._walk(), self._sink, tally)
        return tally.counted

    def _settle(self, walk: Walk, sink: MatchSink, said: Said, single: list[str]) -> None:
        walk.note_unreadable(said.unreadable)
        self._add(walk, sink, self._tally)
        self._search_here(single, walk, self._tally)

    def _add(self, walk: Walk, sink: MatchSink, tally: Tally) -> None:
        found = sink.files()
        binary, matching = [*walk.judge.seen(sink.binary)], [*walk.judge.seen(found)]
        steady = self._tree.steady((*binary, *matching))
        for path in steady.intersection(binary):
            walk.judge.ledger.note(Reason.BINARY, path)
        for path in steady.intersection(matching):
            tally.add(found[path])
        self._search_here({*binary, *matching} - steady, walk, tally)

    def _search_here(self, paths: Iterable[str], walk: Walk, tally: Tally) -> None:
        for path in paths:
            one = search_file(path, self._query, self._pattern, self._tree, walk.judge.ledger, stop=self._stop.is_set)
            if one is not None:
                tally.add(one)

    async def _drive(self, targets: list[str], sink: MatchSink, *, in_order: bool = False) -> Said:
        arguments = search_arguments(self._query, targets, in_order=in_order, ignore_files=self._above)
        return await drive(self._run, arguments, sink)


def _survey(walk: Walk, until: str | None = None) -> list[str]:
    return list(walk.files(until=until))


def _prepared(tree: Tree, scope: Scope) -> tuple[Kind, list[str]]:
    """Tell what the start is, and name the ignore files above it that ripgrep can be given.

    ripgrep reads a file that it is given as if it stood at the root, so those of other folders must not speak of paths.
    """
    found = tree.resolve(scope.path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), scope.path)
    above = [""] if scope.path != "." and not scope.include_ignored else []
    for name in scope.path.split("/")[:-1] if above else ():
        above.append(f"{above[-1]}{name}/")
    given: list[str] = []
    for kind in reversed(IGNORE_FILES):  # a later file outranks an earlier one
        for folder in above:
            content = tree.read(folder + kind)
            if content is not None and not (folder and _SPEAKS_OF_PATHS.search(content)):
                given.append(folder + kind)
    return found[1], given

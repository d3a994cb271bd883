"""The fast engine: ripgrep does the work, the survey and our own rules have the last word.

ripgrep is fast because it walks in parallel, and then its results come in no order. So it runs unordered and is
collected up to `count_limit`; a search that stays below is sorted here. One that does not is ended, and an ordered,
single-threaded run gives the first results by path, which come early. Beside the first run goes the survey: one
thread that walks the folders alone, for links, hidden names and devices, of which ripgrep says nothing.

Where ripgrep reads an ignore file otherwise than git does, it is corrected: what it should not have searched is
dropped, and what it should have searched is searched after all, with the links that are to be followed.
"""

import asyncio
import errno
import os
import threading
from collections.abc import Iterable

from .dialect import Pattern
from .drive import MatchSink, NameSink, Run, Said, drive
from .glob import path_key
from .ignore import IGNORE_FILES
from .query import Query, Scope, list_arguments, search_arguments
from .results import Found, Reason, Tally, Unsearched
from .scan import scan, search_file
from .tree import Kind, Tree
from .walk import Walk

_MOST_TARGETS = 500  # of one command line


async def search(query: Query, tree: Tree, run: Run, *, time_limit: float | None = None) -> Found:
    """Search with ripgrep. After `time_limit` seconds the answer is what was found until then.

    Raises `PatternError` before anything runs, `SearchError` where ripgrep fails, and the `OSError` of a start that is
    not there. Cancelling ends ripgrep.
    """
    pattern = Pattern(query.pattern, use_regex=query.use_regex, case_sensitive=query.case_sensitive)
    stop = threading.Event()
    job = _Search(query, pattern, tree, run, stop)
    try:
        async with asyncio.timeout(time_limit):
            return await job.answer()
    except TimeoutError:
        return await asyncio.to_thread(job.answer_out_of_time)
    finally:
        stop.set()


async def list_files(scope: Scope, tree: Tree, run: Run) -> tuple[list[str], tuple[Unsearched, ...]]:
    """Give the names of the files of a scope, in no order, and what was left out. Raises as `search` does."""
    kind, above = await asyncio.to_thread(_prepare, tree, scope)
    if kind != "folder":
        return [scope.path], ()
    stop = threading.Event()
    walk = Walk(tree, scope, names_only=True, stop=stop.is_set)
    names: set[str] = set()
    targets, survey = [scope.path], asyncio.create_task(asyncio.to_thread(_survey, walk))
    try:
        while targets:
            sink = NameSink()
            arguments = list_arguments(scope, targets[:_MOST_TARGETS], ignore_files=above)
            said = await drive(run, arguments, sink)
            if not names:
                names.update(await survey)
                targets += walk.links
            seen, wrong = await asyncio.to_thread(_judged_names, walk, sink.names, said)
            names |= seen
            targets = targets[_MOST_TARGETS:] + wrong
    finally:
        stop.set()
    return list(names), walk.ledger.entries()


class _Search:
    """One search: its first run and its survey, the runs that correct them, and what all of them found."""

    def __init__(self, query: Query, pattern: Pattern, tree: Tree, run: Run, stop: threading.Event) -> None:
        self._query = query
        self._pattern = pattern
        self._tree = tree
        self._run = run
        self._stop = stop
        self._above: list[str] = []
        self._tally = Tally(query)
        self._sink = MatchSink(query, limit=query.count_limit)

    async def answer(self) -> Found:
        kind, self._above = await asyncio.to_thread(_prepare, self._tree, self._query.scope)
        if kind != "folder":
            return await asyncio.to_thread(scan, self._query, self._tree, stop=self._stop.is_set)
        walk = Walk(self._tree, self._query.scope, stop=self._stop.is_set)
        survey = asyncio.create_task(asyncio.to_thread(_survey, walk))
        said = await self._drive([self._query.scope.path], self._sink)
        if said.was_ended:
            self._stop.set()
            await survey
            return await self._first_by_path()
        await self._absorb(walk, self._sink, said, linked=await survey)
        return self._tally.found(walk.ledger)

    def answer_out_of_time(self) -> Found:
        """Give what the first run had found, judged by a walk of its own: the other's thread may still be at work."""
        walk = Walk(self._tree, self._query.scope)
        walk.ledger.note(Reason.OUT_OF_TIME, self._query.scope.path)
        self._add(walk, self._sink)
        return self._tally.found(walk.ledger)

    async def _first_by_path(self) -> Found:
        counted = await asyncio.to_thread(self._counted)
        limit = self._query.max_results
        while True:
            walk = Walk(self._tree, self._query.scope)
            sink = MatchSink(self._query, limit=limit)
            said = await self._drive([self._query.scope.path], sink, in_order=True)
            last = max((file.path for file in sink.files()), key=path_key) if said.was_ended else None
            linked = await asyncio.to_thread(_survey, walk, last)
            await self._absorb(walk, sink, said, linked=linked, until=last)
            if not said.was_ended or self._tally.shown >= self._query.max_results:
                return self._tally.found(walk.ledger, at_least=counted)
            limit *= 4  # our rules dropped some of what ripgrep found

    def _counted(self) -> tuple[int, int]:
        tally = Tally(self._query)
        walk = Walk(self._tree, self._query.scope)
        files = {file.path: file for file in self._sink.files()}
        for path in walk.seen(files):
            tally.add(files[path])
        return tally.counted

    async def _absorb(
        self, walk: Walk, sink: MatchSink, said: Said, *, linked: list[str], until: str | None = None
    ) -> None:
        """Take what a run found, and search what it should have searched."""
        await asyncio.to_thread(self._search_files, walk, linked)
        targets = await asyncio.to_thread(self._settle, walk, sink, said, until)
        targets += [link for link in walk.links if link not in linked]
        while targets and not self._tally.is_full:
            more = MatchSink(self._query, limit=self._query.count_limit)
            said = await self._drive(targets[:_MOST_TARGETS], more)
            targets = targets[_MOST_TARGETS:] + await asyncio.to_thread(self._settle, walk, more, said, until)

    def _settle(self, walk: Walk, sink: MatchSink, said: Said, until: str | None) -> list[str]:
        folders, files = wrongly_skipped(walk, said, until=until)
        self._add(walk, sink)
        self._search_files(walk, files)
        return folders

    def _add(self, walk: Walk, sink: MatchSink) -> None:
        for path in walk.seen(sink.binary):
            walk.ledger.note(Reason.BINARY, path)
        found = {file.path: file for file in sink.files()}
        for path in walk.seen(found):
            self._tally.add(found[path])

    def _search_files(self, walk: Walk, paths: Iterable[str]) -> None:
        """Search single files here: a link could lead elsewhere by the time that another process opens it."""
        for path in paths:
            one = search_file(path, self._query, self._pattern, self._tree, walk.ledger, stop=self._stop.is_set)
            if one is not None:
                self._tally.add(one)

    async def _drive(self, targets: list[str], sink: MatchSink, *, in_order: bool = False) -> Said:
        arguments = search_arguments(self._query, targets, in_order=in_order, ignore_files=self._above)
        return await drive(self._run, arguments, sink)


def wrongly_skipped(walk: Walk, said: Said, *, until: str | None = None) -> tuple[list[str], list[str]]:
    """Give the folders and files that ripgrep left out and our rules do not; what they do leave out is noted."""
    folders: list[str] = []
    files: list[str] = []
    end = path_key(until) if until is not None else None
    for skip in said.skips:
        if skip.path in walk.aliases or (end is not None and path_key(skip.path) > end):
            continue
        if skip.path in walk.folders:
            if skip.reason is None and walk.folders[skip.path]:
                folders.append(skip.path)
        elif walk.notes(skip.path, skip.reason):
            files.append(skip.path)
    return folders, files


def _judged_names(walk: Walk, names: list[str], said: Said) -> tuple[set[str], list[str]]:
    folders, files = wrongly_skipped(walk, said)
    return {*walk.seen(names), *files}, folders


def _survey(walk: Walk, until: str | None = None) -> list[str]:
    return list(walk.files(survey=True, until=until))


def _prepare(tree: Tree, scope: Scope) -> tuple[Kind, list[str]]:
    """Tell what the start is, and name the ignore files of the folders above it, which ripgrep would not read."""
    found = tree.resolve(scope.path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), scope.path)
    above = [""] if scope.path != "." else []
    for name in scope.path.split("/")[:-1]:
        above.append(f"{above[-1]}{name}/")
    kinds = () if scope.include_ignored else reversed(IGNORE_FILES)  # a later file outranks an earlier one
    return found[1], [folder + kind for kind in kinds for folder in above if tree.read(folder + kind) is not None]

"""Show a folder as a tree."""

import posixpath
from collections.abc import Iterator

from pydantic_ai import ModelRetry

from toolhaft.decorators import base_tool
from toolhaft.searching.outline import Node, Outline, outline
from toolhaft.spec import ToolKind, ToolText
from toolhaft.workspace import Files, workspace

# An ignore file longer than this is no ignore file that anybody wrote.
_MAX_IGNORE_BYTES = 1_000_000
_MAX_ENTRIES = 10_000


@base_tool(kind=ToolKind.READ)
async def list_dir(
    directory: str = ".", max_files: int = 100, show_hidden: bool = False, ignore: list[str] | None = None
) -> str:
    """Answer a folder as a tree, one entry a line, with sizes; what is left out is counted.

    Folders come first. Hidden entries, and those that ignore files or the patterns of `ignore` name, are left out.
    At most `max_files` entries (1 to 10,000) are shown, near ones before deep ones.

    Raises `ModelRetry` for a path that is missing or no folder.
    """
    if not 1 <= max_files <= _MAX_ENTRIES:
        raise ModelRetry(f"max_files={max_files} is out of range. Use 1 to {_MAX_ENTRIES:,}.")

    def listed(files: Files) -> ToolText:
        folder = posixpath.normpath(files.relative(directory))
        tree = outline(
            files.scan_dir,
            lambda path: _content(files, path),
            folder="" if folder == "." else folder,
            max_entries=max_files,
            show_hidden=show_hidden,
            ignore=ignore or (),
        )
        return _answer(tree, max_files)

    try:
        return await workspace().in_thread(listed)
    except FileNotFoundError as error:
        raise ModelRetry(f"There is no folder {directory!r}. List the folder above it, or '.'.") from error
    except NotADirectoryError as error:
        raise ModelRetry(f"{directory!r} is a file, not a folder. Read it with read_file.") from error


def _content(files: Files, path: str) -> bytes | None:
    """The bytes of an ignore file, None where there is none that can be read."""
    try:
        with files.open_file(path) as file:
            return file.read(_MAX_IGNORE_BYTES)
    except OSError:
        return None


def _answer(tree: Outline, max_files: int) -> ToolText:
    lines = [f"{tree.root.name or '.'}/", *_lines(tree.root)]
    if not tree.root.children and not tree.left_out:
        lines.append("  (empty)")
    notes = [f"{_number(tree.files, 'file')}, {_number(tree.folders, 'folder')}"]
    if tree.not_shown:
        notes.append(
            f"at least {tree.not_shown} more not shown: list a folder by itself, or raise max_files={max_files}"
        )
    for kind, (count, example) in tree.left_out.items():
        notes.append(f"{count} {kind} left out, such as {example}")
    text = "\n".join(lines) + f"\n\n[{'; '.join(notes)}]"
    left_out = {kind: count for kind, (count, _) in tree.left_out.items()}
    return ToolText(
        text,
        files=tree.files,
        folders=tree.folders,
        left_out=left_out,
        truncated=tree.not_shown > 0,
        not_shown=tree.not_shown,
    )


def _lines(root: Node) -> Iterator[str]:
    """Each entry below `root`, indented by its depth. No recursion: a tree may be deeper than Python's stack."""
    depth_first: list[tuple[str, Node | str]] = [("  ", line) for line in _below(root)]
    while depth_first:
        indent, line = depth_first.pop()
        yield indent + (line if isinstance(line, str) else _label(line))
        if not isinstance(line, str):
            depth_first += [(indent + "  ", inner) for inner in _below(line)]


def _below(folder: Node) -> list[Node | str]:
    """What stands below a folder, last line first."""
    more = [f"... {folder.not_shown} more"] if folder.not_shown and folder.children else []
    return [*more, *reversed(folder.children)]


def _label(node: Node) -> str:
    name = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in node.name)
    label = f"{name}/" if node.is_dir else name
    if node.size is not None:
        label += f"  {_size(node.size)}"
    if node.is_link:
        label += "  (link)"
    if node.not_shown and not node.children:
        label += f"  ({_number(node.not_shown, 'entry', 'entries')})"
    return f"{label}  ({node.problem})" if node.problem else label


def _size(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _number(count: int, noun: str, plural: str = "") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"

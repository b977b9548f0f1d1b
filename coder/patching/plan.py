"""Planning and writing of a patch: all of it or nothing."""

import difflib
import os
import re
import secrets
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from coder.core.errors import PatchError
from coder.core.paths import split_path
from coder.patching.match import (
    TO_ASCII,
    AlreadyApplied,
    Misfit,
    Placement,
    explain_misfits,
    learn_style,
    normalize_line,
    place_hunks,
    restyle_run,
)
from coder.patching.parse import (
    DEV_NULL,
    PREFIX,
    ChangedRun,
    FilePatch,
    HunkLine,
    PatchHunk,
    parse_diff,
)
from coder.patching.parse import reverse_patch as reversed_patch
from coder.python.source import decode_source as decode_declared
from coder.python.source import find_syntax_error, find_undefined_names

NEW_FILE_MODE = 0o644
MAX_REPORTED_FILES = 2
MAX_ERROR_LINES = 54
"""Of an error message, which has a few more at its end."""


@dataclass(frozen=True, kw_only=True)
class HunkEdit:
    """Replace the old lines from `start` up to `end` (indices) by new ones."""

    start: int
    end: int
    lines: tuple[HunkLine, ...]
    knows_the_end: bool
    """The diff states somewhere in the hunk whether a line end follows the file's last line."""
    ends: tuple[str, ...] = ()
    """The ends of the new lines, where the hunk changes line ends; else empty."""


@dataclass(frozen=True, kw_only=True)
class TextFile:
    lines: tuple[str, ...] = ()
    """Without their ends."""
    ends: tuple[str, ...] = ()
    """One for each line: LF or CR LF; only the last may be empty."""
    encoding: str = "utf-8"
    bom: bool = False

    @property
    def default_line_end(self) -> str:
        common = Counter(end for end in self.ends if end).most_common(1)
        return common[0][0] if common else "\n"

    @property
    def text(self) -> str:
        """The content, with the original line ends."""
        return "".join(line + end for line, end in zip(self.lines, self.ends, strict=True))


@dataclass(frozen=True, kw_only=True)
class FileChange:
    path: str
    """Relative to the root; the new name of a renamed file."""
    before: TextFile | None
    """None: the file is new."""
    after: TextFile | None
    """None: the file is deleted."""
    mode: int
    """Permission bits afterwards."""
    original: bytes = b""
    original_mode: int = 0o644
    renamed_from: str = ""
    edits: tuple[HunkEdit, ...] = ()
    done: tuple[int, ...] = ()
    """Numbers of the hunks that the file has already."""


@dataclass(frozen=True, kw_only=True)
class PlannedPatch:
    changes: tuple[FileChange, ...]
    done: tuple[str, ...] = ()
    """`path: hunk N` for each hunk that its file has already, and that therefore changes nothing."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that is written or removed."""
        return tuple(
            sorted({name for change in self.changes for name in (change.path, change.renamed_from) if name})
        )

    @cached_property
    def syntax_errors(self) -> tuple[str, ...]:
        """`path:line: message` for each Python file that newly does not parse, or is new and does not."""
        errors = []
        for change in self.changes:
            error = find_syntax_error(change.after.text, change.path) if change.after else ""
            if error and not (
                change.before and find_syntax_error(change.before.text, change.renamed_from or change.path)
            ):
                errors.append(error)
        return tuple(errors)

    @cached_property
    def undefined_names(self) -> tuple[str, ...]:
        """`path:line: undefined name 'x'` for each name that was not undefined before."""
        pairs = [
            (change, change.before or TextFile(), change.after) for change in self.changes if change.after
        ]
        return tuple(
            text
            for change, before, after in pairs
            if after
            for text in find_undefined_names(before.text, after.text, change.path)
        )


def plan_patch(
    diff: str,
    root: Path,
    *,
    reverse: bool = False,
    failed_before: Mapping[str, int] | None = None,
    may_read: Callable[[str], bool] = lambda _path: True,
    restore: Callable[[str, str], str] = lambda text, _source: text,
) -> PlannedPatch:
    """Compute the changes of a patch, or of its reversal; nothing is written.

    `failed_before` counts the failures of each hunk, keyed as in `PatchError.failed`: its error message then
    shows more of the file. `may_read` tells whether a file's content may be shown: others are not changed.
    `restore` replaces placeholders in a line of the patch by the file's content; it raises LookupError where
    the file does not contain it.

    Raises:
        PatchError: any part of it does not fit, is ambiguous, or leads outside of the root.
    """
    patches = parse_diff(diff)
    planned_targets = resolve_targets(
        [reversed_patch(patch) for patch in patches] if reverse else patches, root
    )
    changes: list[FileChange] = []
    faults: list[PatchError] = []
    for planned in planned_targets:
        try:
            tree = ConfinedTree(root, may_read=may_read)
            changes.append(
                _change(
                    _restore_secrets(planned, tree, restore),
                    tree,
                    failed_before or {},
                    MAX_ERROR_LINES // min(len(planned_targets), MAX_REPORTED_FILES),
                )
            )
        except PatchError as error:
            faults.append(error)
    if faults:
        fitting = ", ".join(change.path for change in changes[:10])
        lines = [line for fault in faults[:MAX_REPORTED_FILES] for line in fault.reason.split("\n")][
            :MAX_ERROR_LINES
        ]
        more = (
            [f"{len(faults) - MAX_REPORTED_FILES} more files do not fit either."]
            if len(faults) > MAX_REPORTED_FILES
            else []
        )
        also = [f"The changes of {fitting} would fit."] if fitting else []
        raise PatchError(
            "\n".join([*lines, *more, *also]), failed=frozenset().union(*(fault.failed for fault in faults))
        )
    done = tuple(f"{change.path}: hunk {number}" for change in changes for number in change.done)
    changes = [change for change in changes if _has_effect(change)]
    if not changes:
        raise PatchError("The patch changes nothing: the files are already as it makes them.")
    return PlannedPatch(changes=tuple(changes), done=done)


@dataclass(frozen=True, kw_only=True)
class PatchTarget:
    """One file's patch with the paths that its names resolve to."""

    source: str
    """The file it starts from; empty for a new file."""
    target: str
    """The resulting file; empty for a deleted file."""
    hunks: tuple[PatchHunk, ...]
    mode: str
    copies: bool = False
    """True if the source stays."""


class ConfinedTree:
    """A directory whose files are opened one path component at a time, without following symbolic links."""

    def __init__(self, root: Path, *, may_read: Callable[[str], bool] = lambda _path: True) -> None:
        """Create a view of `root`; `may_read` tells whether a path's content may be shown."""
        self._root = root
        self._may_read = may_read

    def read(self, path: str) -> tuple[bytes, int] | None:
        """Return a regular file's content and permission bits; None where the path does not exist.

        Raises:
            PatchError: it is not a regular file, there is a symbolic link on the way, or it may not be read.
        """
        if not self._may_read(path):
            raise PatchError(f"{path} may hold secrets: it may be neither read nor changed.")
        try:
            with self._parent(path) as (parent, name):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                _refuse_unusual(status, path)
                handle = os.open(
                    name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent
                )
                with os.fdopen(handle, "rb") as file:
                    return file.read(), stat.S_IMODE(status.st_mode)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PatchError(f"{path} cannot be read: {error.strerror}.") from None

    def exists(self, path: str) -> bool:
        try:
            with self._parent(path) as (parent, name):
                os.stat(name, dir_fd=parent, follow_symlinks=False)
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False

    def write(self, path: str, data: bytes, mode: int) -> None:
        """Replace or create a file atomically; missing directories are created.

        Raises:
            OSError: it could not be written; the old content is still there.
        """
        with self._parent(path, make=True) as (parent, name):
            temporary = f".coder-{secrets.token_hex(8)}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(temporary, flags, 0o600, dir_fd=parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    os.fchmod(handle, mode)
                    file.write(data)
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError:
                os.unlink(temporary, dir_fd=parent)
                raise

    def remove(self, path: str) -> None:
        """Delete a file and the directories that it leaves empty."""
        with self._parent(path) as (parent, name):
            os.unlink(name, dir_fd=parent)
        while (path := path.rpartition("/")[0]) and self._remove_if_empty(path):
            pass

    def _remove_if_empty(self, directory: str) -> bool:
        with self._parent(directory) as (parent, name):
            try:
                os.rmdir(name, dir_fd=parent)
            except OSError:  # not empty
                return False
        return True

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        *directories, name = path.split("/")
        handle = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for index, directory in enumerate(directories):
                inner = _enter(handle, directory, make=make, path="/".join(directories[: index + 1]))
                os.close(handle)
                handle = inner
            yield handle, name
        finally:
            os.close(handle)


def _restore_secrets(
    planned: PatchTarget, tree: ConfinedTree, restore: Callable[[str, str], str]
) -> PatchTarget:
    content = tree.read(planned.source) if planned.source else None
    source = decode_source(content[0], planned.source).text if content else ""
    try:
        hunks = tuple(
            replace(hunk, lines=tuple(replace(line, text=restore(line.text, source)) for line in hunk.lines))
            for hunk in planned.hunks
        )
    except LookupError as error:
        raise PatchError(
            f"{planned.target or planned.source} does not hold the value that {error.args[0]} stands for. "
            "A placeholder can be used only in the file that it was read from."
        ) from None
    return replace(planned, hunks=hunks)


def _change(
    planned: PatchTarget, tree: ConfinedTree, failed_before: Mapping[str, int], most_lines: int
) -> FileChange:
    if not planned.source:
        return _creation(planned, tree)
    content = tree.read(planned.source)
    if content is None:
        raise PatchError(f"{planned.source} does not exist.")
    data, mode = content
    before = decode_source(data, planned.source)
    if not planned.target:
        return _deletion(planned, before, data=data, mode=mode)
    if planned.target != planned.source and tree.exists(planned.target):
        raise PatchError(
            f"{planned.target} exists already; {planned.source} cannot be "
            f"{'copied' if planned.copies else 'renamed'} to it."
        )
    results = place_hunks(planned.hunks, before.lines)
    if any(isinstance(result, Misfit) for result in results):
        raise explain_misfits(
            planned.source, results, before.lines, failed_before=failed_before, most_lines=most_lines
        )
    changes = edits_of_hunks([result for result in results if isinstance(result, Placement)], planned.source)
    after = apply_edits(before, changes)
    encode_source(after, planned.target)
    if planned.copies:
        return FileChange(path=planned.target, before=None, after=after, mode=_mode(planned.mode, mode))
    return FileChange(
        path=planned.target,
        before=before,
        after=after,
        mode=_mode(planned.mode, mode),
        original=data,
        original_mode=mode,
        renamed_from=planned.source if planned.target != planned.source else "",
        edits=changes,
        done=tuple(result.hunk.number for result in results if isinstance(result, AlreadyApplied)),
    )


def _creation(planned: PatchTarget, tree: ConfinedTree) -> FileChange:
    if tree.exists(planned.target):
        raise PatchError(
            f"{planned.target} exists already. Patch what it holds, with '--- a/{planned.target}' "
            f"above '+++ b/{planned.target}'."
        )
    return FileChange(
        path=planned.target,
        before=None,
        after=new_file_source(planned.hunks, planned.target),
        mode=_mode(planned.mode, NEW_FILE_MODE),
    )


def _deletion(planned: PatchTarget, before: TextFile, *, data: bytes, mode: int) -> FileChange:
    lines = [
        line
        for hunk in {hunk.lines: hunk for hunk in planned.hunks}.values()
        for line in hunk.without_tail.lines
    ]
    if any(line.mark == "+" for line in lines):
        raise PatchError(f"{planned.source}: a deleted file cannot have added lines.")
    if lines and [normalize_line(line.text) for line in lines] != [
        normalize_line(line) for line in before.lines
    ]:
        raise PatchError(
            f"{planned.source} is not what the patch deletes: it has {len(before.lines)} lines, "
            f"the patch {len(lines)}. Read it first."
        )
    return FileChange(
        path=planned.source, before=before, after=None, mode=mode, original=data, original_mode=mode
    )


def _mode(octal: str, otherwise: int) -> int:
    """Return the permission bits; git records only whether a file is executable."""
    if not octal:
        return otherwise
    return otherwise | (otherwise & 0o444) >> 2 if octal.endswith("755") else otherwise & ~0o111


def _has_effect(change: FileChange) -> bool:
    if change.before is None or change.after is None or change.renamed_from:
        return True
    return encode_source(change.after, change.path) != change.original or change.mode != change.original_mode


MAX_PATHS = 50_000
EXCLUDED_DIRECTORIES = frozenset(
    {
        *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__"),
        *(".mypy_cache", ".ruff_cache"),
    }
)


def resolve_targets(patches: Sequence[FilePatch], root: Path) -> list[PatchTarget]:
    """Resolve the files that patches change; several sections for one file are merged.

    Raises:
        PatchError: a name leads out of the tree, matches no file or several, or two sections contradict each
        other.
    """
    merged: dict[str, PatchTarget] = {}
    for planned in (_resolve(patch, ConfinedTree(root), root) for patch in patches):
        path = planned.target if planned.copies else planned.source or planned.target
        if earlier := merged.get(path):
            planned = _merge(earlier, planned, path)
        merged[path] = planned
    targets = [planned.target for planned in merged.values() if planned.target]
    if duplicate := next((target for target in targets if targets.count(target) > 1), None):
        raise PatchError(f"The patch writes {duplicate} twice. Write each file once.")
    return list(merged.values())


def _merge(earlier: PatchTarget, later: PatchTarget, path: str) -> PatchTarget:
    if earlier == later:
        return earlier
    if (
        (earlier.source, earlier.target) != (later.source, later.target)
        or not later.source
        or not later.target
    ):
        raise PatchError(f"The patch says two different things about {path}. Write each file once.")
    hunks = tuple(
        replace(hunk, number=number) for number, hunk in enumerate((*earlier.hunks, *later.hunks), 1)
    )
    return replace(earlier, hunks=hunks, mode=later.mode or earlier.mode)


def _resolve(patch: FilePatch, tree: ConfinedTree, root: Path) -> PatchTarget:
    planned = PatchTarget(source="", target="", hunks=patch.hunks, mode=patch.mode)
    if patch.mode and not patch.mode.startswith("100"):
        raise PatchError(
            f"{patch.new or patch.old}: only regular files can be changed, not symbolic links or submodules."
        )
    if patch.renamed_from and patch.renamed_to:
        source, target = resolve_rename(patch.renamed_from, patch.renamed_to, tree.exists)
        return replace(planned, source=source, target=target, copies=patch.copies)
    if not (patch.old or patch.new):
        path = _find_without_header(patch, tree, root)
        return replace(planned, source=path, target=path)
    if patch.old == DEV_NULL or patch.creates:
        return replace(planned, target=new_file_path(patch.new if patch.new != DEV_NULL else patch.old))
    path = find_existing_path(patch.old, patch.new, tree.exists) or _find_by_suffix(patch, root)
    if path:
        return replace(planned, source=path, target="" if patch.new == DEV_NULL or patch.deletes else path)
    return replace(planned, target=_name(patch))


def _name(patch: FilePatch) -> str:
    return new_file_path(patch.new if patch.new not in ("", DEV_NULL) else patch.old)


def _find_by_suffix(patch: FilePatch, root: Path) -> str:
    """Return the only file deeper in the tree whose path ends as the header says.

    Empty where the header is a new file's.
    """
    name = _name(patch)
    if patch.hunks and all(map(_is_whole_file, patch.hunks)):
        return ""
    paths = list(_walk_paths(root))
    matches = [path for path in paths if path.endswith(f"/{name}")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise PatchError(f"{name} could be {' or '.join(matches[:3])}. Write the whole path.")
    similar = [
        path for path in paths if path.rpartition("/")[2] == name.rpartition("/")[2]
    ] or difflib.get_close_matches(name, paths, n=3)
    hint = (
        f" Did you mean {' or '.join(similar[:3])}?"
        if similar
        else " A new file has '--- /dev/null' above '+++ b/path'."
    )
    raise PatchError(f"{name} does not exist.{hint}")


def _is_whole_file(hunk: PatchHunk) -> bool:
    lines = hunk.without_tail.lines
    return hunk.start <= 1 and not any(
        line.mark == "-" or (line.mark == " " and line.text.strip()) for line in lines
    )


def _find_without_header(patch: FilePatch, tree: ConfinedTree, root: Path) -> str:
    """Return the file of hunks without a header: the only one that the lines above them name."""
    hints = [
        hint
        for hint in patch.hints
        if not hint.startswith(("/", "~", "-")) and ".." not in hint and "\\" not in hint
    ]
    if header_hints := patch.hints[: not hints]:
        normalize_path(header_hints[0])
    named = [
        path
        for hint in hints
        for spelling in (hint, PREFIX.sub("", hint))
        if tree.exists(path := normalize_path(spelling))
    ] or [path for path in _walk_paths(root) if any(path.endswith(f"/{hint}") for hint in hints)]
    if len({*named}) == 1:
        return named[0]
    explanation = (
        f"it could be {' or '.join(dict.fromkeys(named[:3]))}" if named else "no file is named above it"
    )
    raise PatchError(
        f"A hunk belongs to no file: {explanation}. Put '--- a/path' and '+++ b/path' above its '@@'."
    )


def _walk_paths(root: Path) -> Iterator[str]:
    """Yield the files below the root, except in directories that patches do not touch."""
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(inner for inner in folders if inner not in EXCLUDED_DIRECTORIES)
        yield from (os.path.relpath(f"{folder}/{file}", root) for file in sorted(files) if file.isprintable())
        count += len(files)
        if count > MAX_PATHS:
            return


def edits_of_hunks(placed: Sequence[Placement], path: str) -> tuple[HunkEdit, ...]:
    """Return the edits of all hunks from top to bottom; duplicates count once.

    Raises:
        PatchError: two hunks change the same place differently, or the indentation of a hunk cannot be
        determined.
    """
    pairs = [(edit, placement.hunk) for placement in placed for edit in _edits_of_hunk(placement, path)]
    pairs.sort(key=lambda pair: (pair[0].start, pair[0].end))
    accepted: list[tuple[HunkEdit, PatchHunk]] = []
    for edit, hunk in pairs:
        if accepted and edit == accepted[-1][0] and hunk.number != accepted[-1][1].number:
            continue
        if accepted and _collide(accepted[-1][0], edit):
            raise PatchError(
                f"{path}: hunk {accepted[-1][1].number} and hunk {hunk.number} change line "
                f"{edit.start + 1} in different ways. "
                "Write that place once."
            )
        accepted.append((edit, hunk))
    return tuple(edit for edit, _ in accepted)


def _collide(above: HunkEdit, below: HunkEdit) -> bool:
    return below.start < above.end or (below.start == above.start and below.end == above.end)


def _edits_of_hunk(placement: Placement, path: str) -> list[HunkEdit]:
    """Return one edit for each run of changed lines between context lines."""
    hunk, style = placement.hunk, learn_style(placement.pairs)
    knows_the_end = any(not line.ends for line in hunk.lines)
    states_ends = any(map(_changes_line_ends, hunk.runs))
    result = []
    for run, spot in zip(hunk.runs, placement.spots, strict=True):
        added = restyle_run(run, style) if style else None
        if added is None:
            raise PatchError(
                f"{path}, hunk {hunk.number}: its lines are indented in other ways than those of "
                "the file, so how far to indent what it "
                f"adds at line {spot + 1} is unknown. Copy context and removed lines from the "
                "file with their indentation."
            )
        result.append(
            HunkEdit(
                start=spot,
                end=spot + len(run.removed),
                lines=added,
                knows_the_end=knows_the_end,
                ends=tuple("\r\n" if line.text.endswith("\r") else "\n" for line in run.added)
                if states_ends
                else (),
            )
        )
    return result


def _changes_line_ends(run: ChangedRun) -> bool:
    """Tell whether a line is removed and added with another end alone, as a diff shows it: with a CR."""
    return any(
        old.text != new.text and old.text.removesuffix("\r") == new.text.removesuffix("\r")
        for old, new in zip(run.removed, run.added, strict=False)
    )


def apply_edits(source: TextFile, changes: Sequence[HunkEdit]) -> TextFile:
    """Apply edits to a file.

    Line ends are the file's own; so is a missing one at its end where the diff does not state otherwise.
    """
    lines, ends = list(source.lines), list(source.ends)
    for edit in reversed(changes):
        end = next(
            (end for end in reversed(ends[max(0, edit.start - 1) : edit.end]) if end), source.default_line_end
        )
        lines[edit.start : edit.end] = [line.text.removesuffix("\r") for line in edit.lines]
        ends[edit.start : edit.end] = edit.ends or [end] * len(edit.lines)
    ends = [end or source.default_line_end for end in ends]
    if ends:
        ends[-1] = _last_end(source, changes, otherwise=ends[-1])
    return replace(source, lines=tuple(lines), ends=tuple(ends))


def _last_end(source: TextFile, changes: Sequence[HunkEdit], *, otherwise: str) -> str:
    last = changes[-1] if changes else None
    if last is None or last.end < len(source.lines):
        return source.ends[-1] if source.ends else otherwise
    if last.lines and not last.lines[-1].ends:
        return ""
    open_ended = bool(source.ends) and not source.ends[-1]
    return "" if open_ended and last.lines and not last.knows_the_end else otherwise


def new_file_source(hunks: Sequence[PatchHunk], path: str) -> TextFile:
    """Return a new file's content; tolerate blank lines without a + and a stray space after each +.

    Raises:
        PatchError: there are lines that are not added.
    """
    lines = [
        line for hunk in {hunk.lines: hunk for hunk in hunks}.values() for line in hunk.without_tail.lines
    ]
    if stray := next(
        (line for line in lines if line.mark == "-" or (line.mark == " " and line.text.strip())), None
    ):
        raise PatchError(
            f"{path} does not exist yet, so every line of it must start with '+', unlike "
            f"{stray.mark + stray.text!r}."
        )
    end = "\r\n" if lines and all(line.text.endswith("\r") for line in lines) else "\n"
    texts = [line.text.removesuffix("\r") if line.mark == "+" else "" for line in lines]
    if (
        path.endswith(".py")
        and all(text[:1] in ("", " ") for text in texts)
        and any(text[1:2].strip() for text in texts)
    ):
        texts = [text[1:] for text in texts]
    ends = tuple(end if line.ends else "" for line in lines[-1:])
    return TextFile(lines=tuple(texts), ends=(end,) * (len(texts) - 1) + ends)


def normalize_path(name: str) -> str:
    """Normalize a name to a path relative to the root.

    Raises:
        PatchError: it leads out of the tree, or into git's own files, however spelled.
    """
    if re.match(r"[/~]|[A-Za-z]:", name) or "\\" in name:
        raise PatchError(
            f"{name!r} is not a path inside the repository. Paths are relative to its root, "
            "with forward slashes."
        )
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise PatchError(
            f"The path {name!r} holds control or undecodable characters; such files cannot be changed here."
        )
    try:
        parts = split_path(name)
    except ValueError as error:
        raise PatchError(str(error)) from None
    if not parts:
        raise PatchError(f"{name!r} names no file.")
    return "/".join(parts)


def find_existing_path(old: str, new: str, exists: Callable[[str], bool]) -> str:
    """Return the existing file that a header's two names refer to; empty where there is none.

    Raises:
        PatchError: the names differ, and it is not only the old one that is missing.
    """
    names = [name for name in (old, new) if name and name != DEV_NULL]
    spellings = [[PREFIX.sub("", name) for name in names], names]
    spellings = spellings if _has_prefixes(names) else spellings[::-1]
    clashing: list[str] = []
    for spelling in [
        *spellings,
        *([name.translate(TO_ASCII) for name in spelling] for spelling in spellings),
    ]:
        candidates = list(dict.fromkeys(map(normalize_path, spelling)))
        existing_names = [name for name in candidates if exists(name)]
        if existing_names and existing_names == candidates[-1:]:
            return existing_names[0]
        clashing = clashing or (candidates if existing_names else [])
    if clashing:
        raise PatchError(
            f"The header names two files, {clashing[0]} and {clashing[1]}. Write the same path twice, "
            "or put 'rename from' and 'rename to' lines under a 'diff --git' line."
        )
    return ""


def _has_prefixes(names: Sequence[str]) -> bool:
    """Tell whether a/ and b/ (or i/ and w/ ...) are a diff's prefixes and not a directory's name."""
    starts = {name[:2] for name in names}
    return all(map(PREFIX.match, names)) and (
        len(starts) == 2 or (len(names) == 1 and starts <= {"a/", "b/"})
    )


def resolve_rename(old: str, new: str, exists: Callable[[str], bool]) -> tuple[str, str]:
    """Return both names of a renamed file; git writes them without a/ and b/, models sometimes with them."""
    stripped = (old.removeprefix("a/"), new.removeprefix("b/"))
    if stripped != (old, new) and not exists(normalize_path(old)) and exists(normalize_path(stripped[0])):
        return normalize_path(stripped[0]), normalize_path(stripped[1])
    return normalize_path(old), normalize_path(new)


def new_file_path(name: str) -> str:
    return normalize_path(re.sub(r"^[ab]/", "", name))


BOM = b"\xef\xbb\xbf"
LINE = re.compile(r"([^\r\n]*(?:\r(?!\n)[^\r\n]*)*)(\r\n|\n|$)")


def decode_source(data: bytes, path: str) -> TextFile:
    """Decode a file's bytes; Latin-1 if neither UTF-8 nor the encoding that a Python file declares fits.

    Raises:
        PatchError: it is binary.
    """
    if b"\0" in data[:8192]:
        raise PatchError(f"{path} is a binary file; only text files can be changed.")
    bom = data.startswith(BOM)
    body = data.removeprefix(BOM)
    encoding, text = _decode_text(body, path)
    pairs = [(match[1], match[2]) for match in LINE.finditer(text) if match[0]]
    return TextFile(
        lines=tuple(line for line, _ in pairs),
        ends=tuple(end for _, end in pairs),
        encoding=encoding,
        bom=bom,
    )


def encode_source(source: TextFile, path: str) -> bytes:
    """Return the bytes of the file.

    Raises:
        PatchError: a character does not exist in the file's encoding.
    """
    try:
        return (BOM if source.bom else b"") + source.text.encode(source.encoding)
    except UnicodeEncodeError as error:
        character = error.object[error.start : error.start + 1]
        raise PatchError(
            f"{path} is encoded in {source.encoding}, which has no {character!r}. Write that "
            "character another way."
        ) from None


def _decode_text(body: bytes, path: str) -> tuple[str, str]:
    with suppress(UnicodeDecodeError):
        return "utf-8", body.decode("utf-8")
    if path.endswith((".py", ".pyi")):
        with suppress(SyntaxError, ValueError):
            text, encoding = decode_declared(body)
            return encoding, text
    return "latin-1", body.decode("latin-1")


DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _enter(handle: int, name: str, *, make: bool, path: str) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=handle)
    if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
        raise PatchError(
            f"{path} is a symbolic link; nothing is changed through one. Name the real directory."
        )
    return os.open(name, DIRECTORY, dir_fd=handle)


def _refuse_unusual(status: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise PatchError(
            f"{path} is a symbolic link; nothing is changed through one. Patch the file it points to."
        )
    if not stat.S_ISREG(status.st_mode):
        raise PatchError(
            f"{path} is {'a directory' if stat.S_ISDIR(status.st_mode) else 'no regular file'}; "
            "only text files can be opened."
        )


def write_patch(planned: PlannedPatch, tree: ConfinedTree) -> None:
    """Write every change; undo the earlier ones where one fails.

    Raises:
        PatchError: a file could not be written, or has changed since the plan was made; the tree is
        unchanged.
    """
    done: list[FileChange] = []
    try:
        for change in planned.changes:
            _check_unchanged(change, tree)
            done.append(change)
            _write(change, tree)
    except (OSError, PatchError) as error:
        for change in reversed(done):
            _undo(change, tree)
        raise PatchError(
            f"{change.path} could not be written: {error.strerror}."
            if isinstance(error, OSError)
            else error.reason
        ) from None


def _check_unchanged(change: FileChange, tree: ConfinedTree) -> None:
    content = tree.read(change.renamed_from or change.path)
    if (content[0] if content else None) != (None if change.before is None else change.original):
        raise PatchError(f"{change.renamed_from or change.path} was changed by something else meanwhile.")


def _write(change: FileChange, tree: ConfinedTree) -> None:
    if change.after is None:
        tree.remove(change.path)
        return
    tree.write(change.path, encode_source(change.after, change.path), change.mode)
    if change.renamed_from:
        tree.remove(change.renamed_from)


def _undo(change: FileChange, tree: ConfinedTree) -> None:
    if change.before is not None:
        tree.write(change.renamed_from or change.path, change.original, change.original_mode)
    if (change.before is None or change.renamed_from) and tree.exists(change.path):
        tree.remove(change.path)

"""Checkouts with the extension modules that their own sources compile to."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from coder.core.paths import is_test_path
from coder.core.ports import Progress
from coder.core.verdict import EXIT_CODE, Failure, TestResult, Verdict, VerdictKind
from coder.files.regular_files import read_regular
from coder.patching.plan import ConfinedTree
from coder.verify.extensions.build import LARGEST_BYTES, Build, ExtensionBuilder
from coder.verify.extensions.projects import compiled_sources, find_modules, find_projects
from coder.verify.test_files.split import Trees

MODULE_MODE = 0o755


class BuiltTrees:
    """`Trees` in which extension modules are built as soon as a change touches their sources.

    Until then, checkouts have the modules of the user's checkout. Each version of the sources is built once,
    in a checkout of its own: of what a build writes, only extension modules reach the trees that are tested.
    """

    def __init__(self, trees: Trees, builder: ExtensionBuilder | None = None) -> None:
        """Wrap `trees`; without a builder nothing is ever built."""
        self._trees = trees
        self._builder = builder
        self._builds: dict[tuple[str, ...], Build] = {}
        self._lock = threading.Lock()
        self.inputs: tuple[str, ...] = ()
        """Changed files that a build may read, of all changes so far; empty if nothing is built."""

    @property
    def base(self) -> str:
        return self._trees.base

    @property
    def modules(self) -> tuple[str, ...]:
        """Paths of all extension modules that were built."""
        return tuple(dict.fromkeys(path for build in self._builds.values() for path in build.modules))

    @property
    def circumstances(self) -> tuple[str, ...]:
        """A sentence for the evidence, if anything was built."""
        names = ", ".join(self.modules)
        return (f"Built on both sides from their own sources: {names}.",) if names else ()

    def changed_paths(self, tree: str) -> tuple[str, ...]:
        return self._trees.changed_paths(tree)

    def changed_texts(self, tree: str) -> Mapping[str, str | None] | None:
        return self._trees.changed_texts(tree)

    @contextmanager
    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> Iterator[Path]:
        """Check out `base` with the content of `tree`, all of it or at `paths` only, until exit."""
        with self._trees.checkout(tree, paths) as place:
            if self._builder is not None and self.inputs:
                _write_modules(self._build(self._builder, tree, paths, place), place)
            yield place

    def rebuild(self, place: Path, paths: Sequence[str]) -> str:
        """Build in a checkout whose changed `paths` touch extension modules; return why that failed."""
        projects = find_projects(compiled_sources(paths), place) if self._builder else ()
        if self._builder is None or not projects:
            return ""
        build = self._builder.build(place, projects)
        _write_modules(build, place)
        return f"The extension modules cannot be built: {build.error}.\n{build.output}" if build.error else ""

    def prepare(self, tree: str, progress: Progress | None = None) -> Verdict | None:
        """Build the extension modules of the base and of `tree`, if it changes their sources.

        Return the verdict on a change that cannot be judged for them, None for any other.
        """
        changed = self._trees.changed_paths(tree)
        sources = compiled_sources(changed)
        if self._builder is None or not sources:
            return None
        with self._trees.checkout(tree) as place:
            is_known = bool(find_projects(sources, place))
            stale = [path for path in find_modules(place) if not is_test_path(path)]
        if not is_known:
            return _unknown_build(sources, stale) if stale and self._builder.is_recorded else None
        self.inputs = tuple(
            sorted({*self.inputs, *sources, *(path for path in changed if not is_test_path(path))})
        )
        if progress is not None:
            progress("extension modules: the change touches their sources, they are built on both sides")
        with self._trees.checkout(self.base, ()) as old, self._trees.checkout(tree) as new:
            base = self._build(self._builder, self.base, (), old)
            change = base if base.error else self._build(self._builder, tree, None, new)
        if base.error and not self._builder.is_recorded:  # the tests may need no extension module
            return None
        return _failed_build(change, sources, on_base=base is change) if change.error else None

    def _build(self, builder: ExtensionBuilder, tree: str, paths: Sequence[str] | None, place: Path) -> Build:
        """Return the build of a checkout's sources; the first time it takes place in another checkout."""
        with self._lock:
            key = tuple(_digest(place, path) for path in self.inputs)
            if key not in self._builds:
                with self._trees.checkout(tree, paths) as workshop:
                    projects = find_projects(compiled_sources(self.inputs), workshop)
                    self._builds[key] = builder.build(workshop, projects)
            return self._builds[key]


def _write_modules(build: Build, place: Path) -> None:
    for path, content in build.modules.items():
        ConfinedTree(place).write(path, content, MODULE_MODE)


def _digest(place: Path, path: str) -> str:
    content = read_regular(place / path, within=place, limit_bytes=LARGEST_BYTES)
    return "" if content is None else sha256(content).hexdigest()


def _unknown_build(sources: Sequence[str], stale: Sequence[str]) -> Verdict:
    reason = (
        f"The change touches {sources[0]}, and nothing is known that compiles it: the tests would load "
        f"{stale[0]} as it was built in your checkout."
    )
    return Verdict(kind=VerdictKind.INCONCLUSIVE, reason=reason)


def _failed_build(build: Build, sources: Sequence[str], *, on_base: bool) -> Verdict:
    failure = Failure(type=EXIT_CODE, message=build.error, text=build.output or build.error)
    result = TestResult(id=sources[0], outcome="error", failure=failure)
    if on_base:
        reason = f"The change touches {sources[0]}, and the base's extension modules cannot be built: "
        return Verdict(kind=VerdictKind.INCONCLUSIVE, reason=f"{reason}{build.error}.", still_red=(result,))
    if build.lacks_library:
        reason = f"The change to {sources[0]} needs what is not installed: {build.error}."
        return Verdict(kind=VerdictKind.INCONCLUSIVE, reason=reason, still_red=(result,))
    reason = f"The extension modules of the base can be built, and those of the change cannot: {build.error}."
    return Verdict(kind=VerdictKind.BROKEN, reason=reason, broken=(result,))

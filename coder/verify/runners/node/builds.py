"""Builds that the test script of a Node.js package runs first, and tests that are compiled by them."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.paths import is_test_path
from coder.core.verdict import TestResult
from coder.files.regular_files import read_regular_text
from coder.verify.runners.adapter import Invocation, Run, build_failures, plain_text
from coder.verify.runners.node.packages import ScriptPart, split_launchers
from coder.verify.runners.sources import DEEPEST_MANIFEST, find_positions, source_files

BUILDERS = frozenset(
    {
        *(
            "babel",
            "bili",
            "esbuild",
            "microbundle",
            "ncc",
            "node-gyp",
            "parcel",
            "rollup",
            "rslib",
            "rspack",
        ),
        *("swc", "tsc", "tsdown", "tshy", "tsup", "unbuild", "vite", "webpack", "zshy"),
    }
)
BUILD_SCRIPT = re.compile(r"(?:pre|post)?(?:build|bundle|codegen|compile|generate|transpile)\b")
BUILD_FILE = re.compile(r"build|bundle|compile|generate|transpile")
"""In the name of a file that Node runs."""
CHECKERS = frozenset(
    {"biome", "dprint", "eslint", "knip", "oxlint", "prettier", "publint", "standard", "tsd", "tslint", "xo"}
)
CHECKS_ALONE = frozenset({"--noEmit", "--watch", "-w"})
"""Options with which a compiler writes nothing, or does not end."""
COMPILED_SUFFIXES = (".ts", ".tsx", ".mts", ".cts")
LOADS_TYPESCRIPT = re.compile(r"\b(?:tsx|ts-node|esbuild|swc|strip-types|jiti)\b|\.[cm]?tsx?\b")
"""In a command that runs TypeScript itself."""
PROGRAMS = tuple(f"$PWD/{'../' * level}node_modules/.bin" for level in range(DEEPEST_MANIFEST + 1))
"""Directories of installed programs, of the package and of those around it."""
BUILT = "built"
"""A file that is there once the build has ended well."""
TYPESCRIPT_POSITION = re.compile(r"^(?P<path>[\w./@+-]+)(?:\(|:)(?P<line>\d+)[,:]\d+\)?(?::| -) error", re.M)


def is_check(part: ScriptPart) -> bool:
    """Tell whether a part of a test script is a linter, or a compiler that writes nothing."""
    words = split_launchers(part.words)[1]
    return _program(words) in CHECKERS or bool(CHECKS_ALONE & {*words})


def is_build(part: ScriptPart) -> bool:
    """Tell whether a part of a test script writes files that the tests may need."""
    words = split_launchers(part.words)[1]
    program = _program(words)
    if not program or is_check(part):
        return False
    runs_build = program == "node" and BUILD_FILE.search(" ".join(words[1:])) is not None
    return program in BUILDERS or runs_build or BUILD_SCRIPT.match(part.script) is not None


def _program(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def add_builds(invocation: Invocation, builds: Sequence[str], place: Path) -> Invocation:
    """Return an invocation that runs the builds first, and no test if one of them fails."""
    if not builds:
        return invocation
    script = "\n".join(
        [
            f'PATH="{":".join(PROGRAMS)}:$PATH"',
            *(f"{{ {build}\n}} || exit" for build in builds),
            f": > {shlex.quote(str(place / BUILT))}",
            'exec "$@"',
        ]
    )
    return invocation.model_copy(update={"argv": ("sh", "-c", script, "sh", *invocation.argv)})


def selects_compiled_tests(run: Run, builds: Sequence[str]) -> bool:
    """Tell whether tests to run are compiled first: files to run are then not those that define them."""
    is_compiled = any(path.endswith(COMPILED_SUFFIXES) for path in run.files)
    return is_compiled and bool(builds) and not LOADS_TYPESCRIPT.search(" ".join(run.argv))


def read_failed_build(run: Run) -> Iterator[TestResult]:
    """Yield the test files that errors of a failed build name, or else all; none if no compiler names one."""
    if (run.place / BUILT).exists():
        return
    text = plain_text(run.output)
    if error := TYPESCRIPT_POSITION.search(text):
        text = text[error.start() :]
    frames = find_positions(text, run.tree, pattern=TYPESCRIPT_POSITION)
    tests = [path for path in source_files(run.tree, COMPILED_SUFFIXES) if is_test_path(path)]
    yield from build_failures(run, frames, text, test_files=tests)


def with_source_ids(results: Sequence[TestResult], tree: Path) -> Iterator[TestResult]:
    """Yield results with the paths of TypeScript files instead of those of the compiled ones."""
    sources = list(source_files(tree, COMPILED_SUFFIXES))
    known: dict[str, str] = {}
    for result in results:
        path, colons, name = result.id.partition("::")
        if path not in known:
            known[path] = _mapped_source(path, tree) or _source_named_like(path, sources) or path
        yield result.model_copy(update={"id": f"{known[path]}{colons}{name}"})


def _mapped_source(path: str, tree: Path) -> str:
    """Return the source that the source map of a compiled file names; empty if there is none."""
    try:
        source_map: Mapping[str, object] = json.loads(read_regular_text(tree / f"{path}.map"))
        sources = source_map.get("sources")
    except (AttributeError, ValueError):
        return ""
    if not isinstance(sources, list) or len(sources) != 1:
        return ""
    root = tree.resolve()
    source = (root / path).parent.joinpath(str(source_map.get("sourceRoot") or ""), str(sources[0])).resolve()
    is_source = source.is_relative_to(root) and source.is_file()
    return source.relative_to(root).as_posix() if is_source else ""


def _source_named_like(path: str, sources: Sequence[str]) -> str:
    """Return the source whose path ends like that of a compiled file; empty unless it is the only one."""
    parts = PurePosixPath(path).with_suffix("").parts
    if not path.endswith((".js", ".mjs", ".cjs")):
        return ""
    for start in range(len(parts)):
        end = PurePosixPath(*parts[start:])
        found = [source for source in sources if _ends_with(PurePosixPath(source).with_suffix(""), end)]
        if found:
            return found[0] if len(found) == 1 else ""
    return ""


def _ends_with(path: PurePosixPath, end: PurePosixPath) -> bool:
    return path.parts[-len(end.parts) :] == end.parts

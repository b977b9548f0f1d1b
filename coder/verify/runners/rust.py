"""Adapter of `cargo test`."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from coder.core.text import parse_toml
from coder.core.verdict import Failure, Frame, Outcome, TestResult
from coder.files.regular_files import manifest_directories, nearest
from coder.verify.runners.adapter import (
    LONGEST_TEXT,
    Invocation,
    Run,
    collection_failure,
    json_object,
    path_in_tree,
    read_source,
    split_operands,
    without_options,
)

ENVIRONMENT: Mapping[str, str] = {"CARGO_TERM_COLOR": "never"}
OUTPUT_OPTIONS = ("-q", "--quiet", "-v", "--verbose", "-vv", "--message-format", "--color", "--no-fail-fast")
HARNESS_OUTPUT_OPTIONS = (
    *("--nocapture", "--no-capture", "--show-output", "--format", "-q", "--quiet", "--color"),
)
"""Options of test binaries by which what a test prints would be read as results."""
TARGET_OPTIONS = (
    *("-p", "--package", "--workspace", "--all", "--exclude", "--lib", "--bins", "--bin", "--tests"),
    *("--test", "--examples", "--example", "--benches", "--bench", "--all-targets", "--doc"),
)
WITH_VALUES = frozenset(
    {
        *("-p", "--package", "--exclude", "--bin", "--test", "--example", "--bench", "-F", "--features"),
        *("-j", "--jobs", "--profile", "--target", "--target-dir", "--manifest-path"),
        *("--message-format", "--color", "--config", "-Z", "--format", "-C"),
    }
)
HARNESS_WITH_VALUES = ("--skip", "--test-threads", "-Z", "--logfile", "--shuffle-seed", "--color", "--format")
RUNNING = re.compile(r"\s+Running (?:unittests )?.+ \((?P<program>.+)\)")
DOC_TESTS = re.compile(r"\s+Doc-tests \S+")
COUNT = re.compile(r"running (?P<count>\d+) tests?")
TEST_LINE = re.compile(
    r"test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<outcome>ok|FAILED|ignored)(?:, .*)?"
)
DOC_NAME = re.compile(r"(?P<path>\S+\.\w+) - (?P<name>.*?)\s*\(line \d+\).*")
SECTION = re.compile(r"---- (?P<name>.+?)(?: - should panic)? stdout ----")
PANIC = re.compile(
    r"^thread '.*?'(?: \(\d+\))? panicked at (?P<path>[^\s:']+):(?P<line>\d+):\d+:\n(?P<message>.*?)"
    r"(?=\nstack backtrace:|\nnote: |\nthread '|\Z)",
    re.M | re.S,
)
OUTCOMES: dict[str, Outcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
DOC_TEST = "doc-test"
"""First word of the names of examples in documentation."""


class CargoTest:
    name = "cargo"

    def find_commands(self, root: Path) -> Iterator[str]:
        """Yield the command for all packages, also of a workspace below the directory."""
        directories = manifest_directories(root, "Cargo.toml")
        if not directories:
            return
        manifest = _read_manifest(root, directories[0])
        place = "" if directories[0] == "." else f" --manifest-path {directories[0]}/Cargo.toml"
        yield f"cargo test{place}{' --workspace' if 'workspace' in manifest else ''}"

    def recognizes(self, words: Sequence[str]) -> bool:
        """Tell whether Cargo runs tests, also with a chosen toolchain."""
        names = [word for word in words[:3] if not word.startswith("+")]
        return bool(words) and words[0].rpartition("/")[2] == "cargo" and names[1:2] in (["test"], ["t"])

    def prepare(self, run: Run) -> Invocation:
        """Name packages, test targets and tests where the files allow it."""
        start = next(index for index, word in enumerate(run.argv) if word in ("test", "t")) + 1
        words = run.argv[start:]
        end = words.index("--") if "--" in words else len(words)
        options, names = split_operands(
            without_options(words[:end], OUTPUT_OPTIONS, WITH_VALUES), WITH_VALUES
        )
        harness = without_options(words[end + 1 :], HARNESS_OUTPUT_OPTIONS, HARNESS_WITH_VALUES)
        if run.files:
            options = (*without_options(options, TARGET_OPTIONS, WITH_VALUES), *_targets(run))
            kept, _ = split_operands(harness, HARNESS_WITH_VALUES)
            names, harness = (), (*_selection(run.tests), *kept)
        reporting = ("--no-fail-fast", "--message-format=json")
        argv = (*run.argv[:start], *reporting, *options, *names, "--", *harness)
        return Invocation(argv=argv, environment=ENVIRONMENT)

    def read_results(self, run: Run) -> Iterator[TestResult]:
        """Yield the results that test binaries print, below the headings that Cargo prints before each."""
        sources: dict[str, str] = {}
        errors: list[dict[str, Any]] = []
        binaries: list[tuple[str, list[str]]] = []
        for line in run.output.splitlines():
            message = json_object(line) if line.startswith('{"reason":') else {}
            if program := message.get("executable"):
                sources[PurePosixPath(program).name] = str(message["target"]["src_path"])
            elif message.get("reason") == "compiler-message" and message["message"].get("level") == "error":
                errors.append(message)
            elif heading := RUNNING.fullmatch(line):
                binaries.append((sources.get(PurePosixPath(heading["program"]).name, ""), []))
            elif DOC_TESTS.fullmatch(line):
                binaries.append(("", []))
            elif binaries and not message:
                binaries[-1][1].append(line)
        for source, lines in binaries:
            yield from _read_binary(path_in_tree(source, run.tree), lines, run.tree)
        yield from _compile_failures(errors, run)


def _targets(run: Run) -> list[str]:
    """Return the options for the packages of files, and for test targets if all files are some."""
    directories = manifest_directories(run.tree, "Cargo.toml")
    packages, targets = dict[str, None](), dict[str, None]()
    for path in run.files:
        directory = nearest(directories, path)
        manifest = _read_manifest(run.tree, directory)
        name = manifest.get("package", {}).get("name")
        packages |= {name: None} if name else {}
        parts = PurePosixPath(path).relative_to(directory).parts
        is_target = len(parts) == 2 and parts[0] == "tests" and path.endswith(".rs")
        targets |= {parts[1].removesuffix(".rs") if is_target and "test" not in manifest else "": None}
    options = [word for name in packages for word in ("-p", name)] if len(directories) > 1 else []
    return options if "" in targets else [*options, *(word for name in targets for word in ("--test", name))]


def _selection(tests: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments that select tests by name; none if a whole file or an example is asked for."""
    names = [test.partition("::")[2] for test in tests]
    return () if any(not name or name.startswith(DOC_TEST) for name in names) else ("--exact", *names)


def _read_binary(source: str, lines: Sequence[str], tree: Path) -> Iterator[TestResult]:
    """Yield the results of one test binary, whose root module is `source`.

    If other lines look like results, what printed them is unknown, and no test counts as passed.
    """
    count, is_over = 0, False
    found: list[tuple[str, Outcome]] = []
    sections: dict[str, list[str]] = {}
    section: list[str] | None = None
    for line in lines:
        if match := COUNT.fullmatch(line):
            count += int(match["count"])
        elif line.startswith("test result: "):
            is_over, section = True, None
        elif line == "failures:":
            section = []
        elif section is None and (match := TEST_LINE.fullmatch(line)):
            found.append((match["name"], OUTCOMES[match["outcome"]]))
        elif section is not None and (match := SECTION.fullmatch(line)):
            section = sections.setdefault(match["name"], [])
        elif section is not None:
            section.append(line)
    is_consistent = len(found) == count if is_over else len(found) <= count
    for name, outcome in found:
        if is_consistent or outcome != "passed":
            failure = _parse_failure("\n".join(sections.get(name, ()))) if outcome == "failed" else None
            yield TestResult(id=_test_id(source, name, tree), outcome=outcome, failure=failure)


def _test_id(source: str, name: str, tree: Path) -> str:
    """Return the id of a test, with the file of its module; the names of examples contain theirs."""
    if example := DOC_NAME.fullmatch(name):
        return f"{example['path']}::{DOC_TEST} {example['name']}".rstrip()
    path, directory = source, PurePosixPath(source).parent
    for module in name.split("::")[:-1]:
        candidates = (directory / f"{module}.rs", directory / module / "mod.rs")
        file = next((file for file in candidates if (tree / file).is_file()), None)
        if file is None:
            break
        path, directory = str(file), directory / module
    return f"{path}::{name}"


def _parse_failure(text: str) -> Failure:
    """Return the failure that a panic message describes; an `unwrap` of a test is an assertion."""
    body = text.strip()
    panic = PANIC.search(body)
    if panic is None:
        return Failure(type="AssertionError", message=body.partition("\n")[0], text=body[-LONGEST_TEXT:])
    is_assertion = panic["message"].startswith("assertion") or (
        panic["message"].startswith("called `") and "tests" in PurePosixPath(panic["path"]).parts
    )
    frame = Frame(path=panic["path"], line=int(panic["line"]), function="<unknown>")
    return Failure(
        type="AssertionError" if is_assertion else "panic",
        message=panic["message"].strip(),
        frames=(frame,),
        text=body[:LONGEST_TEXT],
    )


def _compile_failures(messages: Sequence[Mapping[str, Any]], run: Run) -> Iterator[TestResult]:
    """Yield the targets that could not be compiled, and the files with tests that need them.

    Of the modules of a target these are the ones that were asked for.
    """
    tree = run.tree
    texts: dict[str, list[str]] = {}
    frames: dict[str, list[Frame]] = {}
    for message in messages:
        source = path_in_tree(str(message["target"]["src_path"]), tree)
        directory = Path(message["manifest_path"]).parent
        is_test = "test" in message["target"]["kind"]
        needing = [] if is_test else [path_in_tree(str(path), tree) for path in directory.glob("tests/*.rs")]
        modules = PurePosixPath(source).parent
        needing += [path for path in run.files if not is_test and PurePosixPath(path).is_relative_to(modules)]
        for path in dict.fromkeys((source, *sorted(needing))):
            texts.setdefault(path, []).append(str(message["message"]["rendered"]))
            frames.setdefault(path, []).extend(
                Frame(path=span["file_name"], line=span["line_start"], function="<unknown>")
                for span in message["message"]["spans"]
                if span["is_primary"]
            )
    for path, rendered in texts.items():
        if not PurePosixPath(path).is_absolute():
            yield collection_failure(path, "\n".join(rendered), tuple(frames[path]))


def _read_manifest(tree: Path, directory: str) -> dict[str, Any]:
    try:
        return parse_toml(read_source(tree, f"{directory}/Cargo.toml"))
    except tomllib.TOMLDecodeError:
        return {}

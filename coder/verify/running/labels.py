"""Labels, the dotted names by which unittest and Django's runner address tests."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from coder.core.values import Value
from coder.verify.project.command import Command

DISCOVERY_OPTIONS = {
    "-s": "start",
    "--start-directory": "start",
    "-t": "top",
    "--top-level-directory": "top",
    "-p": "pattern",
    "--pattern": "pattern",
}
"""Options of unittest's discovery, and of Django's: they do not apply to labels."""
OPTIONS_WITH_VALUES = {
    "unittest": frozenset({*DISCOVERY_OPTIONS, "-k", "--durations"}),
    "django": frozenset(
        {
            *DISCOVERY_OPTIONS,
            *(
                "-k",
                "-v",
                "--durations",
                "--exclude-tag",
                "--pythonpath",
                "--settings",
                "--tag",
                "--testrunner",
            ),
            *("--database", "--shuffle", "--start-after", "--start-at", "--verbosity"),
        }
    ),
}
"""Options that are followed by a value, by runner."""
FLAGS = "bcfqv"
"""Options of unittest without a value, which can be written as one word."""
GEOGRAPHIC = "gis_tests"
"""Tests of Django itself that end the whole run with an error if no geographic database is set up."""


class LabelledRun(Value):
    """Arguments of a label-based runner that runs the files of some tests."""

    arguments: tuple[str, ...]
    """Everything after the script or module."""
    labels: Mapping[str, str]
    """Path of the test file, by label; empty for the whole suite."""
    root: str = ""
    """Directory, relative to the tree, that must be importable for the labels."""


class Arguments(Value):
    """Parsed arguments of a label-based runner."""

    options: tuple[str, ...] = ()
    """Options that apply to labels as well, with their values."""
    labels: tuple[str, ...] = ()
    discovery: Mapping[str, str] = {}
    """`start`, `top` and `pattern`, as far as they are given."""


def prepare_labelled_run(command: Command, files: Sequence[str], tree: Path) -> LabelledRun:
    """Return how to run test files, relative to `tree`; all if there are none.

    Files that the runner cannot import by name are left out. Single tests are selected by the recorder.
    """
    own = command.argv[3:] if command.runner == "unittest" else command.argv[2:]
    if not files:
        return LabelledRun(arguments=own, labels={})
    subcommand = own[:1] if own[:1] in (("test",), ("discover",)) else ()
    words = own[len(subcommand) :]
    if command.runner == "unittest":
        words = tuple(part for word in words for part in _expand_option(word))
    parsed = parse_arguments(words, OPTIONS_WITH_VALUES[command.runner])
    if command.runner == "unittest":
        is_discovery = bool(subcommand) or not parsed.labels
        root = _discovery_root(parsed, tree) if is_discovery else ""
        subcommand = ()
    else:
        root = PurePosixPath(os.path.normpath(command.argv[1])).parent.as_posix()
    labels = {}
    for path in files:
        label = label_of(path, root)
        if label and not (command.runner == "django" and label.startswith(f"{GEOGRAPHIC}.")):
            labels[label] = path
    return LabelledRun(arguments=(*subcommand, *parsed.options, *labels), labels=labels, root=root)


def _expand_option(word: str) -> Iterator[str]:
    """Yield an option of unittest in full: flags one by one, and abbreviated options of discovery whole."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        whole = next((option for option in DISCOVERY_OPTIONS if option.startswith(name)), name)
        yield f"{whole}{equals}{value}"
        return
    while len(word) > 2 and word[0] == "-" and word[1] in FLAGS:
        yield word[:2]
        word = f"-{word[2:]}"
    yield word


def parse_arguments(words: Sequence[str], options_with_values: Collection[str]) -> Arguments:
    """Separate options from labels, and the options of discovery from all others."""
    options: list[str] = []
    labels: list[str] = []
    discovery: dict[str, str] = {}
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if not word.startswith("-"):
            labels.append(word)
            continue
        name, equals, value = word.partition("=")
        if not word.startswith("--") and word[:2] in DISCOVERY_OPTIONS and len(word) > 2:
            name, equals, value = word[:2], "=", word[2:].removeprefix("=")
        own = [word]
        if name in options_with_values and not equals and remaining:
            value = remaining.pop(0)
            own.append(value)
        if name in DISCOVERY_OPTIONS:
            discovery[DISCOVERY_OPTIONS[name]] = value
        else:
            options += own
    return Arguments(options=tuple(options), labels=tuple(labels), discovery=discovery)


def label_of(path: str, root: str) -> str:
    """Return the dotted name of a file that is imported from `root`, both relative to the tree.

    A file elsewhere is named from the top of the tree; empty if it cannot be named.
    """
    pure = PurePosixPath(path)
    inside = pure.relative_to(root) if root and pure.is_relative_to(root) else pure
    parts = inside.with_suffix("").parts
    return ".".join(parts) if pure.suffix == ".py" and all(map(str.isidentifier, parts)) else ""


def _discovery_root(parsed: Arguments, tree: Path) -> str:
    """Return the directory from which unittest's discovery imports: the top level, else the start."""
    start = parsed.discovery.get("start") or (parsed.labels[:1] or (".",))[0]
    top = parsed.discovery.get("top") or (parsed.labels[2:3] or ("",))[0]
    root = os.path.normpath(top or start)
    return root if root != "." and (tree / root).is_dir() else ""

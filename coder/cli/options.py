"""Options and arguments that several commands share, and reading of issues and plans."""

import codecs
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from typer.core import TyperCommand

from coder.core.errors import UserError
from coder.core.paths import SOURCE_SUFFIXES

if TYPE_CHECKING:
    from coder.cli.forges import ForgeIssue
    from coder.core.notes import Plan
    from coder.executors.executor import Executor
    from coder.wiring.session import RuntimeOptions

StrategyName = Literal["linear", "plan", "tree", "committee", "auto", "offline"]
"""Names of strategies for --strategy."""
OPTION_SETTINGS = (
    *("model", "base_url", "effort", "attempts", "test", "require", "approve"),
    *("max_tokens", "max_seconds", "max_requests"),
)
"""Options that replace the settings of their names."""
TEXT_SUFFIXES = (".md", ".markdown", ".txt", ".rst", ".log")
"""Suffixes of files that hold issues: such a name is never a symbol."""
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""Suffixes of files that are attached, and hold no issue."""
RepositoryOption = Annotated[
    Path,
    typer.Option(
        "--repo", metavar="DIR", help="The repository, or a directory inside it.", show_default="here"
    ),
]
SessionArgument = Annotated[
    str, typer.Argument(metavar="ID", help="A session's id, its beginning or its end, its branch, or `last`.")
]
ModelOption = Annotated[str | None, typer.Option(metavar="PROVIDER:NAME", help="The model to use.")]
ServerOption = Annotated[str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server to use.")]
UnsafeOption = Annotated[
    bool, typer.Option("--unsafe-no-sandbox", help="Run commands and tests without a sandbox.")
]
AttemptOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="The change of the session's Nth verification, as its report counts them."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The table of options that several commands share, with their defaults."""

    repo: RepositoryOption = Path()
    against: Annotated[
        str | None,
        typer.Option(
            metavar="REV",
            help="What to compare with.",
            show_default="HEAD; of a branch, where it began; of a commit, its parent",
        ),
    ] = None
    issue: Annotated[
        str,
        typer.Option(
            metavar="ISSUE", help="What the change is for, as for fix.", show_default="the commit's message"
        ),
    ] = ""
    continues: Annotated[
        bool,
        typer.Option(
            "--continue", "-c", help="Go on with the newest session: its conversation and its change."
        ),
    ] = False
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Go on with this session, as --continue does."),
    ] = None
    model: ModelOption = None
    effort: Annotated[
        Literal["default", "low", "medium", "high"] | None,
        typer.Option(help="How much the model thinks before it answers.", show_default="the provider's own"),
    ] = None
    base_url: ServerOption = None
    strategy: Annotated[
        StrategyName | None,
        typer.Option(help="Strategy of fixes.", show_default="linear; offline without a model"),
    ] = None
    offline: Annotated[bool, typer.Option("--offline", help="Use no model and no network.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the change as a diff and keep nothing.")
    ] = False
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Show a plan and change nothing.")] = False
    plan: Annotated[
        Path | None,
        typer.Option(metavar="FILE.md", help="Run this plan, such as one of --plan-only, edited."),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the result there, too: a diff, a plan or an answer."),
    ] = None
    pr: Annotated[
        bool,
        typer.Option("--pr", help="Push the branch, and open a draft of a pull request with the evidence."),
    ] = False
    attempts: Annotated[
        int | None,
        typer.Option(min=1, help="Failed attempts allowed, over all branches of a tree.", show_default="3"),
    ] = None
    test: Annotated[
        str | None,
        typer.Option(
            metavar="CMD|IDS",
            help="The test command, or ids of tests that must pass.",
            show_default="detected",
        ),
    ] = None
    not_test: Annotated[
        list[str] | None,
        typer.Option(
            "--not-test",
            metavar="ID",
            help="A failing test that is not about the issue (repeatable).",
        ),
    ] = None
    wait: Annotated[
        bool, typer.Option("--wait", help="Run all tests that use the changed code, not the nearest alone.")
    ] = False
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Change nothing but this path or glob; repeatable."),
    ] = None
    max_usd: Annotated[float | None, typer.Option(metavar="X", help="Most to spend, in US dollars.")] = None
    max_tokens: Annotated[int | None, typer.Option(metavar="N", help="Most tokens, sent and received.")] = (
        None
    )
    max_seconds: Annotated[float | None, typer.Option(metavar="N", help="Most seconds.")] = None
    max_requests: Annotated[int | None, typer.Option(metavar="N", help="Most requests to models.")] = None
    accept_test_edits: Annotated[
        bool,
        typer.Option(
            "--accept-test-edits",
            help="Accept how the change edits existing tests: they no longer prevent PROVEN.",
        ),
    ] = False
    require: Annotated[
        Literal["proven", "fixed", "passing", "not-broken"] | None,
        typer.Option(
            help="The least verdict that ends with exit code 0; no uncommitted work has it too.",
            show_default="fixed",
        ),
    ] = None
    approve: Annotated[
        Literal["read-only", "ask", "auto-edit", "full"] | None,
        typer.Option(
            help="What is done without asking.", show_default="auto-edit: what stays in the sandbox"
        ),
    ] = None
    on: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            help="Where parts run: local:N (N processes), ray (a Ray cluster of this machine), ray://HOST:PORT.",
            show_default="this machine",
        ),
    ] = ""
    install: Annotated[
        bool,
        typer.Option(
            "--install", help="Install packages that tests lack into an environment of coder's own, unasked."
        ),
    ] = False
    trust: Annotated[
        bool, typer.Option("--trust", help="Trust this repository this once, and run its tests.")
    ] = False
    unsafe_no_sandbox: UnsafeOption = False
    inline: Annotated[
        bool,
        typer.Option("--inline", help="Stay in the terminal's own screen, and leave a transcript there."),
    ] = False
    screen_reader: Annotated[
        bool,
        typer.Option("--screen-reader", help="Converse in plain lines, for screen readers."),
    ] = False
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the output of tools, and each test run.")
    ] = False

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that they replace; None is not given."""
        follows_plan = self.plan_only or self.plan is not None
        return {
            **{name: getattr(self, name) for name in OPTION_SETTINGS},
            "strategy": "offline" if self.offline else "plan" if follows_plan else self.strategy,
            "max_usd": None if self.max_usd is None else Decimal(str(self.max_usd)),
            **{name: getattr(self, name) or None for name in ("wait", "install", "inline", "screen_reader")},
        }

    @property
    def only_paths(self) -> tuple[str, ...]:
        """Paths and globs of --only, from the root of the repository."""
        return tuple(path.removeprefix("./") for path in self.only or ())

    @property
    def runtime(self) -> "RuntimeOptions":
        """Options for running tests without a session."""
        return {
            "test_command": self.test,
            "trusted": self.trust,
            "unsafe": self.unsafe_no_sandbox,
            "confirm": typer.confirm if is_at_terminal() else None,
        }

    @property
    def continued_session(self) -> str:
        """Name of the session to go on with; empty if there is none."""
        return "last" if self.continues else self.session or ""


HELP_GROUPS: dict[str, tuple[str, ...]] = {
    "Advanced: scope": (
        *("on", "repo", "base", "against", "only", "session", "plan_only", "plan", "strategy", "attempts"),
    ),
    "Advanced: tests and verdict": (
        *("not_test", "wait", "accept_test_edits", "require", "evidence", "check"),
    ),
    "Advanced: sources": ("document", "url", "max_iterations"),
    "Advanced: model and limits": ("effort", "base_url", "max_tokens", "max_seconds", "max_requests"),
    "Advanced: permissions": ("approve", "install", "unsafe_no_sandbox"),
    "Advanced: output": ("output", "report", "json", "verbose"),
}
"""Headings in a command's --help, and the options below each; the others come first."""
LEAST_GROUPED = 12
"""A command with fewer options lists them without headings."""


class GroupedCommand(TyperCommand):
    """Command whose --help lists the options that people need first, and the others below headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        parameters = self.get_params(ctx)
        groups = HELP_GROUPS if len(parameters) >= LEAST_GROUPED else {}
        titles = {name: title for title, names in groups.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Arguments", "Options", *groups)
        }
        for parameter in parameters:
            if record := parameter.get_help_record(ctx):
                is_argument = parameter.param_type_name == "argument"
                title = "Arguments" if is_argument else titles.get(parameter.name or "", "Options")
                sections[title].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


MODEL = ("model", "effort", "base_url")
LIMITS = ("max_usd", "max_tokens", "max_seconds", "max_requests")
CONVERSATION = ("repo", "continues", "session")
RUNNING = ("trust", "unsafe_no_sandbox", "json", "verbose")
"""Groups of names that commands share."""
CHANGING = (
    *(*CONVERSATION, *MODEL, *LIMITS, *RUNNING, "attempts", "test", "wait", "only", "accept_test_edits"),
    *("require", "approve", "install"),
)
"""Options of commands that change code."""


CONFLICTS: Sequence[tuple[str, str, tuple[str, ...]]] = (
    ("session", "names the session to go on with", ("continues",)),
    ("base", "starts elsewhere than a session ended", ("continues", "session")),
    ("merge", "brings one new commit onto your branch", ("continues", "session", "dry_run")),
    ("pr", "opens a draft of the fix's own branch", ("merge", "dry_run", "plan_only")),
    (
        "offline",
        "works without a model",
        ("deep", "model", "effort", "base_url", "plan", "plan_only", "strategy"),
    ),
    ("plan", "runs a plan", ("plan_only", "strategy")),
    ("plan_only", "shows a plan", ("strategy",)),
    ("attempt", "applies what was tried", ("candidate",)),
)
"""Options with their purposes, and those that they cannot be combined with."""
OWN_STRATEGIES = {"offline": "offline", "plan": "plan", "plan_only": "plan"}
"""The strategy that an option may be combined with."""


def refuse_conflicts(values: Mapping[str, Any]) -> None:
    """Refuse options that cannot be combined.

    Raises:
        UserError: two such options are given.
    """
    flags = {
        name: f"--{name.replace('_', '-')}".replace("--continues", "--continue")
        for name, value in values.items()
        if value not in (None, False, "")
    }
    for name, purpose, others in CONFLICTS:
        for other in others:
            is_own = other == "strategy" and values.get(other) == OWN_STRATEGIES[name]
            if name in flags and other in flags and not is_own:
                raise UserError(f"{flags[name]} {purpose}: it cannot be combined with {flags[other]}.")


def with_options(*names: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of these names; it receives their values as one keyword, `options`."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = [value for name, value in signature(command).parameters.items() if name != "options"]
        shared = [
            Parameter(entry.name, Parameter.KEYWORD_ONLY, default=entry.default, annotation=entry.type)
            for entry in fields(Options)
            if entry.name in names
        ]

        @wraps(command)
        def run(*positional: Any, **values: Any) -> int:
            refuse_conflicts(values)
            options = Options(**{name: values.pop(name) for name in names if name in values})
            return command(*positional, **values, options=options)

        run.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {value.name: value.annotation for value in (*own, *shared)}
        return run

    return decorate


REMOVED_OPTIONS: Mapping[str, str] = {
    "ask --dependency VALUE": "--document gives a file of a package",
    "apply --force": "no fix is refused after its verdict",
    "apply --trust": "apply runs no tests",
    "apply --unsafe-no-sandbox": "apply runs no tests",
    "apply --verify": "a fix of another base is applied as UNVERIFIED, and coder verify HEAD judges it",
    "hook --rounds VALUE": "an agent is sent back three times in a turn at most",
    "log --csv": "the table has the same columns",
    "log --output VALUE": "the evidence is printed, so write > FILE",
    "log --sign VALUE": "ssh-keygen -Y sign -n coder -f KEY FILE signs a file",
    "batch --report VALUE": "table.md in the folder of results has a row for each issue",
    "locate --tests": "locate_fault of the library and of coder mcp serve does that",
    "locate --test VALUE": "locate_fault of the library and of coder mcp serve does that",
    "locate --unsafe-no-sandbox": "locate runs nothing",
    "locate --issue VALUE": "the issue is text, @FILE or -",
    "why --take-out": "coder why TEST | coder apply --reverse - takes the printed diff out of your files",
    "verify --details": "coder log evidence shows all test runs, notes and circumstances",
    "verify --format VALUE": "coder log evidence prints the evidence in Markdown, with --json as an object",
    "bench --max-candidates VALUE": "a run without a model is limited by its time",
    "bench --bugs VALUE": "suites are rows of SWE-bench, and folders of tasks",
    "bench --repo VALUE": "a suite names its repositories",
    "bench --compare VALUE": "results.csv and runs.jsonl have a row for each run",
    "bench --containers": "python -m swebench.harness.run_evaluation judges predictions.jsonl",
    "--suite VALUE": "tests that use the changed code run nearest first; --wait runs all of them",
}
"""Former options, each with what is true or to be used instead.

A key is an option, after the command if others still have it; `VALUE` behind it stands for any value.
"""


def drop_removed_options(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line without removed options; print one line on each."""
    command, rest = words[0] if words else "", deque(words)
    while rest:
        word = rest.popleft()
        if word == "--":
            yield from (word, *rest)
            return
        name, equals, _ = word.partition("=")
        forms = (name, f"{name} VALUE")
        keys = [f"{prefix}{form}" for form in forms for prefix in ("", f"{command} ")]
        key = next((key for key in keys if key in REMOVED_OPTIONS), None)
        if key is None:
            yield word
            continue
        option = key.removeprefix(f"{command} ")
        print(f"{option.removesuffix(' VALUE')} no longer exists: {REMOVED_OPTIONS[key]}.", file=sys.stderr)
        if option != name and not equals and rest:
            rest.popleft()


def read_issue(argument: str) -> str:
    """Return the issue: plain text, the content of `@file` and what follows it, or standard input for `-`.

    A source file or a symbol before other words is no issue but a mention, and stays as it is.

    Raises:
        UserError: it is empty, the file cannot be read, or `argument` is a file's name without the @.
    """
    if argument == "-":
        text = decode_input(sys.stdin.buffer.read())
    elif (name := _issue_file(argument)) is not None:
        rest = argument[len(name) + 1 :].strip()
        text = f"{read_file(Path(name), kind='issue file').rstrip()}\n\n{rest}"
    elif _is_file(argument):
        raise UserError(f"{argument!r} is a file. To use its content as the issue, write @{argument}.")
    else:
        text = argument
    if not text.strip():
        raise UserError("The request is empty. Give it as text, as @file, or as - for standard input.")
    # Replace lone surrogates and remove NUL, which git refuses.
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    return text.replace("\r\n", "\n").strip()


class ReadRequest(NamedTuple):
    issue: str
    mentions: str
    """The part whose mentions of files and symbols are attached to it."""
    address: "ForgeIssue | None" = None
    """Where it was fetched from."""
    origin: str = ""
    """The same as text."""


def read_request(argument: str, *, fetches: bool, is_offline: bool = False) -> ReadRequest:
    """Read a request as `read_issue` does; if it `fetches`, the address of an issue at a forge is one, too.

    Raises:
        UserError: as of `read_issue`, or it is at a forge and cannot be fetched.
    """
    if fetches and "://" in argument:
        from coder.cli.forges import fetch_issue, parse_issue_address

        if (address := parse_issue_address(argument)) is not None:
            if is_offline:
                raise UserError("--offline uses no network: save the issue to a file, and give it as @FILE.")
            return ReadRequest(fetch_issue(address), "", address, argument.strip())
    return ReadRequest(read_issue(argument), typed_mentions(argument))


def typed_mentions(argument: str) -> str:
    """Return the part of an issue's argument whose mentions of files and symbols are attached to it."""
    name = _issue_file(argument)
    return "" if argument == "-" else argument[len(name) + 1 :] if name is not None else argument


def _issue_file(argument: str) -> str | None:
    """Return the name of the file that an argument takes its issue from, after the @; None if it is text."""
    if not argument.startswith("@"):
        return None
    words = argument[1:]
    if words[:1].isspace():
        return None
    name = words.split(maxsplit=1)[0] if words else words
    if name.lower().endswith(IMAGE_SUFFIXES):
        return None
    if words == name or _is_file(words):
        return words
    is_mention = name.endswith(SOURCE_SUFFIXES) or not (_is_file(name) or name.endswith(TEXT_SUFFIXES))
    return None if is_mention else name


def _is_file(text: str) -> bool:
    """Tell whether a text names a file; one that is too long for a name does not."""
    try:
        return Path(text).is_file()
    except OSError:
        return False


def read_plan(path: Path) -> "Plan":
    """Return the plan that the user has written or edited.

    Raises:
        UserError: the file cannot be read, or holds no plan.
    """
    from coder.core.plan import parse_plan

    text = read_file(path, kind="plan")
    try:
        return parse_plan(text)
    except ValueError as error:
        raise UserError(f"{path} holds no plan: {error}.") from None


def decode_input(data: bytes) -> str:
    """Decode UTF-16 by its mark, else each line as UTF-8 or Latin-1: a diff holds lines of several files."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    lines = data.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)
    return "".join(map(_decode_line, lines))


def _decode_line(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_file(path: Path, *, kind: str) -> str:
    """Return the text of a file that the user names.

    Raises:
        UserError: it cannot be read.
    """
    try:
        return decode_input(path.read_bytes())
    except OSError as error:
        raise UserError(f"The {kind} {str(path)!r} cannot be read: {error.strerror}.") from None


def is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


PLACES = "local:N (processes of this machine), ray, or ray://HOST:PORT"


def open_executor(place: str = "") -> "Executor":
    """Return the executor for a value of --on; empty: half of this machine's processors.

    Raises:
        UserError: it names no place, or Ray cannot be used.
    """
    from coder.executors.executor import LocalExecutor

    if match := re.fullmatch(r"(?:local(?::(\d+))?)?", place):
        count = int(match[1]) if match[1] else max(1, (os.cpu_count() or 2) // 2)
        if count < 1:
            raise UserError("local:0 runs nothing: give local:1 or more.")
        return LocalExecutor(count)
    if place == "ray" or re.fullmatch(r"ray://[^\s/]+:\d+", place):
        from coder.executors.ray_cluster import RayExecutor

        return RayExecutor("" if place == "ray" else place)
    raise UserError(f"{place!r} is no place to run on. There are: {PLACES}.")

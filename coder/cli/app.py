"""Table of commands and entry point of the command line."""

import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from coder.cli import (
    apply,
    batch,
    bench,
    build,
    compare,
    completion,
    demo,
    fix,
    hook,
    locate,
    log,
    machine,
    map,
    mcp,
    verify,
    why,
)
from coder.cli.options import LIMITS, MODEL, GroupedCommand, Options, StrategyName, with_options
from coder.cli.reporting import broken_change_notices, report_errors

SILENT_COMMANDS = ("hook", "mcp", "completion")
"""Commands that programs start, whose messages nobody reads."""
JSON_COMMANDS = ("fix", "do", "ask", "build", "verify", "review")
"""Commands whose --json prints the events of a session."""


class CommandGroup(TyperGroup):
    """Commands; at a terminal, a sentence in the place of a command is the interface's first message."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        super().parse_args(ctx, args)  # which leaves a command's name and its arguments apart
        words = [*ctx._protected_args, *ctx.args]
        if len(words) == 1 and (" " in words[0] or words[0].startswith("@")) and _is_at_terminal():
            ctx.obj = words[0]
            ctx._protected_args, ctx.args = [], []
        remaining: list[str] = ctx.args
        return remaining

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands below headings."""
        shown = {
            name: command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))
        }
        grouped = {name for names in COMMAND_GROUPS.values() for name in names}
        others = tuple(name for name in shown if name not in grouped)
        for title, names in {**COMMAND_GROUPS, "Other": others}.items():
            rows = [(name, shown[name].get_short_help_str(60)) for name in names if name in shown]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=12)


app = typer.Typer(
    name="coder",
    cls=CommandGroup,
    help="Fix bugs in your repository, and prove that they are fixed. Without a command: the interface, with "
    "a first message where one is given: coder 'what is wrong'.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
COMMAND_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Change code": ("fix", "do", "build", "ask", "batch", "locate", "resume", "demo"),
    "Judge changes": ("verify", "review", "compare", "why", "watch", "hook"),
    "Deliver": ("apply", "undo", "log"),
    "Set up": ("doctor", "config", "models", "trust", "map", "completion", "mcp", "clean", "bench"),
}
"""Headings of the list of commands."""
for name, command, short_help in (
    ("fix", fix.fix, "Fix an issue on a branch of its own, with evidence."),
    ("do", fix.do, "Make any other change, such as a feature."),
    ("ask", fix.ask, "Answer a question about the repository, citing lines."),
    ("build", build.build, "Build new Python code, component by component."),
    ("resume", fix.resume, "Go on with an earlier session."),
    ("demo", demo.demo, "Watch a real bug being fixed; needs no model."),
    ("verify", verify.verify, "Judge a change, whoever made it, by its tests."),
    ("watch", hook.watch, "Judge the uncommitted work whenever edits come to rest."),
    ("review", verify.review, "Judge a change, and have a model review it."),
    ("compare", compare.compare, "Show what a change alters in behavior."),
    ("why", why.why, "Find what turned a test red: a reply, a commit, a hunk."),
    ("locate", locate.locate, "Rank files and definitions that an issue is about."),
    ("apply", apply.apply, "Bring a fix, or any diff, onto the current branch."),
    ("undo", apply.undo, "Undo a fix: branch, commit and note."),
    ("map", map.record, "Record which code each test uses."),
    ("batch", batch.batch, "Fix many issues, one after another or in parallel."),
    ("bench", bench.bench, "Run a suite of tasks and tabulate the results."),
    ("doctor", machine.doctor, "Show what does not work here, and what to do."),
    ("models", machine.models, "List the models that can be used."),
    ("config", machine.config, "Show the settings and where each value comes from."),
    ("trust", machine.trust, "Trust a repository, so that its tests may run."),
    ("clean", log.clean, "Show what coder stores, and delete it."),
    ("completion", completion.completion, "Print a completion script for the shell."),
):
    app.command(name, cls=GroupedCommand, short_help=short_help)(command)
app.add_typer(log.app, name="log", short_help="List, show and export sessions.")
app.add_typer(hook.app, name="hook", short_help="Judge what other agents leave, and what git pushes.")
app.add_typer(mcp.app, name="mcp", short_help="Serve coder to other programs (MCP).")


@app.callback()
@with_options(*MODEL, *LIMITS, "unsafe_no_sandbox", "inline", "screen_reader")
def open_interface(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", "-V", help="Show the version and exit."),
    strategy: Annotated[StrategyName | None, typer.Option(help="Strategy of fixes.")] = None,
    *,
    options: Options,
) -> int:
    """Fix bugs in your repository, and prove that they are fixed. Without a command: an interactive
    session.
    """
    if version:
        from coder import __version__

        print(f"coder {__version__}")
        raise typer.Exit
    opens_interface = context.invoked_subcommand is None and _is_at_terminal()
    if context.invoked_subcommand not in SILENT_COMMANDS and not opens_interface:
        for notice in broken_change_notices():
            print(notice, file=sys.stderr)
    if context.invoked_subcommand is not None:
        return 0
    if not opens_interface:
        print(
            f"{context.get_help()}\n\nThe interface needs a terminal. In a pipe: coder fix -", file=sys.stderr
        )
        return 2
    from coder.cli.tui import run_tui

    flags = {**options.settings, "strategy": strategy and strategy.value}
    run_tui(flags=flags, unsafe=options.unsafe_no_sandbox, first_message=context.obj or "")
    return 0


def _is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def run_command_line(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    typed = sys.argv[1:] if arguments is None else arguments
    return report_errors(
        lambda: _run_command(arguments), on_error=lambda message, code: _finish_json(typed, message, code)
    )


def _run_command(arguments: list[str] | None) -> object:
    try:
        return app(arguments, standalone_mode=False)
    except typer.TyperException as error:
        message = error.format_message().replace("Value error, ", "")
        print(
            f"coder: {message}{'' if message.endswith(('.', '?')) else '.'} {_advise(message)}",
            file=sys.stderr,
        )
        return 2
    except typer.Abort:
        at_terminal = sys.stdin.isatty()
        print(
            "Interrupted."
            if at_terminal
            else "This is not interactive, so nothing was done. To confirm: add --yes.",
            file=sys.stderr,
        )
        return 130 if at_terminal else 2


def _finish_json(arguments: list[str], message: str, code: int) -> None:
    """End the lines of --json, which a failure before the session would leave empty."""
    if not ("--json" in arguments and arguments[0] in JSON_COMMANDS):
        return
    from datetime import UTC, datetime

    from coder.ui.jsonl import write_failure

    write_failure(message, code, at=datetime.now(UTC))


def _advise(message: str) -> str:
    """Return what to do about wrong use: a request in words is likely an issue."""
    if choice := re.search(r": '(.*)' is not one of (.*)$", message):
        from difflib import get_close_matches

        matches = get_close_matches(choice[1], re.findall(r"'([^']*)'", choice[2]), n=1)
        return f"Do you mean {matches[0]!r}?" if matches else "See coder --help."
    if option := re.match(r"No such option: --(?:no-)?([\w-]+)", message):
        return _advise_setting(option[1].replace("-", "_")) or "See coder --help."
    request = message.removeprefix("No such command ")
    if "extra argument" in message and sys.argv[1:2] == ["config"]:
        return "coder config only shows settings, and names the file to write yours into."
    is_sentence = request != message and " " in request
    return "To fix an issue: coder fix 'what is wrong'" if is_sentence else "See coder --help."


def _advise_setting(name: str) -> str:
    """Return how to set what is no option but a setting; empty if it is neither."""
    from coder.settings import LIST_SETTINGS, Config

    name = name if name in Config.model_fields else f"{name}s"
    if name not in Config.model_fields:
        return ""
    place = f"{name} in your config.toml (see coder config)"
    if name in LIST_SETTINGS:
        return f"It is a setting: {place}."
    return f"It is a setting: CODER_{name.upper()}=... for one run, or {place}."

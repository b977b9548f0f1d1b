"""Table of commands and entry point of the command line."""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from coder.cli import (
    apply,
    batch,
    bench,
    explain,
    fix,
    hook,
    log,
    machine,
    servers,
    verify,
)
from coder.cli.options import (
    LIMITS,
    MODEL,
    GroupedCommand,
    Options,
    drop_removed_options,
    is_at_terminal,
    with_options,
)
from coder.cli.running import report_errors
from coder.core.text import explain_invalid_value, suggest_name

JSON_COMMANDS = ("fix", "do", "ask", "run", "build", "verify", "review")
"""Commands whose --json prints the events of a session."""


class CommandGroup(TyperGroup):
    """Commands; at a terminal, a sentence in the place of a command is the interface's first message."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # A command's name and its arguments are left apart.
        super().parse_args(ctx, list(drop_removed_options(args)))
        words = [*ctx._protected_args, *ctx.args]
        if len(words) == 1 and (" " in words[0] or words[0].startswith("@")) and is_at_terminal():
            ctx.obj = words[0]
            ctx._protected_args, ctx.args = [], []
        remaining: list[str] = ctx.args
        return remaining

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands below headings."""
        for title, names in COMMANDS.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            rows = [(name, command.get_short_help_str(60)) for name, command in commands if command]
            with formatter.section(title):
                formatter.write_dl(rows, col_max=12)


COMPLETION_VARIABLE = "_CODER_COMPLETE"
"""Set by the script for a shell, which runs `coder` with it: what to complete is in other variables."""
Shell = Literal["bash", "zsh", "fish"]


def completion(ctx: typer.Context, shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> int:
    """Print a completion script for the shell.

    bash and zsh: eval "$(coder completion bash)" in the start-up file; fish: coder completion fish | source.
    """
    return complete(ctx.find_root().command, f"source_{shell}")


def complete(command: Any, instruction: str) -> int:
    """Print what an instruction of a shell asks for: its script, or what its words can be completed to."""
    from typer.completion import completion_init, shell_complete  # type: ignore[attr-defined]

    completion_init()
    return shell_complete(command, {}, "coder", COMPLETION_VARIABLE, instruction)


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
REMOVED_COMMANDS: Mapping[str, str] = {
    "bench mine": "suites are rows of SWE-bench, and folders of tasks",
    "config explain": "coder config says what each setting is for",
    "hook status": "coder hook install AGENT says if it was there; coder log lists its verdicts",
    "log fork": "coder log rewind goes back; what is left behind stays, and --session goes on with it",
    "map": "tests that use the changed code are found by names and imports, and run nearest first",
    "mcp add": "write servers into mcp.json beside config.toml, in the form of other clients (mcpServers)",
    "mcp remove": "take servers out of mcp.json beside config.toml",
}
"""Former commands, each with what is true instead; they do nothing."""
COMMANDS: Mapping[str, Mapping[str, tuple[Any, str]]] = {
    "Change code": {
        "fix": (fix.fix, "Fix an issue on a branch of its own, with evidence."),
        "do": (fix.do, "Make any other change, such as a feature."),
        "build": (fix.build, "Build new Python code, component by component."),
        "ask": (fix.ask, "Answer a question about the repository, citing lines."),
        "run": (fix.run, "Run a command of your own, kept as Markdown."),
        "batch": (batch.batch, "Fix many issues, one after another or in parallel."),
        "locate": (explain.locate, "Rank files and definitions that an issue is about."),
        "resume": (fix.resume, "Go on with an earlier session."),
        "demo": (fix.demo, "Watch a real bug being fixed; needs no model."),
    },
    "Judge changes": {
        "verify": (verify.verify, "Judge a change, whoever made it, by its tests."),
        "review": (verify.review, "Judge a change, and have a model review it."),
        "compare": (explain.compare, "Show what a change alters in behavior."),
        "why": (explain.why, "Find what turned a test red: a reply, a commit, a hunk."),
        "watch": (hook.watch, "Judge the uncommitted work whenever edits come to rest."),
        "hook": (hook.app, "Judge what other agents leave, and what git pushes."),
    },
    "Deliver": {
        "apply": (apply.apply, "Bring a fix, or any diff, onto the current branch."),
        "undo": (apply.undo, "Undo a fix: branch, commit and note."),
        "log": (log.app, "List, show and export sessions."),
    },
    "Set up": {
        "doctor": (machine.doctor, "Show what does not work here, and what to do."),
        "config": (machine.config, "Show the settings, and what they are for."),
        "models": (machine.models, "List the models that can be used."),
        "trust": (machine.trust, "Trust a repository, so that its tests may run."),
        "completion": (completion, "Print a completion script for the shell."),
        "mcp": (servers.app, "Serve coder, or list servers whose tools it uses (MCP)."),
        "acp": (servers.acp, "Serve an editor as its agent (ACP)."),
        "clean": (log.clean, "Show what coder stores, and delete it."),
        "bench": (bench.bench, "Run a suite of tasks and tabulate the results."),
    },
}
"""Commands, or groups of them, by name, each with what it is for, below their headings."""
for group in COMMANDS.values():
    for name, (command, short_help) in group.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, short_help=short_help)
        else:
            app.command(name, cls=GroupedCommand, short_help=short_help)(command)


@app.callback()
@with_options(*MODEL, *LIMITS, "strategy", "unsafe_no_sandbox", "inline", "screen_reader")
def open_interface(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", "-V", help="Show the version and exit."),
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
    if context.invoked_subcommand is not None:
        return 0
    if not is_at_terminal():
        print(
            "coder: The interface needs a terminal. In a pipe: coder fix 'what is wrong'. All commands: "
            "coder --help",
            file=sys.stderr,
        )
        return 2
    from coder.cli.tui import run_tui

    run_tui(flags=options.settings, unsafe=options.unsafe_no_sandbox, first_message=context.obj or "")
    return 0


def run_command_line(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    typed = sys.argv[1:] if arguments is None else arguments
    return report_errors(
        lambda: _run_command(arguments), on_error=lambda message, code: _finish_json(typed, message, code)
    )


def _run_command(arguments: list[str] | None) -> object:
    typed = sys.argv[1:] if arguments is None else arguments
    names = {" ".join(typed[:count]) for count in (1, 2)}
    if removed := next(iter(names & REMOVED_COMMANDS.keys()), ""):
        print(f"coder {removed} no longer exists: {REMOVED_COMMANDS[removed]}.", file=sys.stderr)
        return 0
    command = typer.main.get_command(app)
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        return complete(command, instruction)
    try:
        # Not `app(...)`, which ends the program with its own exit code when the reader of a pipe goes away.
        with command.make_context("coder", [*typed]) as context:
            return command.invoke(context)
    except typer.Exit as ending:
        return ending.exit_code
    except typer.TyperException as error:
        print(f"coder: {_describe_misuse(error, _command_path(command, typed))}", file=sys.stderr)
        return 2
    except (typer.Abort, EOFError):
        print("Interrupted.", file=sys.stderr)
        return 130


def _finish_json(arguments: list[str], message: str, code: int) -> None:
    """End the lines of --json, which a failure before the session would leave empty."""
    if not ("--json" in arguments and arguments[0] in JSON_COMMANDS):
        return
    from datetime import UTC, datetime

    from coder.ui.jsonl import write_failure

    write_failure(message, code, at=datetime.now(UTC))


def _command_path(command: Any, arguments: list[str]) -> str:
    """Return the command that these arguments call, as it is written: `coder log show`."""
    words = ["coder"]
    for argument in arguments:
        command = getattr(command, "commands", {}).get(argument)
        if command is None:
            break
        words.append(argument)
    return " ".join(words)


def _describe_misuse(error: Any, path: str) -> str:
    """Return what is wrong with a command line, and what to do: a request in words is likely an issue."""
    context, parameter = getattr(error, "ctx", None), getattr(error, "param", None)
    message = explain_invalid_value(error.format_message().replace("Value error, ", "")).rstrip(".")
    if (option := getattr(error, "option_name", "")) and message.startswith("No such option"):
        if advice := _advise_setting(re.sub("^--(no-)?", "", option).replace("-", "_")):
            return f"{path} has no option {option}. {advice}"
        message = f"{path} has no option {option}"
        names = suggest_name(option, getattr(error, "possibilities", None) or (), closeness=0.7)
        return f"{message}. {names}All options: {path} --help"
    message = re.sub("^Invalid value for '[^-'][^']*': ", "", message)
    if choice := re.search(r"'(.*)' is not one of (.*)$", message):
        names = suggest_name(choice[1], re.findall(r"'([^']*)'", choice[2]))
        return f"{message}. {names}See {path} --help"
    if match := re.match(r"No such command (['\"])(.*?)\1(?=\. Did you mean |$)", message, re.DOTALL):
        return _describe_request(match[2], path, context)
    if message.startswith("Missing") and (need := _describe_need(context, parameter)):
        return f"{path} needs {need}. See {path} --help"
    if extra := re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", message):
        return f"{path} does not take the further words {extra[1]!r}. See {path} --help"
    return f"{message}. See {path} --help"


def _describe_request(request: str, path: str, context: Any) -> str:
    """Return what is wrong with words in the place of a command."""
    if " " in request or request.startswith("@"):
        return (
            "A message alone opens the interface, which needs a terminal. In a pipe: "
            f"coder fix {shlex.quote(request)}"
        )
    names = suggest_name(request, context.command.list_commands(context) if context else ())
    return f"{path} has no command {request!r}. {names}All commands: {path} --help"


def _describe_need(context: Any, parameter: Any) -> str:
    """Return what is missing after a command: one of its commands, or an argument with its purpose."""
    if parameter is None:
        return f"a command: {', '.join(context.command.list_commands(context))}" if context else ""
    purpose = (getattr(parameter, "help", "") or "").partition(". ")[0]
    name = parameter.metavar or parameter.name.upper()
    purpose = purpose[:1].lower() + purpose[1:].rstrip(".")
    return f"{name}: {purpose}" if "(" in purpose else f"{name} ({purpose})" if purpose else ""


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

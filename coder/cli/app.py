"""Table of commands and entry point of the command line."""

import os
import re
import sys
from difflib import get_close_matches

import typer

from coder.cli import (
    apply,
    bench,
    build,
    clean,
    completion,
    config,
    demo,
    doctor,
    fix,
    hook,
    locate,
    log,
    mcp,
    models,
    requests,
    resume,
    review,
    trust,
    undo,
    verify,
    watch,
)
from coder.cli.options import UnsafeOption
from coder.core.errors import CoderError, UserError

SILENT_COMMANDS = ("hook", "mcp", "completion")
"""Commands that programs start, whose messages nobody reads."""
JSON_COMMANDS = ("fix", "do", "ask", "build", "verify", "review")
"""Commands whose --json prints the events of a session."""
app = typer.Typer(
    name="coder",
    help="Fix bugs in your repository, and prove that they are fixed. Without a command: the interface.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)
app.command("fix")(fix.fix)
app.command("do")(requests.do)
app.command("ask")(requests.ask)
app.command("build")(build.build)
app.command("resume")(resume.resume)
app.command("demo")(demo.demo)
app.command("verify")(verify.verify)
app.command("watch")(watch.watch)
app.command("review")(review.review)
app.command("locate")(locate.locate)
app.command("apply")(apply.apply)
app.command("undo")(undo.undo)
app.add_typer(log.app, name="log")
app.add_typer(hook.app, name="hook")
app.add_typer(mcp.app, name="mcp")
app.command("bench")(bench.bench)
app.command("doctor")(doctor.doctor)
app.command("models")(models.models)
app.command("config")(config.config)
app.command("trust")(trust.trust)
app.command("clean")(clean.clean)
app.command("completion")(completion.completion)


@app.callback()
def options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", "-V", help="Show the version and exit."),
    model: str | None = typer.Option(None, metavar="PROVIDER:NAME", help="The model of the interface."),
    base_url: str | None = typer.Option(None, metavar="URL", help="An OpenAI-compatible server to use."),
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Fix bugs in your repository, and prove that they are fixed. Without a command: an interactive
    session.
    """
    if version:
        from coder import __version__

        print(f"coder {__version__}")
        raise typer.Exit
    if context.invoked_subcommand not in SILENT_COMMANDS:
        _report_broken_changes()
    if context.invoked_subcommand is not None:
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print(
            f"{context.get_help()}\n\nThe interface needs a terminal. In a pipe: coder fix -", file=sys.stderr
        )
        return 2
    from coder.cli.tui import run_tui

    run_tui(flags={"model": model, "base_url": base_url}, unsafe=unsafe_no_sandbox)
    return 0


def _report_broken_changes() -> None:
    """Tell of changes that the whole suite in the background has found to be broken, each once."""
    from coder.directories import sessions_directory

    if "--after" in sys.argv or not any(sessions_directory().glob("*/whole_suite.json")):
        return
    from pathlib import Path

    from coder.core.errors import UserError
    from coder.core.values.text import sanitize_text
    from coder.wiring.whole_suite import unreported_failures

    try:
        for failure in unreported_failures(Path()):
            sentence = (
                f"Session {failure.judged}: {failure.sentence} Details: coder log show {failure.session}"
            )
            print(sanitize_text(sentence), file=sys.stderr)
    except UserError:  # no repository here
        return


def run_command_line(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        code = app(arguments, standalone_mode=False)
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
            "Interrupted." if at_terminal else "Nobody can be asked here, so nothing was done: add --yes.",
            file=sys.stderr,
        )
        return 130 if at_terminal else 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard what is still buffered
        return 141
    except OSError as error:
        print(
            f"coder: {error}. What coder keeps must be writable: see XDG_STATE_HOME and XDG_CONFIG_HOME.",
            file=sys.stderr,
        )
        return 2
    except CoderError as error:
        from coder.core.values.text import sanitize_text

        message = sanitize_text(_mask_secrets(str(error)))
        code = 2 if isinstance(error, UserError) else 1
        print(f"coder: {message}", file=sys.stderr)
        _finish_json(sys.argv[1:] if arguments is None else arguments, message, code)
        return code
    return code if isinstance(code, int) else 0


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
        matches = get_close_matches(choice[1], re.findall(r"'([^']*)'", choice[2]), n=1)
        return f"Do you mean {matches[0]!r}?" if matches else "See coder --help."
    request = message.removeprefix("No such command ")
    if "extra argument" in message and sys.argv[1:2] == ["config"]:
        return "coder config only shows settings, and names the file to write yours into."
    is_sentence = request != message and " " in request
    return "To fix an issue: coder fix 'what is wrong'" if is_sentence else "See coder --help."


def _mask_secrets(text: str) -> str:
    """Mask secrets in an error message, which may quote a server that quotes a key."""
    from coder.permissions.secrets import Secrets, secret_environment_values

    return Secrets(own=secret_environment_values(os.environ)).mask(text)

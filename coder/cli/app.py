"""Table of commands and entry point of the command line."""

import sys

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
from coder.cli.options import InlineOption, ScreenReaderOption, UnsafeOption
from coder.cli.reporting import broken_change_notices, report_errors

SILENT_COMMANDS = ("hook", "mcp", "completion")
"""Commands that programs start, whose messages nobody reads."""
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
    inline: InlineOption = False,
    screen_reader: ScreenReaderOption = False,
) -> int:
    """Fix bugs in your repository, and prove that they are fixed. Without a command: an interactive
    session.
    """
    if version:
        from coder import __version__

        print(f"coder {__version__}")
        raise typer.Exit
    opens_interface = context.invoked_subcommand is None and sys.stdin.isatty() and sys.stdout.isatty()
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

    flags = {
        "model": model,
        "base_url": base_url,
        "inline": inline or None,
        "screen_reader": screen_reader or None,
    }
    run_tui(flags=flags, unsafe=unsafe_no_sandbox)
    return 0


def run_command_line(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    return report_errors(lambda: _run_command(arguments))


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
            "Interrupted." if at_terminal else "Nobody can be asked here, so nothing was done: add --yes.",
            file=sys.stderr,
        )
        return 130 if at_terminal else 2


def _advise(message: str) -> str:
    """Return what to do about wrong use: a request in words is likely an issue."""
    request = message.removeprefix("No such command ")
    is_sentence = request != message and " " in request
    return "To fix an issue: coder fix 'what is wrong'" if is_sentence else "See coder --help."

"""`coder log`: list and show stored sessions."""

from typing import TYPE_CHECKING, Annotated

import typer

from coder.cli.options import SessionArgument

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer(
    help="List sessions; show one, or its diff.", rich_markup_mode=None, invoke_without_command=True
)


@app.callback()
def listing(
    context: typer.Context,
    everywhere: Annotated[bool, typer.Option("--all", help="Sessions of all repositories.")] = False,
) -> None:
    """List this repository's sessions, the newest last."""
    if context.invoked_subcommand is not None:
        return
    from coder.core.state import outcome_label
    from coder.core.values.text import sanitize_text
    from coder.settings import sessions_directory
    from coder.store.jsonl import boundary_events
    from coder.store.jsonl import list_sessions as stored

    repository = None if everywhere else _current_repository()
    count = 0
    for directory in stored(sessions_directory()):
        start_event, finish_event = boundary_events(directory)
        if start_event is None or (repository is not None and start_event.repository != str(repository)):
            continue
        kind = outcome_label(finish_event) if finish_event else "cut off"
        issue = sanitize_text(start_event.task.issue.splitlines()[0][:60])
        print(f"{directory.name}  {kind:<12}  {issue}{'' if repository else f'  ({start_event.repository})'}")
        count += 1
    if not count:
        print('No sessions yet. Start one: coder fix "what is wrong"')


def _current_repository() -> "Path | None":
    """Return the root of the repository that contains the current directory, if there is one."""
    from pathlib import Path

    from coder.core.errors import UserError
    from coder.repo.git import find_checkout

    try:
        return find_checkout(Path()).root
    except UserError:
        return None


@app.command()
def show(id: SessionArgument) -> None:
    """Show a session again as it went."""
    import asyncio

    from rich.console import Console

    from coder.core.values.text import sanitize_text
    from coder.session.log import EventLog
    from coder.settings import sessions_directory
    from coder.store.jsonl import boundary_events, find_session, read_records
    from coder.ui.lines import LinePrinter
    from coder.ui.summary import print_summary as show_summary
    from coder.wiring.whole_suite import read_whole_suite

    directory = find_session(
        sessions_directory(), id, repository=_current_repository() if id == "last" else None
    )
    log = EventLog(records=read_records(directory))
    log.close()
    console = Console(highlight=False)
    asyncio.run(LinePrinter(console, verbose=True, send=lambda _: None).replay(log.follow()))
    if (finish_event := boundary_events(directory)[1]) is not None:
        show_summary(console, finish_event, session=directory.name)
    if (suite := read_whole_suite(directory)) is not None:
        console.print(sanitize_text(suite.sentence), soft_wrap=not console.is_terminal)


@app.command()
def diff(id: SessionArgument) -> None:
    """Print a session's fix, or the patch that came closest, as a diff."""
    from pathlib import Path

    from coder.core.errors import UserError
    from coder.core.events import FilesChanged
    from coder.repo.history.existing_change import delivered_diff
    from coder.session.delivery.report import closest_patch
    from coder.settings import sessions_directory
    from coder.store.jsonl import boundary_events, find_session, read_records

    directory = find_session(
        sessions_directory(), id, repository=_current_repository() if id == "last" else None
    )
    start_event, finish_event = boundary_events(directory)
    records = list(read_records(directory))
    changes = [record.event.diff for record in records if isinstance(record.event, FilesChanged)]
    delivery = finish_event.delivery if finish_event else None
    text = (
        delivered_diff(Path(start_event.repository), delivery)
        if start_event and delivery
        else closest_patch(records) or next(reversed(changes), "")
    )
    if not text:
        raise UserError(f"Session {directory.name} changed nothing.")
    print(text, end="" if text.endswith("\n") else "\n")


@app.command()
def evidence(
    id: SessionArgument,
    json: Annotated[bool, typer.Option("--json", help="All of it, as evidence.json.")] = False,
) -> None:
    """Print what a session's verdict rests on; --json is what `coder verify --check` reads."""
    from coder.core.attestation import build_attestation
    from coder.core.errors import UserError
    from coder.settings import sessions_directory
    from coder.store.jsonl import find_session, read_records
    from coder.verify.verdict.evidence import markdown_report

    directory = find_session(
        sessions_directory(), id, repository=_current_repository() if id == "last" else None
    )
    statement = build_attestation(read_records(directory))
    if statement is None:
        raise UserError(f"Session {directory.name} came to no verdict, so there is no evidence.")
    print(
        statement.model_dump_json(indent=2) if json else markdown_report(statement.verdict),
        end="\n" if json else "",
    )

"""`coder demo`: fix a bug in a small example repository."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coder.cli.options import UnsafeOption

if TYPE_CHECKING:
    from coder.core.task import Task
    from coder.settings import Config


def demo(
    model: Annotated[str | None, typer.Option(metavar="PROVIDER:NAME", help="The model to use.")] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="An OpenAI-compatible server to use.")
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use no model, even where there is one.")
    ] = False,
    unsafe_no_sandbox: UnsafeOption = False,
) -> int:
    """Watch coder fix a real bug in a small repository that it brings along; no key needed."""
    from coder.cli.running import run_task
    from coder.repo.repository import init_repository
    from coder.wiring.preparation import make_task

    directory = _unpack()
    init_repository(directory, message="Worklog 0.3.0")
    issue = (directory / "ISSUE.md").read_text(encoding="utf-8").strip()
    print(f"A small project, worklog, now lies in {directory}. Somebody has reported a bug:\n")
    print("\n".join(f"    {line}".rstrip() for line in issue.splitlines()), end="\n\n")
    print(f"What you would type there: coder fix @ISSUE.md{' --offline' if offline else ''}\n")
    # The interpreter that runs coder has pytest; an active environment may not.
    flags: dict[str, Any] = {"model": model, "base_url": base_url, "test": f"{sys.executable} -m pytest"}
    flags |= {"strategy": "offline"} if offline else {}

    def task(root: Path, config: "Config") -> "Task":
        return make_task(issue, config, directory=root)

    handle = run_task(
        directory,
        task,
        flags=flags,
        trusted=True,
        unsafe=unsafe_no_sandbox,
        json=False,
        output=None,
        verbose=False,
    )
    code = handle.finish_event.exit_code
    print(f"\nLook around:     cd {directory} && git log --all --oneline --notes=coder")
    print("On your own:     cd your/repository && coder fix 'what is wrong'")
    return code


def _unpack() -> Path:
    """Copy the demo's files into a new temporary directory."""
    import shutil
    import tempfile
    from importlib.resources import as_file, files

    directory = Path(tempfile.mkdtemp(prefix="coder-demo-")).resolve() / "worklog"
    with as_file(files("coder.demo") / "project") as project:
        shutil.copytree(project, directory, ignore=shutil.ignore_patterns("__pycache__"))
    return directory

"""`coder demo`: fix a bug in a small example repository."""

import sys
from dataclasses import replace
from pathlib import Path

from coder.cli.options import MODEL, Options, with_options


@with_options(*MODEL, "offline", "unsafe_no_sandbox")
def demo(*, options: Options) -> int:
    """Watch coder fix a real bug in a small repository that it brings along; no key needed."""
    from coder.cli.running import run_task
    from coder.core.events import Task
    from coder.repo.repository import init_repository

    directory = _unpack()
    init_repository(directory, message="Worklog 0.3.0")
    issue = (directory / "ISSUE.md").read_text(encoding="utf-8").strip()
    print(f"A small project, worklog, now lies in {directory}. Somebody has reported a bug:\n")
    print("\n".join(f"    {line}".rstrip() for line in issue.splitlines()), end="\n\n")
    print(f"What you would type there: coder fix @ISSUE.md{' --offline' if options.offline else ''}\n")
    handle = run_task(
        Task(issue=issue, directory=directory),
        # The interpreter that runs coder has pytest; an active environment may not.
        replace(
            options,
            repo=directory,
            test=f"{sys.executable} -m pytest",
            trust=True,
        ),
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

"""The tool `run_command`."""

from coder.core.errors import ToolError
from coder.core.ports import Limits
from coder.tools.tool import tool
from coder.workspace.workspace import Workspace

LONGEST_SECONDS = 600


@tool(asks=True)
def run_command(workspace: Workspace, command: str, timeout_seconds: int = 60, network: bool = False) -> str:  # noqa: ARG001 (the session reads it)
    """Run a shell command in the repository's root, in a sandbox without input and network.

    Only for what no other tool does. Scratch files belong in $TMPDIR. The user is asked first, or it is refused, where a command installs packages, publishes or wants the network, or its program's name is a variable.

    Args:
        command: For `sh -c`.
        timeout_seconds: 1 to 600.
        network: It needs the network.
    """
    # The user decides on network access, recorded in workspace.policy; `network` only requests it.
    if not command.strip() or "\0" in command:
        raise ToolError("The command is empty or holds a NUL character. Nothing was run.")
    seconds = max(1, min(timeout_seconds, LONGEST_SECONDS))
    execution = workspace.sandbox.run(
        ["sh", "-c", command],
        cwd=workspace.root,
        environment=workspace.environment,
        policy=workspace.policy,
        limits=Limits(wall_seconds=float(seconds)),
        on_line=workspace.progress,
    )
    end = (
        f"exit code {execution.exit_code}"
        if execution.exit_code is not None
        else f"ended by the sandbox: {execution.exceeded}"
        if execution.exceeded
        else "killed"
    )
    if execution.timed_out:
        end = f"stopped at its time limit of {seconds} s; this is what it had printed"
    dropped_note = ", the middle of the output was dropped" if execution.truncated else ""
    return f"{execution.output.rstrip() or '(no output)'}\n[{end}, {execution.seconds:.1f} s{dropped_note}]"

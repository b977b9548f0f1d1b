"""Trust in a repository: outside of a sandbox, tests run only if the user trusts them."""

from pathlib import Path

from coder.core.errors import UserError


def ensure_trust(root: Path, *, attended: bool, is_sandboxed: bool) -> bool:
    """Return whether the repository is trusted; ask the user if its tests would run without a full sandbox.

    Args:
        walled: commands run without access to the user's files and network.

    Raises:
        UserError: it is not trusted, there is no full sandbox, and the user refuses or cannot be asked.
    """
    import typer

    from coder.settings import is_trusted, trust_repository

    if is_trusted(root):
        return True
    if is_sandboxed:
        return False
    if not attended:
        raise UserError(
            f"{root} is not trusted, and its tests would run on this machine. Run `coder trust {root}` once, "
            "or add --trust."
        )
    if not typer.confirm(f"The tests of {root} will run on this machine, as you. Trust this repository?"):
        raise UserError(f"{root} is not trusted: nothing was run.")
    trust_repository(root)
    return True

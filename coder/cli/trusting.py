"""The one question about trust: a repository's tests are programs, and nobody's are run unasked."""

from pathlib import Path

from coder.core.errors import UserError


def ask_for_trust(root: Path, *, attended: bool) -> None:
    """Go on if the repository is trusted, or is now.

    Raises:
        UserError: it is not, or nobody can be asked.
    """
    import typer

    from coder.settings import trust, trusted

    if trusted(root):
        return
    if not attended:
        raise UserError(f"{root} is not trusted, and its tests would run on this machine. Run `coder trust {root}` once, or add --trust.")
    if not typer.confirm(f"The tests of {root} will run on this machine, as you. Trust this repository?"):
        raise UserError(f"{root} is not trusted: nothing was run.")
    trust(root)

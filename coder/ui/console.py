"""The terminal that lines are printed on."""

from rich.console import Console


class PipedConsole(Console):
    """A console whose reader may go away: rich would end the whole program there, in the middle of a session."""

    def on_broken_pipe(self) -> None:
        """Raises BrokenPipeError, for the one who prints to deal with."""
        raise BrokenPipeError

"""Console for printed lines."""

from rich.console import Console


class PipedConsole(Console):
    """Console whose reader may close the pipe, which by default makes rich end the whole program."""

    def on_broken_pipe(self) -> None:
        """Leave a broken pipe to the caller that prints.

        Raises:
            BrokenPipeError: always.
        """
        raise BrokenPipeError

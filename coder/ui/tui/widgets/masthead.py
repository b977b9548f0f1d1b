"""Widget that names repository and model."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static


class Masthead(Horizontal):
    """First line of the screen."""

    def __init__(self, repository: str) -> None:
        super().__init__()
        self._repository = repository

    def compose(self) -> ComposeResult:
        yield Static("coder", classes="name")
        yield Static(self._repository, classes="repository", markup=False)
        yield Static("", classes="model", markup=False)

    def show_model(self, name: str) -> None:
        for widget in self.query(".model").results(Static):  # empty if the user has quit meanwhile
            widget.update(name)

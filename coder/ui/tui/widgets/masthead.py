"""Which repository, which model."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static


class Masthead(Horizontal):
    """The first line of the screen."""

    def __init__(self, repository: str) -> None:
        super().__init__()
        self._repository = repository

    def compose(self) -> ComposeResult:
        yield Static("coder", classes="name")
        yield Static(self._repository, classes="repository", markup=False)
        yield Static("", classes="model", markup=False)

    def show_model(self, name: str) -> None:
        for shown in self.query(".model").results(Static):  # none, where the person has left meanwhile
            shown.update(name)

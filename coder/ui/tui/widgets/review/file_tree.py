"""Widget for the files of a review as a tree of directories, with counts."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from coder.core.values.text import sanitize_text
from coder.ui.tui.widgets.review.hunk_choice import HunkChoice

PADDING = 2
Place = tuple[tuple[str, ...], str]
"""A file: the parts of its path below a directory, and its whole path."""


class FileTree(Tree[str]):
    """Lists for each file and directory the accepted and all hunks, and the added and removed lines."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back to the hunks"),
        Binding("t", "leave", "back to the hunks", id="files"),
    ]
    show_root = False
    guide_depth = 2

    class Left(Message):
        """Posted when the user goes back to the hunks without choosing a file."""

    def __init__(self) -> None:
        super().__init__("")
        self._names: dict[TreeNode[str], tuple[str, tuple[str, ...]]] = {}
        """The name of each node, and the files in it."""
        self.file = ""
        """The file of the hunk that had the focus last."""

    def show(self, files: Mapping[str, Sequence[HunkChoice]]) -> None:
        """Show files with the decisions so far; the first call says which."""
        if not self._names:
            self._add_files(self.root, [(tuple(path.split("/")), path) for path in files])
        for node, (name, paths) in self._names.items():
            choices = [choice for path in paths for choice in files[path]]
            node.set_label(Text(_describe_choices(name, choices)))
        self.styles.width = PADDING + max(
            self.get_label_width(node) + self.guide_depth * _depth(node) for node in self._names
        )

    def point_at(self, path: str) -> None:
        """Move the cursor to the file of the hunk that has the focus."""
        self.file = path
        for line in range(self.last_line + 1):  # also where the tree has not been shown yet
            node = self.get_node_at_line(line)
            if node is not None and node.data == path:
                self.move_cursor(node)

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def _add_files(self, parent: TreeNode[str], files: Sequence[Place]) -> None:
        """Add nodes for files; directories that hold one directory only share its node."""
        for (name, is_file), group in groupby(files, key=lambda file: (file[0][0], len(file[0]) == 1)):
            places = [(parts[1:], path) for parts, path in group]
            paths = tuple(path for _, path in places)
            if is_file:
                self._names[parent.add_leaf("", data=paths[0])] = (name, paths)
                continue
            while len({parts[0] for parts, _ in places}) == 1 and all(len(parts) > 1 for parts, _ in places):
                name = f"{name}/{places[0][0][0]}"
                places = [(parts[1:], path) for parts, path in places]
            node = parent.add("", expand=True)
            self._names[node] = (f"{name}/", paths)
            self._add_files(node, places)


def _depth(node: TreeNode[str]) -> int:
    return 0 if node.parent is None else 1 + _depth(node.parent)


def _describe_choices(name: str, choices: Sequence[HunkChoice]) -> str:
    signs = [line.sign for choice in choices for line in choice.lines]
    accepted = sum(choice.accepted for choice in choices)
    return f"{accepted}/{len(choices)} {sanitize_text(name)} +{signs.count('+')} -{signs.count('-')}"

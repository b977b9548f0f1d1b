"""Remarks of the user that wait for the next request to a model."""


class RemarkQueue:
    """Remarks in the order in which they arrived; the user can withdraw them until a request takes them."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)

    @property
    def is_empty(self) -> bool:
        return not self._texts

    def withdraw(self, text: str) -> None:
        """Remove the newest remark with this text, if it still waits."""
        for place in reversed(range(len(self._texts))):
            if self._texts[place] == text:
                del self._texts[place]
                return

    def take(self) -> tuple[str, ...]:
        """Remove and return all of them."""
        texts = tuple(self._texts)
        self._texts.clear()
        return texts

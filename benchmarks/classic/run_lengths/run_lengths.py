"""Run-length encoding."""


def encode(text: str) -> list[tuple[str, int]]:
    """Each run of equal characters with its length."""
    runs: list[tuple[str, int]] = []
    count = 0
    for index, character in enumerate(text):
        count += 1
        if index + 1 == len(text) or text[index + 1] != character:
            runs.append((character, count))
            count = 1
    return runs


def decode(runs: list[tuple[str, int]]) -> str:
    return "".join(character * count for character, count in runs)

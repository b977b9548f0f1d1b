from pathlib import Path


def read(kind):
    return [line.split() for line in (Path(__file__).parent / f"{kind}.txt").read_text().splitlines()]

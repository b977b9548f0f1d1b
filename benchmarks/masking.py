"""Error rates of secret masking: false positives in public sources, and unmasked random values.

Needs only directories with text files, such as checkouts of public projects:

    python -m benchmarks.masking ~/src/django ~/src/flask

Public sources also hold some keys and tokens made up for tests: masked values are printed for inspection.
"""

import argparse
import random
import string
import time
from collections import Counter
from pathlib import Path

from coder.permissions.secrets import PLACEHOLDER, Secrets, looks_random

TEXT = frozenset(
    {
        ".py",
        ".txt",
        ".md",
        ".rst",
        ".toml",
        ".cfg",
        ".ini",
        ".js",
        ".ts",
        ".go",
        ".rs",
        ".c",
        ".h",
        ".json",
        ".yml",
        ".lock",
    }
)
DRAWN = 2_000
LENGTHS = (24, 32, 40, 64)
SHOWN = 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directories", nargs="*", type=Path)
    for directory in parser.parse_args().directories:
        _false_alarms(directory)
    for length in LENGTHS:
        print(f"random values of {length} characters that are seen: {_detection_rate(length):.1%}")


def _false_alarms(directory: Path) -> None:
    secrets = Secrets()
    lines, characters, start = 0, 0, time.perf_counter()
    kinds: Counter[str] = Counter()
    samples: list[str] = []
    for path in sorted(directory.rglob("*")):
        if path.suffix not in TEXT or ".git" in path.parts or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        masked = secrets.mask(text)
        lines, characters = lines + text.count("\n"), characters + len(text)
        placeholders = PLACEHOLDER.findall(masked) if masked != text else []
        kinds.update(placeholders)
        samples += [
            f"{path.relative_to(directory)}: {line.strip()[:120]}"
            for line in masked.split("\n")
            if placeholders and PLACEHOLDER.search(line)
        ]
    speed = characters / (time.perf_counter() - start) / 1e6
    print(
        f"{directory.name}: {sum(kinds.values())} masked in {lines} lines, {speed:.1f} million "
        "characters a second"
    )
    for sample in random.Random(1).sample(samples, min(SHOWN, len(samples))):
        print(f"    {sample}")


def _detection_rate(length: int) -> float:
    draw = random.Random(length)
    letters = string.ascii_letters + string.digits + "-_"
    return sum(looks_random("".join(draw.choices(letters, k=length))) for _ in range(DRAWN)) / DRAWN


if __name__ == "__main__":
    main()

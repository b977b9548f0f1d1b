"""Start a benchmark by name: python -m benchmarks NAME [OPTIONS...]; without a name, list them."""

import ast
import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def find_benchmarks() -> dict[str, str]:
    """Return each benchmark's name with the first line of its docstring."""
    found = {}
    for path in sorted([*FOLDER.glob("*.py"), *FOLDER.glob("*/__main__.py")]):
        source = path.read_text(encoding="utf-8")
        if path != Path(__file__) and 'if __name__ == "__main__":' in source:
            name = path.parent.name if path.stem == "__main__" else path.stem
            found[name] = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    return found


def main() -> int:
    benchmarks = find_benchmarks()
    if len(sys.argv) < 2 or sys.argv[1] not in benchmarks:
        print("usage: python -m benchmarks NAME [OPTIONS...]\n")
        for name, summary in benchmarks.items():
            print(f"{name:<14} {summary}")
        return 2
    name = sys.argv.pop(1)
    runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

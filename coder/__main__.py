"""The entry point: answers --version at once, leaves the rest to the command line."""

import sys


def main() -> None:
    """Run the command line; every expected error is one line, and every end has its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from coder import __version__

        print(f"coder {__version__}")
        return
    if sys.platform == "win32":
        print("coder runs on Linux and macOS. On Windows, run it inside WSL: https://learn.microsoft.com/windows/wsl/install", file=sys.stderr)
        raise SystemExit(2)
    from coder.cli.app import run

    raise SystemExit(run())


if __name__ == "__main__":
    main()

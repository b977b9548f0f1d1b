import subprocess
import sys

PROGRAM = """
import asyncio, sys, threading
from types import SimpleNamespace
from coder.ui.tui.app import CoderApp
from coder.ui.tui.commands import OpenedRepository, SessionModel

typed = threading.Event()

def read():
    typed.wait()
    return ()

def model():
    typed.wait()
    return SessionModel("m")

async def until(pilot, claim):
    for _ in range(300):
        await pilot.pause()
        if claim():
            return
    raise AssertionError(f"still not so, with the focus on {pilot.app.focused!r}")

async def main():
    services = SimpleNamespace(read_messages=read, open=OpenedRepository, choose_model=model)
    app = CoderApp(services, repository="/r")
    async with app.run_test() as pilot:
        try:
            await until(pilot, lambda: app.focused is not None)
            await pilot.press("a", "b")
            await until(pilot, lambda: app.focused.text == "ab")
            print(*sys.modules)
        finally:
            typed.set()

asyncio.run(main())
"""
HEAVY = {
    "pydantic",
    "pydantic_ai",
    "git",
    "pygments",
    "markdown_it",
    "coder.core.events",
    "coder.tools",
    "coder.wiring",
}


def test_prompt_accepts_input_before_heavy_imports() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    loaded = set(result.stdout.split())
    assert "textual" in loaded
    assert loaded & HEAVY == set()

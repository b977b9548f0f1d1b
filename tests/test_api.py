"""Public library, by the examples of docs/api.md in a real repository."""

import asyncio
import inspect
import re
from pathlib import Path

import pytest

from coder import api
from coder.settings import trust_repository
from tests import place
from tests.builders import git, repo
from tests.walls import walls

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
FILES = {
    "clock.py": place.FILES["clock.py"],
    "test_clock.py": (
        "from clock import minutes\n\n\ndef test_half_past_nine():\n    assert minutes('09:30') == 570\n\n\n"
        "def test_nine():\n    assert minutes('09:00') == 540\n"
    ),
}
BROKEN = FILES["clock.py"].replace("* 60", "* 61")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CODER_BEHAVIOR_SECONDS", "0")
    root = repo(tmp_path / "repository", FILES)
    trust_repository(root)
    monkeypatch.chdir(root)
    return root


@pytest.mark.thorough
@pytest.mark.skipif(walls() is None, reason="no sandbox works here")
def test_examples_of_the_page_hold(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    assert len(EXAMPLES) == 4
    for example in EXAMPLES:
        exec(compile(example, str(PAGE), "exec"), names)
    assert capsys.readouterr().out.startswith("# PROVEN")
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.skipif(walls() is None, reason="no sandbox works here")
async def test_reports_progress_beside_an_event_loop_and_survives_json(root: Path) -> None:
    lines: list[str] = []
    (root / "clock.py").write_text(BROKEN, encoding="utf-8")
    with pytest.raises(api.UserError, match="to_thread"):
        api.verify()
    result = await asyncio.to_thread(api.verify, on_progress=lines.append)
    assert (result.label, result.exit_code, result.branch) == ("BROKEN", 6, "")
    assert (
        [test.id for test in result.verdict.broken] == ["test_clock.py::test_nine"] if result.verdict else 0
    )
    assert "verify" in lines
    assert api.Result.model_validate_json(result.model_dump_json()) == result


@pytest.mark.skipif(walls() is None, reason="no sandbox works here")
def test_misuse_is_a_user_error(root: Path) -> None:
    with pytest.raises(api.UserError, match="does not fit"):
        api.verify(diff="no diff at all")
    with pytest.raises(api.UserError, match="no uncommitted work"):
        api.verify()
    with pytest.raises(api.UserError, match=r"clock\.py"):
        api.apply("--- a/clock.py\n+++ b/clock.py\n@@ -1 +1 @@\n-nothing like this\n+x\n")


def test_every_public_name_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    functions = [name for name in api.__all__ if inspect.isfunction(getattr(api, name))]
    assert sorted(functions) == ["apply", "fix", "locate", "locate_fault", "verify"]
    assert all(inspect.getdoc(getattr(api, name)) for name in api.__all__)
    assert [name for name in functions if f"`{name}(" not in page] == []

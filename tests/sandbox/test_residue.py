"""Residue of commands is removed."""

from pathlib import Path

from coder.core.ports import Execution
from coder.sandbox.process import ResidueSandbox, survey_worktree
from tests.builders import write
from tests.tools.fakes import FakeSandbox


def test_finds_repositories_and_links(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    names = ["a/.git/config", "b.git/HEAD", "b.git/objects/x", "b.git/refs/x", ".envrc", "x.py"]
    write(tree, dict.fromkeys([*names, ".git", ".venv/bin/setup.py"], ""))
    (tree / "out").symlink_to("/etc/passwd")
    (tree / "in").symlink_to("x.py")
    assert sorted(survey_worktree(tree)) == ["a/.git", "b.git", "out"]


class PlantingSandbox(FakeSandbox):
    """Sandbox whose command leaves a repository, a link, a workflow, and another gitdir pointer."""

    def run(self, *arguments: object, cwd: Path, **options: object) -> Execution:
        write(cwd, {"inner/.git/config": "", ".github/workflows/ci.yml": "", ".git": "gitdir: elsewhere\n"})
        (cwd / "etc").symlink_to("/etc")
        assert self.end
        return self.end


def test_removes_residue_and_reports_it(tmp_path: Path) -> None:
    write(tmp_path, {".git": "gitdir: mine\n", "x.py": ""})
    messages: list[str] = []
    result = ResidueSandbox(
        PlantingSandbox(Execution(exit_code=0, output="done", seconds=0)), tmp_path, messages.append
    ).run(["x"], cwd=tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not path.is_dir()) == [
        ".git",
        ".github/workflows/ci.yml",
        "x.py",
    ]
    assert (tmp_path / ".git").read_text() == "gitdir: mine\n"
    assert messages == [
        "A command made etc, a symbolic link that leads out of the worktree, to /etc; it was removed.",
        "A command made inner/.git, a git repository inside of the worktree; it was removed.",
    ]
    assert result.output == f"done\n[{messages[0]}]\n[{messages[1]}]"


def test_checks_residue_of_other_runners_too(tmp_path: Path) -> None:
    messages: list[str] = []
    sandbox = ResidueSandbox(
        FakeSandbox(Execution(exit_code=0, output="", seconds=0)), tmp_path, messages.append
    )
    with sandbox.check_residue():
        (tmp_path / "etc").symlink_to("/etc")
    assert [message.partition(",")[0] for message in messages] == ["A command made etc"]

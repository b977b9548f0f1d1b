"""Repository configuration that could run a program or redirect git, against every entry point."""

import shutil
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.repo.git import find_checkout
from coder.repo.history import GitHistory, resolve_change
from tests.builders import git, repo, write
from tests.repo.opened import open_candidate, open_session_repository

EXECUTING = {
    "commands": {
        "filter.x.clean": "{run}",
        "filter.x.smudge": "{run}",
        "core.fsmonitor": "{program}",
        "core.hooksPath": "{hooks}",
        "core.sshCommand": "{run}",
        "core.askPass": "{program}",
        "core.editor": "{run}",
        "core.pager": "{run}",
        "core.gitProxy": "{program}",
        "core.alternateRefsCommand": "{run}",
        "sequence.editor": "{run}",
        "credential.helper": "!{run}",
        "diff.x.textconv": "{run}",
        "merge.x.driver": "{run}",
        "gpg.program": "{program}",
        "alias.status": "!{run}",
        "alias.log": "!{run}",
        "trailer.x.command": "{run}",
        "submodule.x.update": "!{run}",
        "uploadpack.packObjectsHook": "{program}",
    },
    "other filter and diff": {
        "filter.x.process": "{run}",
        "diff.x.command": "{run}",
        "gpg.ssh.defaultKeyCommand": "{run}",
    },
    "diff": {"diff.external": "{program}"},
    "include": {"include.path": "{included}"},
    "conditional include": {"includeIf.gitdir:/**.path": "{included}"},
    "worktree": {
        "extensions.worktreeConfig": "true",
        "--worktree filter.x.clean": "{run}",
        "--worktree core.fsmonitor": "{program}",
    },
}
"""Settings by groups in which none keeps git from using another."""


def _verify(root: Path) -> None:
    write(root, {"a.dat": "changed\n", "b.py": "changed\n"})
    assert resolve_change(root, revision=None, against=None).exclusions == (
        "a.dat (the git filter x is not run)",
    )
    resolve_change(root, revision=None, against=None)
    resolve_change(root, revision="HEAD", against=None)


def _fix(root: Path) -> None:
    write(root, {"b.py": "changed\n"})
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"a.py": "fixed\n", "a.dat": "fixed\n"})
        patch = repository.candidate_patch(candidate)
        assert patch.paths == ("a.dat", "a.py")
        repository.checkpoint(candidate, "one")
        with repository.checkout(patch.tree):
            pass
        repository.rollback(candidate, candidate.base)
        fix = repository.deliver(patch, message="fix", evidence="e", slug="s")
        with pytest.raises(UserError, match=r"a\.dat is under the git filter"):
            repository.merge(fix)
        write(candidate.worktree, {"a.py": "fixed\n"})
        repository.merge(
            repository.deliver(repository.candidate_patch(candidate), message="fix", evidence="e", slug="t")
        )


def _locate(root: Path) -> None:
    place = find_checkout(root)
    history = GitHistory(git=place.git, revision=place.head)
    history.show("HEAD")
    history.log(word="x")
    history.log(path="a.py", lines=(1, 1))


@pytest.mark.parametrize("settings", EXECUTING.values(), ids=EXECUTING)
def test_repository_configuration_runs_nothing(tmp_path: Path, settings: dict[str, str]) -> None:
    root = repo(
        tmp_path / "r",
        {"a.py": "a\n", "b.py": "b\n", "a.dat": "a\n", ".gitattributes": "*.dat filter=x diff=x merge=x\n"},
    )
    write(root, {"a.dat": "b\n"})
    git(root, "commit", "-qam", "second")
    marks = tmp_path / "ran"
    marks.mkdir()
    if "filter.x.clean" not in settings:  # the file is configured to be under a filter in each case
        git(root, "config", "filter.x.clean", f"touch {marks}/filter.x.clean; cat")
    for number, (key, value) in enumerate(settings.items()):
        mark, place = marks / str(number), tmp_path / str(number)
        write(
            place,
            {
                "hooks/post-index-change": f"#!/bin/sh\ntouch {mark}\n",
                "included": f'[filter "x"]\n\tclean = "touch {mark}; cat"\n\tsmudge = "touch {mark}; cat"\n',
            },
        )
        program = place / "hooks" / "post-index-change"
        program.chmod(0o755)
        places = {
            "run": f"touch {mark}; cat",
            "program": program,
            "hooks": program.parent,
            "included": place / "included",
        }
        git(root, "config", *key.split(), value.format(**places))
    for enter in (_verify, _fix, _locate):
        enter(shutil.copytree(root, tmp_path / enter.__name__))
        assert [[*settings][int(path.name)] for path in marks.glob("[0-9]*")] == [], enter
        assert [*marks.iterdir()] == [], enter


def test_does_not_fetch_missing_object(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.py": "a\n"})
    blob = git(root, "rev-parse", "HEAD:a.py")
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for key, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": str(tmp_path),
        "remote.evil.uploadpack": f"touch {tmp_path}/ran;",
        "protocol.file.allow": "always",
    }.items():
        git(root, "config", key, value)
    find_checkout(root).git.call("cat-file", "-p", blob, accept=None)
    assert not (tmp_path / "ran").exists()


def test_does_not_run_user_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"user": '[filter "x"]\n\tclean = ./clean.sh\n\tsmudge = ./clean.sh\n'})
    root = repo(
        tmp_path / "r",
        {"a.py": "a\n", "a.dat": "a\n", "clean.sh": "#!/bin/sh\ncat\n", ".gitattributes": "*.dat filter=x\n"},
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "user"))
    with open_candidate(root) as (repository, candidate):
        write(
            candidate.worktree,
            {"clean.sh": f"#!/bin/sh\ntouch {tmp_path}/ran\n", "a.dat": "b\n", "n.dat": "n\n", "a.py": "b\n"},
        )
        (candidate.worktree / "clean.sh").chmod(0o755)
        assert repository.candidate_patch(candidate).paths == ("a.dat", "a.py", "clean.sh", "n.dat")
        assert repository.exclusions[0].startswith("The git filter x is not run: a.dat")
    assert not (tmp_path / "ran").exists()


def test_a_redirected_work_tree_is_not_the_checkout(tmp_path: Path) -> None:
    root = repo(tmp_path / "home" / "r", {"a.py": "a\n"})
    git(root, "config", "core.worktree", str(tmp_path / "home"))
    assert find_checkout(root).root == root


def test_a_submodule_is_a_checkout(tmp_path: Path) -> None:
    library = repo(tmp_path / "library", {"lib.py": "lib\n"})
    root = repo(tmp_path / "r", {"a.py": "a\n"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    assert find_checkout(root / "lib").root == root / "lib"
    with open_session_repository(root / "lib") as repository:
        assert (repository.create_candidate("c1").worktree / "lib.py").is_file()


def test_reads_objects_of_alternate(tmp_path: Path) -> None:
    library = repo(tmp_path / "library", {"lib.py": "lib\n"})
    git(tmp_path, "clone", "-q", "--shared", str(library), "r")
    with open_session_repository(tmp_path / "r") as repository:
        assert (repository.create_candidate("c1").worktree / "lib.py").is_file()


def test_ignores_configured_attributes_and_excludes_files(tmp_path: Path) -> None:
    root = repo(tmp_path / "r", {"a.py": "a\n"})
    write(tmp_path, {"attributes": "*.py -diff\n", "excludes": "new.py\n"})
    git(root, "config", "core.attributesFile", str(tmp_path / "attributes"))
    git(root, "config", "core.excludesFile", str(tmp_path / "excludes"))
    with open_candidate(root) as (repository, candidate):
        write(candidate.worktree, {"a.py": "fixed\n", "new.py": "new\n"})
        patch = repository.candidate_patch(candidate)
    assert patch.paths == ("a.py", "new.py")
    assert "+fixed" in patch.diff

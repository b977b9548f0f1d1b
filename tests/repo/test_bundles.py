"""Bundles of repositories."""

from pathlib import Path

from coder.repo.bundles import make_bundle, unpack_bundle
from coder.repo.git import find_checkout
from tests.builders import git, repo, write


def test_clone_of_a_bundle_has_its_commits_and_is_made_once(tmp_path: Path) -> None:
    origin = repo(tmp_path / "origin", {"a.py": "A = 1\n", "pkg/b.py": "B = 1\n"})
    first = git(origin, "rev-parse", "HEAD")
    write(origin, {"a.py": "A = 2\n"})
    git(origin, "commit", "-qam", "second")
    second = git(origin, "rev-parse", "HEAD")
    write(origin, {".venv/pyvenv.cfg": "", "a.py": "uncommitted"})
    bundle = make_bundle(find_checkout(origin), [first, second])
    assert git(origin, "for-each-ref", "refs/coder") == ""
    reads = []

    def read() -> bytes:
        reads.append(1)
        return bundle

    for commit in (first, second):
        clone = unpack_bundle(read, tmp_path / "clones" / "x", commit=commit, origin=origin)
        assert git(clone, "show", f"{commit}:pkg/b.py") == "B = 1"
    assert (clone.name, len(reads)) == ("origin", 1)
    assert (clone / "a.py").read_text(encoding="utf-8") == "A = 1\n"
    assert git(clone, "status", "--porcelain") == "?? .venv"
    assert (clone / ".venv").resolve() == origin / ".venv"
    assert find_checkout(clone).head == first

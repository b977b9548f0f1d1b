from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.core.values import NewCommit
from coder.repo.delivery import (
    add_note,
    create_user_commit,
    find_copies,
    make_branch,
    make_commit,
    make_copy,
    remove_notes,
)
from coder.repo.git import find_checkout
from tests.builders import git, repo


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repo(tmp_path / "r", {"a.py": "a\n"})


def make_user_commit(root: Path) -> NewCommit:
    door = find_checkout(root).git
    return create_user_commit(
        door, lambda signed: make_commit(door, tree="HEAD^{tree}", parent="HEAD", message="fix")
    )


def test_says_that_a_commit_has_no_author(root: Path) -> None:
    assert make_user_commit(root).remark == ""
    git(root, "config", "--unset", "user.email")
    commit = make_user_commit(root)
    assert commit.remark.startswith(
        f"{commit.id[:10]} is by coder <coder@localhost>, since git knows no name"
    )


@pytest.mark.parametrize("value", ["true", "yes", "false"])
def test_makes_no_author_up_where_git_may_not(root: Path, value: str) -> None:
    git(root, "config", "user.useConfigOnly", value)
    assert make_user_commit(root).remark == ""
    git(root, "config", "--unset", "user.name")
    if value == "false":
        assert "coder@localhost" in make_user_commit(root).remark
    else:
        with pytest.raises(UserError, match=r"useConfigOnly forbids others\. Set them: git config"):
            make_user_commit(root)


@pytest.mark.parametrize(
    ("message", "copied"),
    [
        ("fix: it", "fix: it\n\nCoder-Verdict: X\n(cherry picked from commit {})"),
        ("fix: it\n\nWhy.", "fix: it\n\nWhy.\n\nCoder-Verdict: X\n(cherry picked from commit {})"),
        (
            "fix: it\n\nVerdict: PROVEN",
            "fix: it\n\nVerdict: PROVEN\nCoder-Verdict: X\n(cherry picked from commit {})",
        ),
        (
            (
                "fix: it\n\nCoder-Suite: 3 passed\n\nCoder-Verdict: PROVEN\nCoder-Suite: 3 passed\n"
                "Coder-Session: s"
            ),
            (
                "fix: it\n\nCoder-Suite: 3 passed\n\nCoder-Session: s\nCoder-Verdict: X\n"
                "(cherry picked from commit {})"
            ),
        ),
    ],
)
def test_a_copy_names_its_source_and_is_found_by_it(root: Path, message: str, copied: str) -> None:
    door = find_checkout(root).git
    source = make_commit(door, tree="HEAD^{tree}", parent="HEAD", message=message)
    copy = make_copy(door, source, tree="HEAD^{tree}", parent="HEAD", verdict=("Coder-Verdict: X",))
    assert git(root, "log", "-1", "--format=%B", copy) == copied.format(source)
    assert find_copies(door, source) == []
    git(root, "reset", "-q", copy)
    assert find_copies(door, source) == [copy]


def test_keeps_the_branch_of_another_session(root: Path) -> None:
    door = find_checkout(root).git
    head = git(root, "rev-parse", "HEAD")
    other = make_commit(door, tree="HEAD^{tree}", parent="HEAD", message="other")
    names = [
        make_branch(door, slug="Fix: the 'thing'!", session="20260101-0ABC12", commit=commit)
        for commit in (head, other, head)
    ]
    assert names == [
        "coder/fix-the-thing-0abc12",
        f"coder/fix-the-thing-0abc12-{other[:7]}",
        "coder/fix-the-thing-0abc12",
    ]
    assert make_branch(door, slug="…", session="x", commit=head) == "coder/fix-x"


HOSTILE = "fix\x1b[2J \u202egnp.exe\x07 \ud800\u2066x\0\n\n\tbody\x9b\r\n\nCoder-Test: a\x1b]0;owned\x07b"


def test_strips_control_and_bidi_characters_from_messages_and_notes(root: Path) -> None:
    door = find_checkout(root).git
    commit = make_commit(door, tree="HEAD^{tree}", parent="HEAD", message=HOSTILE)
    add_note(door, commit, HOSTILE)
    stripped = "fix �gnp.exe� ��x�\n\n\tbody�\n\nCoder-Test: ab"
    assert git(root, "log", "-1", "--format=%B", commit) == stripped
    assert git(root, "notes", "--ref=coder", "show", commit) == stripped


def test_adds_and_removes_notes_without_trace(root: Path) -> None:
    door = find_checkout(root).git
    first, second = (
        make_commit(door, tree="HEAD^{tree}", parent="HEAD", message=subject) for subject in ("1", "2")
    )
    for commit in (first, second):
        add_note(door, commit, "evidence")
    assert git(root, "notes", "--ref=coder", "show", second) == "evidence"
    remove_notes(door, second)
    assert git(root, "notes", "--ref=coder", "list").split()[1::2] == [first]
    add_note(door, second, "evidence")
    remove_notes(door, first)
    assert git(root, "notes", "--ref=coder", "list").split()[1] == second
    remove_notes(door, first, second)
    assert git(root, "for-each-ref", "refs/notes") == ""

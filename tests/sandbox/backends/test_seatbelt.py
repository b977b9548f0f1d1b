"""Seatbelt profiles, evaluated by the rules of the profile language.

The last matching rule decides; rules that name an operation exactly come after those with a wildcard.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coder.core.errors import SandboxError
from coder.core.values import READ_ONLY, Policy
from coder.sandbox.choice import suggest_remedy
from coder.sandbox.process import ProcessSandbox
from coder.sandbox.seatbelt import Seatbelt, build_profile, find_stored_spelling, list_names
from coder.sandbox.view import FileSystemView
from tests.builders import repo, write

Expression = str | list["Expression"]
TOKEN = re.compile(r'\s*(?:;.*\n\s*)*([()]|#?"(?:[^"\\]|\\.)*"|[^\s()"]+)')


class Profile:
    """A parsed profile that answers whether an operation on a path is allowed."""

    def __init__(self, text: str) -> None:
        self.rules = [*parse(text)]
        assert self.rules[:2] == [["version", "1"], ["deny", "default"]]

    def allows(self, operation: str, path: Path | str) -> bool:
        decisions: dict[bool, bool] = {}
        for action, *operands in self.rules[2:]:
            operations = [operand for operand in operands if isinstance(operand, str)]
            filters = [operand for operand in operands if not isinstance(operand, str)]
            is_exact = operation in operations
            if (is_exact or any(covers(name, operation) for name in operations)) and (
                not filters or any(matches(rule, str(path)) for rule in filters)
            ):
                decisions[is_exact] = action == "allow"
        return decisions.get(True, decisions.get(False, False))


def covers(rule: str, operation: str) -> bool:
    return operation.startswith(rule.removesuffix("*")) if rule.endswith("*") else rule == operation


def matches(rule: Expression, path: str) -> bool:
    match rule:
        case ["subpath", str(directory)]:
            return path == directory or path.startswith(directory.rstrip("/") + "/")
        case ["literal", str(literal)]:
            return path == literal
        case ["local" | "remote", "unix-socket", filtered]:
            return matches(filtered, path)
        case ["sysctl-name-prefix", str(prefix)]:
            return path.startswith(prefix)
        case ["regex", str(pattern)]:
            return re.search(pattern, path) is not None
    return False  # extensions, names of services, internet addresses: no path has them


def parse(text: str) -> Iterator[list[Expression]]:
    stack: list[list[Expression]] = [[]]
    position = 0
    while match := TOKEN.match(text, position):
        position = match.end()
        token = match[1]
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        elif token.endswith('"'):
            body = token[token.index('"') + 1 : -1]
            stack[-1].append(body if token.startswith("#") else re.sub(r"\\(.)", r"\1", body))
        else:
            stack[-1].append(token)
    assert text[position:].strip() == ""
    assert len(stack) == 1, "unbalanced parentheses"
    for rule in stack[0]:
        assert isinstance(rule, list)
        yield rule


def wrap(
    tree: Path, tmp_path: Path, policy: Policy | None = None, *, path: str = "/usr/bin"
) -> tuple[tuple[str, ...], Path]:
    """Return the command line of `make test` in `tree`, and the sandbox's private directory."""
    program = tmp_path / "sandbox-exec"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with ProcessSandbox({"PATH": path, "HOME": str(tmp_path)}, backend=Seatbelt(str(program))) as sandbox:
        return sandbox.wrap_command(("make", "test"), cwd=tree, policy=policy).argv, sandbox.scratch


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = (tmp_path / "home").resolve()
    write(home, {".ssh/id_rsa": "key", ".local/bin/tool": "", "project/a.py": "", "project/.env": "KEY=1"})
    monkeypatch.setenv("HOME", str(home))
    return home


def test_profile_hides_home_except_worktree_and_tools(home: Path, tmp_path: Path) -> None:
    argv, scratch = wrap(home / "project", tmp_path)
    assert argv[1] == "-p"
    assert argv[3:] == ("--", "make", "test")
    profile = Profile(argv[2])
    readable: list[Path | str] = [
        home / "project/a.py",
        home / ".local/bin/tool",
        scratch / "x",
        "/usr/bin/make",
        "/dev/null",
    ]
    assert [path for path in readable if not profile.allows("file-read-data", path)] == []
    hidden: list[Path | str] = [
        home / ".ssh/id_rsa",
        home,
        home / "project/.env",
        "/dev/ttys001",
        "/dev/rdisk0",
    ]
    assert [path for path in hidden if profile.allows("file-read-data", path)] == []
    assert profile.allows("file-read-metadata", home), "a path is resolved through its parents"
    assert not profile.allows("file-read-metadata", home / ".ssh")


def test_profile_allows_writes_to_worktree_and_scratch_only(home: Path, tmp_path: Path) -> None:
    repo(home / "project", {"a.py": ""})
    argv, scratch = wrap(home / "project", tmp_path)
    profile = Profile(argv[2])
    assert all(
        profile.allows(operation, path)
        for operation in ("file-write-data", "file-write-create", "file-write-unlink", "file-write-mode")
        for path in (home / "project/new.py", scratch / "x")
    )
    refused: list[Path | str] = [
        home / "project/.git/config",
        home / ".bashrc",
        "/usr/bin/x",
        "/dev/ttys001",
        "/etc/passwd",
    ]
    assert [path for path in refused if profile.allows("file-write-data", path)] == []


def test_nothing_that_carries_a_rule_can_be_renamed(home: Path, tmp_path: Path) -> None:
    write(home / "project", {"conf/deep/.env": "KEY=1", "build/x": ""})
    repo(home / "project", {"a.py": ""})
    argv, _ = wrap(home / "project", tmp_path)
    profile, project = Profile(argv[2]), home / "project"
    pinned = [project, project / "conf", project / "conf/deep", project / "conf/deep/.env", project / ".git"]
    assert [path for path in pinned if profile.allows("file-write-unlink", path)] == []
    assert all(profile.allows("file-write-unlink", project / name) for name in ("build", "build/x", "a.py"))
    assert not profile.allows("file-link", project / "link")


def test_own_terminals_work_and_link_targets_are_reached(home: Path, tmp_path: Path) -> None:
    (home / ".local/bin/link").symlink_to("tool")
    (home / "tools").symlink_to(".local/bin")
    argv, _ = wrap(home / "project", tmp_path, path=f"{home}/tools:/usr/bin")
    profile = Profile(argv[2])
    assert all(
        profile.allows(operation, "/dev/ptmx")
        for operation in ("file-read-data", "file-write-data", "file-ioctl")
    )
    assert profile.allows("file-read-data", home / "tools"), "the link itself"
    assert profile.allows("file-read-data", home / ".local/bin/link")
    assert not profile.allows("sysctl-read", "kern.procargs2")


def test_read_only_policy_covers_worktree(home: Path, tmp_path: Path) -> None:
    argv, scratch = wrap(home / "project", tmp_path, READ_ONLY)
    profile = Profile(argv[2])
    assert not profile.allows("file-write-data", home / "project/a.py")
    assert profile.allows("file-write-data", scratch / "x")


def test_network_reaches_no_socket_of_another_program(home: Path, tmp_path: Path) -> None:
    for policy in (Policy(network=False), Policy(network=True)):
        argv, scratch = wrap(home / "project", tmp_path, policy)
        profile = Profile(argv[2])
        assert profile.allows("network-outbound", scratch / "socket")
        assert not profile.allows("network-outbound", "/private/var/run/docker.sock")
        assert ('(remote ip "*:*")' in argv[2]) is policy.network


def test_denies_repository_whose_configuration_holds_a_key(tmp_path: Path) -> None:
    write(tmp_path, {"open/config": "[core]\n", "keys/config": "[remote]\nurl = https://me:x@example.org\n"})
    root = tmp_path.resolve()
    view = FileSystemView(
        hidden=(root,),
        readable=(root / "open", root / "keys"),
        writable=(),
        protected=(),
        masked=(),
        replacements={root / "open/config": b"", root / "keys/config": b""},
    )
    profile = Profile(build_profile(view, network=False))
    assert profile.allows("file-read-data", root / "open/HEAD")
    assert not profile.allows("file-read-data", root / "keys/HEAD")


def test_quotes_paths_and_refuses_control_characters(tmp_path: Path) -> None:
    strange = tmp_path.resolve() / 'a "quoted" \\ path'
    view = FileSystemView(hidden=(), readable=(), writable=(strange,), protected=(), masked=())
    assert Profile(build_profile(view, network=False)).allows("file-write-data", strange / "x")
    broken = FileSystemView(hidden=(), readable=(), writable=(tmp_path / "a\nb",), protected=(), masked=())
    with pytest.raises(SandboxError, match=r"a sandbox profile cannot contain the path '.*a\\nb'"):
        build_profile(broken, network=False)


def test_profile_names_files_as_directories_spell_them(tmp_path: Path) -> None:
    # Two names of one file, of which the directory lists one, stand for a file system that ignores case.
    write(tmp_path, {"Clé.txt": "key", "other.txt": ""})
    (tmp_path / "cle\u0301.TXT").hardlink_to(tmp_path / "Clé.txt")

    def list_stored(directory: Path) -> list[str]:
        return ["Clé.txt", "OTHER.TXT"] if directory == tmp_path else [*list_names(directory)]

    def spell(name: str) -> str:
        return find_stored_spelling(tmp_path / name, list_stored).name

    assert spell("cle\u0301.TXT") == "Clé.txt"
    assert spell("other.txt") == "other.txt", "another file of a system that heeds case"
    assert spell("none.txt") == "none.txt"
    assert find_stored_spelling(tmp_path / "none/x", list_names) == tmp_path / "none/x"


def test_profile_that_is_too_long_says_what_to_do(tmp_path: Path) -> None:
    private = tuple(tmp_path / f"directory-{number}/.env" for number in range(1000))
    view = FileSystemView(hidden=(), readable=(), writable=(tmp_path,), protected=(), masked=private)
    with pytest.raises(SandboxError, match=r"bytes, and macOS may take .* names 1,000 private files: move"):
        build_profile(view, network=False)


def test_reports_profile_that_does_not_compile() -> None:
    seatbelt = Seatbelt(sys.executable)
    with pytest.raises(SandboxError, match="unbound variable: subpth"):
        seatbelt.exit_code(65, "sandbox-exec: unbound variable: subpth\n")
    assert seatbelt.exit_code(65, "my own words") == 65
    assert seatbelt.exit_code(-9, "") == -9


@pytest.mark.skipif(sys.platform == "darwin", reason="it is there")
def test_elsewhere_says_that_macos_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxError, match="comes with macOS alone"):
        Seatbelt()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert suggest_remedy(["Seatbelt: broken"]) == (
        "Inside another sandbox Seatbelt cannot start: run coder in a plain terminal."
    )

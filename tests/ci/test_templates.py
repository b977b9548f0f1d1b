"""CI templates: their YAML is valid, and their shell steps judge a real pull request."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.builders import by_hand, git
from tests.place import Place
from tests.walls import walls

yaml: Any = pytest.importorskip("yaml", reason="pyyaml is not installed")

ROOT = Path(__file__).parent.parent.parent
ACTION = yaml.safe_load((ROOT / ".github/actions/verify/action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text(encoding="utf-8"))["coder verify"]
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
PLAIN_TEST = "\n    def test_nine(self):\n        self.assertEqual(minutes('09:00'), 540)\n"
CHANGES = {
    "broken": ("* 60 -", "* 61 -"),
    "passing": ("int(rest)", "int(rest, 10)"),
    "proven": ("- int", "+ int"),
}


EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
"""Reference to a context in a workflow; it may only stand for a whole word of a value."""


def resolve(value: str, contexts: dict[str, Any]) -> str:
    """Replace the references in a value as GitHub does; a name that no context has is an error."""

    def look_up(reference: re.Match[str]) -> str:
        found: Any = contexts
        for name in reference[1].split("."):
            found = found[name]
        return str(found)

    return EXPRESSION.sub(look_up, value)


class PullRequest:
    """A branch with one change, and the machine of a CI job."""

    def __init__(self, root: Path, change: str) -> None:
        self.place = Place(root)
        self.machine = root / "machine"
        self.repository = self.place.repository
        with (self.repository / "test_clock.py").open("a", encoding="utf-8") as file:
            file.write(PLAIN_TEST)
        git(self.repository, "commit", "-qam", "one more test")
        self.base = git(self.repository, "rev-parse", "HEAD")
        git(self.repository, "checkout", "-qb", "topic")
        code = self.repository / "clock.py"
        code.write_text(code.read_text(encoding="utf-8").replace(*CHANGES[change]), encoding="utf-8")
        if change == "proven":
            (self.repository / "test_new.py").write_text(
                "from unittest import TestCase\n\nfrom clock import minutes\n\n\nclass NewTest(TestCase):\n"
                "    def test_ten(self):\n        self.assertEqual(minutes('10:10'), 610)\n"
            )
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-qm", "change the clock")
        self.head = git(self.repository, "rev-parse", "HEAD")
        for name, script in (
            ("coder/bin/python", f'exec {sys.executable} "$@"'),
            ("gh", 'echo "gh $*" >> "$RUNNER_TEMP/requests"'),
            ("curl", 'echo "curl $*" >> "$RUNNER_TEMP/requests"'),
        ):
            program = self.machine / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            program.chmod(0o755)

    def run(
        self, script: str, *, shell: tuple[str, ...], **variables: str
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            **self.place.environment,
            "PATH": f"{self.machine}{os.pathsep}{self.place.environment['PATH']}",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "RUNNER_TEMP": str(self.machine),
            "GITHUB_OUTPUT": str(self.machine / "output"),
            "GITHUB_STEP_SUMMARY": str(self.machine / "summary"),
            **variables,
        }
        return subprocess.run(
            [*shell, script],
            cwd=self.repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def step(self, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a step of the action as GitHub's runner does."""
        assert set(variables) == set(STEPS[name]["env"])
        shell = ("bash", "--noprofile", "--norc", "-euo", "pipefail", "-c")  # and without unset variables
        return self.run(STEPS[name]["run"], shell=shell, **variables)

    def judge(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the step that judges, with defaults for what is not given."""
        sandbox = "required" if walls() else "none"
        defaults = {"TEST": "", "SANDBOX": sandbox, "REQUIRED": "passing"}
        return self.step("Judge", **{**defaults, **variables})

    def event(self) -> dict[str, Any]:
        """Return the contexts of a pull request of a fork, in the form of GitHub's documented event."""
        return {
            "github": {
                "event": {
                    "pull_request": {
                        "number": 7,
                        "base": {"sha": self.base, "repo": {"full_name": "o/r"}},
                        "head": {"sha": self.head, "repo": {"full_name": "guest/r", "fork": True}},
                    }
                },
                "repository": "o/r",
                "token": "read-only",
            },
            "inputs": {name: entry["default"] for name, entry in ACTION["inputs"].items()}
            | {"sandbox": "required" if walls() else "none"},
        }

    def read(self, name: str) -> str:
        return (self.machine / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "required", "exit_code"),
    [
        ("broken", "not-broken", 6),
        *by_hand(("passing", "passing", 0), ("passing", "proven", 3), ("proven", "proven", 0)),
    ],
)
def test_action_judges_comments_and_decides(
    tmp_path: Path, change: str, required: str, exit_code: int
) -> None:
    pull_request = PullRequest(tmp_path, change)
    judged = pull_request.judge(BASE=pull_request.base, HEAD=pull_request.head, REQUIRED=required)
    assert judged.returncode == 0, judged.stderr
    assert pull_request.read("output").startswith(f"exit-code={exit_code}\n")
    assert pull_request.read("summary").startswith(f"<!-- coder verify -->\n# {change.upper()}")
    results = pull_request.machine / "coder-results"
    failures = ElementTree.parse(results / "evidence.xml").getroot().get("failures")
    assert (failures == "0") is (change != "broken")
    (run,) = json.loads((results / "evidence.sarif").read_text(encoding="utf-8"))["runs"]
    assert any(entry["level"] == "error" for entry in run["results"]) is (change == "broken")
    comment = pull_request.step("Comment", GH_TOKEN="x", COMMENTS="repos/o/r/issues", NUMBER="7")
    assert comment.returncode == 0, comment.stderr
    assert "repos/o/r/issues/7/comments -F body=@" in pull_request.read("requests").splitlines()[-1]
    assert pull_request.step("Decide", CODE=str(exit_code)).returncode == exit_code


@pytest.mark.thorough
def test_fork_gets_verdict_without_secret_or_comment(tmp_path: Path) -> None:
    pull_request = PullRequest(tmp_path, "proven")
    refusing = pull_request.machine / "gh"
    refusing.write_text("#!/bin/sh\necho 'HTTP 403: Resource not accessible' >&2\nexit 1\n", encoding="utf-8")
    contexts, decisions = pull_request.event(), []
    for name in ("Judge", "Comment", "Decide"):
        variables = {key: resolve(value, contexts) for key, value in STEPS[name]["env"].items()}
        assert ("read-only" in variables.values()) is (name == "Comment"), "tests run without a token"
        step = pull_request.step(name, **variables)
        decisions.append(step.returncode)
        if name == "Judge":
            output = dict(line.split("=") for line in pull_request.read("output").splitlines())
            contexts["steps"] = {STEPS[name]["id"]: {"outputs": output}}
        if name == "Comment":
            assert "::notice::The evidence could not be a comment" in step.stdout
    assert decisions == [0, 0, 0]
    assert "# PROVEN" in pull_request.read("summary")


def test_documented_workflow_gives_forks_no_secret() -> None:
    page = (ROOT / "docs/ci/README.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    assert workflow[True] == "pull_request"  # YAML 1.1 reads the key `on` as a boolean
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    checkout, *_, verify = workflow["jobs"]["verify"]["steps"]
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}
    assert set(verify["with"]) <= set(ACTION["inputs"])
    assert "secrets." not in json.dumps([workflow, ACTION, GITLAB], default=str)


@pytest.mark.thorough
def test_action_without_verdict_shows_no_earlier_evidence(tmp_path: Path) -> None:
    """A runner that keeps its state judged another pull request before."""
    pull_request = PullRequest(tmp_path, "proven")
    assert pull_request.judge(BASE=pull_request.base, HEAD=pull_request.head).returncode == 0
    assert "# PROVEN" in pull_request.read("coder-results/comment.md")
    judged = pull_request.judge(BASE="0" * 40, HEAD="HEAD")
    assert "no revision" in judged.stderr
    assert pull_request.read("output").splitlines()[-3] == "exit-code=2"
    assert pull_request.read("coder-results/comment.md").startswith("<!-- coder verify -->\n# No verdict")
    assert not (pull_request.machine / "coder-results" / "evidence.xml").exists()
    assert pull_request.step("Decide", CODE="2").returncode == 2


def test_shallow_clone_is_named_as_such(tmp_path: Path) -> None:
    pull_request = PullRequest(tmp_path, "passing")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{pull_request.repository}", "shallow")
    pull_request.repository = tmp_path / "shallow"
    judged = pull_request.judge(BASE=pull_request.base, HEAD=pull_request.head)
    assert "shallow clone" in judged.stderr
    assert "fetch-depth: 0" in judged.stderr


def test_coder_is_installed_apart_from_the_projects_packages() -> None:
    scripts = [STEPS["Install coder"]["run"], "\n".join(GITLAB["before_script"])]
    for script in scripts:
        assert "--system-site-packages" not in script
        assert "-I -m venv" in script
        assert "PIP_CONSTRAINT" in script


@pytest.mark.parametrize(
    ("package", "code"), [("", 2), ("coder", 2), ("coder-proof[mcp]", 2), ("git+https://h/o/coder@v1", 0)]
)
def test_gitlab_installs_no_bare_name(tmp_path: Path, package: str, code: int) -> None:
    check, *_ = GITLAB["before_script"]
    result = subprocess.run(["sh", "-ec", check], env={"CODER_PACKAGE": package}, check=False)
    assert result.returncode == code
    assert GITLAB["variables"]["CODER_PACKAGE"] == ""


INSTALLS = re.compile(
    r"(?:pip|pipx|uv|uvx|tool|brew)\b[^\n`]*\b(?:install|run|--from|--spec)\b[^\n`]*[\s'\"](coder(?:-proof)?)\b(?![/-])"
)
"""A command that takes coder from a package index."""


def test_no_page_or_message_installs_a_name_from_an_index() -> None:
    places = ("coder", "docs", ".github", "README.md", "CONTRIBUTING.md", ".pre-commit-hooks.yaml")
    listing = git(ROOT, "ls-files", *places).splitlines()
    files = [ROOT / name for name in listing if name != "docs/releasing.md" and (ROOT / name).is_file()]
    texts = {file: file.read_text(encoding="utf-8", errors="replace") for file in files}
    assert {file: match[0] for file, text in texts.items() if (match := INSTALLS.search(text))} == {}


def test_action_passes_no_expression_into_a_script() -> None:
    """An expression in a script is code of whoever names a branch."""
    assert [name for name, step in STEPS.items() if "${{" in step["run"]] == []
    assert {name for step in STEPS.values() for name in step.get("env", {})} >= {"BASE", "HEAD", "GH_TOKEN"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("shell", "token"), [(("sh", "-ec"), "x"), (("bash", "-eu", "-o", "pipefail", "-c"), None)]
)
def test_gitlab_job_judges_and_comments(tmp_path: Path, shell: tuple[str, ...], token: str | None) -> None:
    merge_request = PullRequest(tmp_path, "passing")
    (script,) = GITLAB["script"]
    variables = {**GITLAB["variables"], "CI_API_V4_URL": "https://h/api/v4"}
    variables |= {"CODER_COMMENT_TOKEN": token} if token else {}
    variables |= {"CI_PROJECT_ID": "1", "CI_MERGE_REQUEST_IID": "2", "CI_COMMIT_SHA": merge_request.head}
    variables |= {"CI_MERGE_REQUEST_DIFF_BASE_SHA": merge_request.base}
    variables["CODER_OPTIONS"] += "" if walls() else " --unsafe-no-sandbox"
    script = script.replace("/tmp/coder", str(merge_request.machine / "coder"))
    result = merge_request.run(script, shell=shell, **variables)
    assert result.returncode == 0, result.stderr
    assert (merge_request.repository / "evidence.md").read_text().startswith("# PASSING")
    assert (merge_request.repository / "evidence.xml").exists()
    requests = merge_request.read("requests") if (merge_request.machine / "requests").exists() else ""
    assert ("https://h/api/v4/projects/1/merge_requests/2/notes" in requests) is (token is not None)

"""Judgement of a change, with a scripted runner."""

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest

from coder.core.values import Cutoff
from coder.core.verdict import (
    Counts,
    Failure,
    LintReport,
    RunProblem,
    TestReport,
    TestResult,
    Verdict,
    VerdictKind,
)
from coder.verify import verifier
from coder.verify.change import Purpose
from coder.verify.examine import ExaminationTools
from coder.verify.run import OUT_OF_TIME
from coder.verify.verifier import WorktreeVerifier
from tests.builders import by_hand
from tests.verify.fakes import (
    FakeIssueCode,
    FakeRunner,
    FakeTrees,
    Files,
    NoTrials,
    failed_result,
    passed_result,
)

TEST, OTHER_FILE = "tests/test_calc.py", "tests/test_other.py"
BASE = {"calc.py": "bug", TEST: "old", OTHER_FILE: "other"}
FIX = {"calc.py": "fixed"}
NEW_TEST = {TEST: "old new"}
TESTED = {**FIX, **NEW_TEST}
ADDED = f"{TEST}::test_added"
OLD = f"{TEST}::test_old"
OTHER = f"{OTHER_FILE}::test_other"
Suite = Callable[[Files], Sequence[TestResult] | RunProblem]


BASE_RUNS = ["on demand"]
"""Mode of base runs: on demand the tests that do not pass on the change, or the whole suite up front."""


@pytest.fixture(autouse=True, params=["on demand", *by_hand("up front")])
def base_runs(request: pytest.FixtureRequest) -> str:
    BASE_RUNS[0] = request.param
    return BASE_RUNS[0]


def suite(files: Files) -> list[TestResult]:
    """Return three tests: one that always passes, one that `breaks` breaks, one that is there once added
    and green once fixed.
    """
    calc, tests = files.get("calc.py", ""), files.get(TEST, "")
    results = [passed_result(OLD)] if "old" in tests else []
    if "new" in tests:
        results.append(passed_result(ADDED) if "fixed" in calc else failed_result(ADDED))
    if OTHER_FILE in files:
        results.append(failed_result(OTHER) if "breaks" in calc else passed_result(OTHER))
    return results


def either(
    word: str,
    there: Sequence[TestResult] | RunProblem,
    otherwise: Sequence[TestResult] | RunProblem,
    path: str = "calc.py",
) -> Suite:
    """Return a suite whose results depend on whether a file has a word."""
    return lambda files: there if word in files.get(path, "") else otherwise


def with_other(is_red: Callable[[Files], bool]) -> Suite:
    """Return the usual suite, whose last test fails where a condition holds."""
    return lambda files: [*suite(files)[:-1], failed_result(OTHER) if is_red(files) else passed_result(OTHER)]


def run_python(files: Files) -> list[TestResult]:
    """Run the functions in the files of tests on those of `calc.py`, each file in one namespace."""
    results = []
    for path in sorted(path for path in files if path.startswith("tests/")):
        names: dict[str, Any] = {}
        exec(files["calc.py"] + "\n" + files[path], names)
        for name in [name for name in names if name.startswith("test_")]:
            try:
                names[name]()
                results.append(passed_result(f"{path}::{name}"))
            except (AssertionError, NameError) as error:
                frames = ((path, 1, name),)
                results.append(
                    failed_result(f"{path}::{name}", type(error).__name__, str(error), frames=frames)
                )
    return results


def judge(
    tmp_path: Path,
    change: Files,
    *,
    named_tests: Sequence[str] = (),
    base: Files = BASE,
    ending: Suite = suite,
    issue: str = "",
    needs_ties: bool = False,
    runner: FakeRunner | None = None,
    **options: Any,
) -> Verdict:
    """Judge a change; `options` are those of the verifier."""
    trees = FakeTrees(tmp_path, base, change)
    purpose = Purpose(issue=issue, needs_ties=needs_ties)
    verifier = WorktreeVerifier(trees=trees, runner=runner or FakeRunner(ending), purpose=purpose, **options)
    if BASE_RUNS[0] == "up front":
        verifier.baseline()
    verdict = verifier.examine(verifier.judge(trees.patch, named_tests))
    assert trees.live == 0
    assert verdict.tree == "change"
    return verdict


class Case(NamedTuple):
    """A change, how tests end with it, and what its verdict says; None is not looked at."""

    kind: str
    change: Files
    ending: Suite = suite
    base: Files = BASE
    named: Sequence[str] = ()
    issue: str = ""
    ties: bool = False
    runner: dict[str, Any] = {}  # noqa: RUF012 (never changed)
    targets: Sequence[str] | None = None
    broken: Sequence[str] | None = None
    still_red: Sequence[str] | None = None
    cause: str = ""
    text: str = ""


def red(test: str, error: str = "AssertionError", message: str = "assert 1 == 2") -> TestResult:
    return failed_result(test, error, message)


def uncollected(error: str, message: str) -> TestResult:
    return failed_result(TEST, error, message, when="collect")


def skipped(test: str) -> TestResult:
    return passed_result(test, "skipped")


def importing(files: Files) -> list[TestResult]:
    """Return a file of tests that can be collected once the source is fixed."""
    if files["calc.py"] == "bug":
        error = uncollected("ImportError", "cannot import name 'x' from 'calc' (calc.py)")
        return [error, passed_result(OTHER)]
    added = skipped(ADDED) if files["calc.py"] == "fixed" else red(ADDED)
    return [passed_result(OLD), added, passed_result(OTHER)]


def cases(files: Files) -> list[TestResult]:
    """Return one parametrized test, a case for each letter of `calc.py`'s tests, named by position; case
    `b` needs the source not to break it.
    """
    is_broken = "breaks" in files["calc.py"]
    return [
        (red if is_broken and letter == "b" else passed_result)(f"{TEST}::test_case[{letter}{position}]")
        for position, letter in enumerate(files.get(TEST, ""))
    ]


def run_table(files: Files) -> list[TestResult]:
    """Return one result for each case of a table: red unless the source has its value."""
    return [
        (passed_result if row in files["calc.py"].split() else red)(f"tests/test_table.py::test_value[{row}]")
        for row in files["tests/table.json"].strip("[]").split(", ")
    ]


def run_unless_configured(files: Files) -> list[TestResult]:
    return suite(files) if files.keys() == BASE.keys() else suite(files)[:-1]


def run_doctest(files: Files) -> list[TestResult]:
    name = "calc.py::calc.add"
    return [red(name, "DocTestFailure") if "a - b" in files["calc.py"] else passed_result(name)]


MOMENTS = iter(range(10_000))
GREEN, RED = (TestResult(id="make test", outcome=outcome) for outcome in ("passed", "failed"))
BY_CODE = {"by_exit_code": True}
EXACT, LOOSE = "def test_old(): exact", "def test_old(): loose"
STILL_RED = "test_old is still red as it was before its edit"
CONFIGURED = {**BASE, "tox.ini": "[pytest]\n"}
LOCKED, LOCK = {**BASE, "uv.lock": "a = 1"}, {"uv.lock": "a = 2"}
DOCTEST = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n'
ADDS = DOCTEST.replace("a - b", "a + b").replace("Add.", "Both.")
ADD_TEST = "def test_add():\n    {}\n"
IMPORTS_ADD = {"calc.py": "add = 1\n", TEST: "from calc import add\n" + ADD_TEST.format("assert add")}
NO_SUB = either(
    "sub",
    [passed_result(f"{TEST}::test_add")],
    [uncollected("ImportError", "cannot import name 'sub' from 'calc'")],
)
LACKS_NUMPY = red(OLD, "ModuleNotFoundError", "No module named 'numpy'")
LACKS_TEXTS = failed_result(OLD, "ModuleNotFoundError", "No module named 'texts'", when="collect")
GONE = "import gone\ndef test_old(): 1\n"
IMPORTS_GONE = either(
    "gone",
    [uncollected("ImportError", "cannot import name 'gone' from 'calc'"), passed_result(OTHER)],
    [passed_result(OLD), passed_result(OTHER)],
    TEST,
)
HALF = "def half(n): return n // 2\n"
PLUS = "def read(text): return int(text) + 1\n"
READ = "def read(text): return int(text)\n"
SIGNED = "def test_read_sign(): assert read('-2') == -2\n"
READS = "def test_read(): assert read('2') == 3 - 1\n"
HALVES = "def test_half(): assert half(4) == 2\n"
PARSE, PARSES = (text.replace("read(", "parse(") for text in (READ, READS))
EXPECTS = "def test_read(): assert read('2') == {}\n"
MORE = "def test_more(): assert read('5') == 6\n"
READ_TWICE = {"calc.py": READ, TEST: EXPECTS.format(2) + HALVES.replace("half(4)", "read('2')")}
RENAMES: dict[str, Any] = {
    "base": {"calc.py": READ + HALF.replace("//", "*"), TEST: READS},
    "ending": run_python,
    "issue": "half(4) is 8. Rename read to parse.",
}
TABLE = {
    "calc.py": "n = 1",
    "tests/table.json": "[1, 32]",
    "tests/test_table.py": "import calc\n\ndef test_value():\n    open('table.json')\n",
}

CASES = {
    "passes on the base": Case(
        *("PASSING", TESTED, either("new", [passed_result(OLD), passed_result(ADDED)], [], TEST)),
        named=[ADDED],
        text=f"{ADDED} passes on the untouched code already",
    ),
    "red for a wrong reason": Case(
        *("PASSING", TESTED),
        either("fixed", [passed_result(ADDED)], [uncollected("ImportError", "no name 'x'")]),
        text="its file cannot be collected: ImportError: no name 'x'",
    ),
    "named tests of a file that can be collected now": Case(
        "PROVEN", FIX, importing, named=[TEST], targets=[OLD]
    ),
    "red in a file that can be collected now": Case(
        "NOT FIXED", {"calc.py": "half"}, importing, named=[TEST], still_red=[ADDED]
    ),
    "file that no longer loads": Case(
        *("BROKEN", {"calc.py": "worse"}),
        lambda files: (
            suite(files)
            if files["calc.py"] == "bug"
            else [uncollected("ValueError", "bad"), passed_result(OTHER)]
        ),
        {**BASE, **NEW_TEST},
        broken=[OLD],
    ),
    "edited file that cannot be collected": Case(
        *("NOT FIXED", {TEST: "bad"}),
        either("bad", [uncollected("SyntaxError", "bad")], [passed_result(OLD)], TEST),
        still_red=[TEST],
    ),
    "skipped as before": Case(
        *("PROVEN", TESTED, lambda files: [*suite(files), skipped(f"{TEST}::test_elsewhere")]),
        named=[TEST],
        targets=[ADDED],
    ),
    "target is red": Case(
        *("NOT FIXED", {"calc.py": "other", **NEW_TEST}),
        still_red=[ADDED],
        cause="logic",
        text=f"1 test still fails with the change: {ADDED}.",
    ),
    "named and skipped now": Case(
        "NOT FIXED", FIX, either("fixed", [skipped(OLD)], [red(OLD)]), named=[OLD], still_red=[OLD]
    ),
    **{
        f"red, and skipped by its edit{', named' * bool(named)}": Case(
            *(kind, {"calc.py": "other", TEST: "old skip"}),
            either("skip", [skipped(OLD)], [red(OLD)], TEST),
            named=named,
            text=STILL_RED,
        )
        for kind, named in (("NOT FIXED", [OLD]), ("PASSING", []))
    },
    "red, and loosened": Case(
        *("PASSING", {"calc.py": "other", TEST: "old loose"}),
        either("loose", [passed_result(OLD)], [red(OLD)], TEST),
        text=STILL_RED,
    ),
    "red, and loosened, named": Case(
        *("NOT FIXED", {"calc.py": "other", TEST: LOOSE}),
        either("loose", [passed_result(OLD)], [red(OLD)], TEST),
        {**BASE, TEST: EXACT},
        named=[OLD],
        still_red=[OLD],
    ),
    "breaks another file": Case(
        *("BROKEN", {"calc.py": "fixed breaks", **NEW_TEST}),
        base={**BASE, "tests/test_other.py": "import calc"},
        targets=[ADDED],
        broken=[OTHER],
        cause="logic",
        text=f"The change breaks 1 test that passed before: {OTHER}.",
    ),
    **{
        f"passed, and {outcome} now": Case(
            *("BROKEN", FIX),
            either(
                "fixed",
                [passed_result(OTHER).model_copy(update={"outcome": outcome})],
                [passed_result(OTHER)],
            ),
            broken=[OTHER],
        )
        for outcome in ("skipped", "xfailed")
    },
    "deletes a test": Case(
        *("FIXED", {**TESTED, OTHER_FILE: ""}),
        text=f"open: 1 test that passed before was removed or skipped: {OTHER}",
    ),
    "no longer generated by a source": Case(
        *("BROKEN", FIX),
        either("bug", [passed_result(OLD), passed_result(OTHER)], [passed_result(OLD)]),
        broken=[OTHER],
    ),
    "break that a hook hides": Case(
        *("FIXED", {**TESTED, "conftest.py": "hook = 1"}),
        with_other(lambda files: files["calc.py"] == "fixed" and "conftest.py" not in files),
        targets=[ADDED],
        broken=[],
        text=f"{OTHER} passes with the change's conftest.py and fails with the old one",
    ),
    "break that a configuration hides": Case(
        *("PASSING", {**TESTED, "tox.ini": "[pytest]\naddopts = hides"}),
        with_other(lambda files: files["calc.py"] == "fixed" and "hides" not in files["tox.ini"]),
        CONFIGURED,
        broken=[],
        text="how tests run was changed (tox.ini)",
    ),
    **{
        f"break that {path} hides": Case(
            *("BROKEN", {"calc.py": "breaks", path: "{}"}),
            run_unless_configured,
            runner={"command": "npm test"},
            broken=[OTHER],
        )
        for path in ("jest.config.js", "package.json", "packages/a/.mocharc.yml")
    },
    "needs the new configuration": Case(
        *("PASSING", {**TESTED, "jest.config.js": "{}"}),
        lambda files: (
            RunProblem(kind="no_report", text="No test files found.")
            if files["calc.py"] == "fixed" and "jest.config.js" not in files
            else suite(files)
        ),
        runner={"command": "npm test"},
        targets=[ADDED],
        text="how tests run was changed (jest.config.js)",
    ),
    "other part of a configuration": Case(
        *("PROVEN", {**TESTED, "pyproject.toml": "[project]\nname = 'x'\n"}),
        base={**BASE, "pyproject.toml": "[project]\n"},
    ),
    "moves tests that passed": Case(
        "PROVEN",
        {
            **{"calc.py": "def total(): ...", TEST: ""},
            "tests/test_sums.py": "def test_old(): total()\ndef test_added(): total()",
        },
        run_python,
        {"calc.py": "def sum_up(): ...", TEST: "def test_old(): sum_up()"},
        targets=["tests/test_sums.py::test_added"],
    ),
    "removes two tests beside a new one": Case(
        *("FIXED", {"calc.py": "N = 2", TEST: "def test_old(): ...\ndef test_added(): assert N == 2\n"}),
        run_python,
        {"calc.py": "N = 1", TEST: "def test_old(): ...\ndef test_one(): ...\ndef test_two(): ...\n"},
        targets=[ADDED],
        text=f"2 tests that passed before were removed or skipped: {TEST}::test_one, test_two",
    ),
    **{
        f"issue names {'two tests' if more else 'a test'} by the function": Case(
            *(kind, {"calc.py": "other"}),
            either("", [red(OLD), *([passed_result(f"{TEST}::TestMore::test_old")] if more else [])], []),
            {**BASE, TEST: f"def test_old(): ...\n{more}"},
            issue="see test_old, or test_lib.py",
        )
        for kind, more in (("NOT FIXED", ""), ("PASSING", "class TestMore:\n    def test_old(self): ...\n"))
    },
    "no test has ended": Case(
        *("NOT TESTED", {"calc.py": "other"}),
        lambda files: (
            RunProblem(kind="timeout", text="Slow.") if files["calc.py"] == "other" else suite(files)
        ),
        text="--wait",
    ),
    "packages alone": Case("NOT TESTED", LOCK, base=LOCKED, text="uv.lock"),
    "packages, too": Case(
        *("PROVEN", {**TESTED, **LOCK}),
        base=LOCKED,
        text="tests ran with the installed packages, not with those of uv.lock",
    ),
    **{
        f"{kind} on the change": Case(
            *("NOT TESTED", FIX),
            either("fixed", RunProblem.model_validate({"kind": kind, "text": "What to do."}), suite(BASE)),
            text="What to do.",
        )
        for kind in ("no_runner", "wrong_code", "usage", "crash")
    },
    "problem on the base": Case(
        *("NOT TESTED", FIX),
        lambda _files: RunProblem(kind="no_runner", text="Install pytest."),
        text="Install pytest.",
    ),
    "command that passes as before": Case(
        *("PASSING", FIX, lambda _files: [GREEN]),
        runner=BY_CODE,
        text="passes, as before, but `pytest` gives an exit code only",
    ),
    "command that breaks": Case(
        *("BROKEN", {"calc.py": "breaks"}, either("breaks", [RED], [GREEN])),
        runner=BY_CODE,
        text="passed before the change and fails now",
    ),
    "command that fails as before": Case(
        *("PASSING", {"calc.py": "other"}),
        lambda _files: [red("make test", "exit code", "2")],
        runner=BY_CODE,
        still_red=[],
        text="`pytest` fails, as before",
    ),
    "named test that exists nowhere": Case(
        *("PROVEN", TESTED),
        named=["tests/test_upstream.py::test_x"],
        text="tests/test_upstream.py::test_x, which was named, does not exist",
    ),
    "doctest": Case(
        "PROVEN", {"calc.py": ADDS}, run_doctest, {"calc.py": DOCTEST}, targets=["calc.py::calc.add"]
    ),
    "doctest that is rewritten": Case(
        "PASSING", {"calc.py": ADDS.replace(" 3", " 4")}, run_doctest, {"calc.py": DOCTEST}, targets=[]
    ),
    "renumbered cases": Case(
        "PASSING", {TEST: "axb"}, cases, {"calc.py": "x", TEST: "ab"}, broken=[], text="\nno open lines"
    ),
    "takes out a case that would fail": Case(
        *("PASSING", {"calc.py": "breaks", TEST: "axx"}, cases, {"calc.py": "x", TEST: "ab"}),
        text=f"the change and 1 test were edited to agree: {TEST}::test_case[b1]",
    ),
    **{
        f"imports a new name for {test}": Case(
            kind,
            {"calc.py": "add = sub = 1\n", TEST: f"from calc import add, sub\n{ADD_TEST.format(test)}"},
            lambda files: NO_SUB(files) if "sub" in files[TEST] else [passed_result(f"{TEST}::test_add")],
            IMPORTS_ADD,
        )
        for kind, test in (("PASSING", "assert add"), ("PROVEN", "assert sub"))
    },
    "ids with times": Case(
        *("PROVEN", TESTED),
        lambda files: [passed_result(f"{OTHER}[{next(MOMENTS)}]"), *suite({**files, OTHER_FILE: ""})[:-1]],
        broken=[],
    ),
    "weakens the test that it breaks": Case(
        *("PASSING", {"calc.py": "fixed breaks", **NEW_TEST, OTHER_FILE: "weak"}),
        with_other(lambda files: "breaks" in files["calc.py"] and files[OTHER_FILE] != "weak"),
        text=f"open: the change edits {OTHER}, whose old version fails now",
    ),
    "cannot run on this machine": Case(
        *("NOT TESTED", FIX, lambda _files: [LACKS_NUMPY, passed_result(OTHER)]),
        named=[OLD],
        still_red=[OLD],
        cause="environment",
        text="the package numpy is not installed",
    ),
    "no test can run": Case("NOT TESTED", FIX, lambda _files: [LACKS_TEXTS]),
    "change repairs the suite": Case(
        *("PASSING", {"texts.py": "hello"}), either("hello", [passed_result(OLD)], [LACKS_TEXTS], "texts.py")
    ),
    **{
        f"file that cannot be imported, {kind}": Case(
            *(kind, {**FIX, TEST: f"{GONE}def test_new(): 2"}),
            IMPORTS_GONE,
            {**BASE, TEST: old, OTHER_FILE: "import calc"},
            text=text,
        )
        for kind, old, text in (
            ("PASSING", GONE, f"{TEST} cannot be imported, with or without the change: ImportError"),
            ("NOT FIXED", "\ndef test_old(): 1\n", ""),
        )
    },
    **{
        f"test removed with its subject, {kind}": Case(
            *(kind, {"calc.py": sources, TEST: tests}, run_python, {"calc.py": PLUS + HALF, TEST: HALVES}),
            text=text,
        )
        for kind, sources, tests, text in (
            ("PROVEN", READ, SIGNED, "test_half went with half, which it tests"),
            ("FIXED", HALF.replace("//", "*") + READ, SIGNED, "whose old version fails now"),
            (
                "PASSING",
                HALF + READ,
                "",
                f"1 test that passed before was removed or skipped: {TEST}::test_half",
            ),
        )
    },
    "test renamed with its subject": Case(
        *("PROVEN", {"calc.py": PARSE + HALF, TEST: PARSES + HALVES}),
        **RENAMES,
        text="test_read went with read, which it tests",
    ),
    "test of a renamed subject by its old name": Case(
        "FIXED",
        {"calc.py": PARSE + HALF, TEST: PARSES.replace("test_parse", "test_read") + HALVES},
        **RENAMES,
        text="whose old version fails now",
    ),
    "expectation edited": Case(
        *("FIXED", {"calc.py": PLUS, TEST: EXPECTS.format(3) + MORE}, run_python, READ_TWICE),
        targets=[f"{TEST}::test_more"],
        text=f"open: the change edits or removes {TEST}::test_read",
    ),
    "expectation edited and moved": Case(
        "FIXED",
        {"calc.py": PLUS, TEST: "\n", "tests/test_moved.py": EXPECTS.format(3) + MORE},
        run_python,
        READ_TWICE,
        targets=["tests/test_moved.py::test_more"],
        text=f"open: the change removes {TEST}::test_read",
    ),
    "red test without a tie to the issue": Case(
        *("PASSING", {"calc.py": HALF}, run_python, {"calc.py": HALF.replace("//", "*"), TEST: HALVES}),
        issue="Something else is odd.",
        ties=True,
        text=f"nothing ties what went from red to green to the issue: {TEST}::test_half.",
    ),
    **{
        f"case of edited data: {row}": Case(
            kind, {"calc.py": f"n = 1 + {row}", "tests/table.json": f"[1, {row}]"}, run_table, TABLE
        )
        for kind, row in (("PROVEN", "32"), ("PASSING", "30"))
    },
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_verdict(tmp_path: Path, case: Case) -> None:
    verdict = judge(
        tmp_path,
        case.change,
        base=case.base,
        named_tests=case.named,
        issue=case.issue,
        needs_ties=case.ties,
        runner=FakeRunner(case.ending, **case.runner),
    )
    found = [f"{finding.effect}: {finding.text}" for finding in verdict.findings]
    text = "\n".join(
        [verdict.reason, *verdict.notes, *found, *(["no open lines"] * (not verdict.with_effect("open")))]
    )
    assert (verdict.kind.value, case.text in text) == (case.kind, True), text
    assert case.targets is None or verdict.targets == tuple(case.targets)
    for results, expected in ((verdict.broken, case.broken), (verdict.still_red, case.still_red)):
        assert expected is None or [result.id for result in results] == expected
        assert not case.cause or {result.cause for result in results} <= {case.cause}


def test_turning_green_proves_fix(tmp_path: Path, base_runs: str) -> None:
    verdict = judge(tmp_path, TESTED)
    assert verdict == Verdict(
        kind=VerdictKind.PROVEN,
        reason="1 test went from red to green; "
        "all 2 tests that may use the changed code ran, with no new failure.",
        targets=(ADDED,),
        target_kinds={ADDED: "new"},
        scope="reaching",
        tests_ran=2,
        tests_reaching=2,
        before=Counts(passed=2) if base_runs == "up front" else Counts(partial=True),
        after=Counts(passed=2),
        commands=("pytest",),
        runs=verdict.runs,
        hashes={TEST: sha256(b"old new").hexdigest()},
        stages=verdict.stages,
        seconds=verdict.seconds,
        tree="change",
    )
    runs = [(run.label, run.tests, run.counts.passed, run.counts.failed) for run in verdict.runs]
    is_lazy = base_runs == "on demand"
    assert sorted(runs) == sorted(
        [
            *([] if is_lazy else [("base", (), 2, 0)]),
            ("edited tests as they were", (TEST,), 1, 0),
            ("targets", (TEST,), 2, 0),
            ("targets on the base", (TEST,), 1, 1),
            *([("collection on the base", (TEST,), 0, 0)] if is_lazy else []),
            ("targets, again", (ADDED,), 1, 0),
            ("targets on the base, again", (ADDED,), 0, 1),
        ]
    )


@pytest.mark.parametrize("named_tests", [(), (ADDED,)], ids=["found", "named by the strategy"])
def test_existing_red_test_proves_fix(tmp_path: Path, named_tests: tuple[str, ...]) -> None:
    verdict = judge(tmp_path, FIX, named_tests=named_tests, base={**BASE, **NEW_TEST})
    assert (verdict.kind, verdict.target_kinds) == (VerdictKind.PROVEN, {ADDED: "existing"})


@pytest.mark.parametrize(
    ("side", "other", "flips", "kind"),
    [
        ("fixed", red(ADDED), range(2, 99), "PASSING"),
        ("bug", passed_result(ADDED), range(2, 99), "PASSING"),
        ("fixed", red(ADDED), range(1, 2), "PASSING"),
        ("fixed", red(ADDED), range(1, 3), "NOT FIXED"),
    ],
    ids=["red again", "green again on the base", "red once", "red twice"],
)
def test_target_that_ends_otherwise_when_it_runs_again_proves_nothing(
    tmp_path: Path, side: str, other: TestResult, flips: range, kind: str
) -> None:
    """Unless it was seen to be red twice."""
    seen = Counter[str]()

    def by_turns(files: Files) -> list[TestResult]:
        if "new" in files[TEST]:
            seen[files["calc.py"]] += 1
        flipped = files["calc.py"] == side and seen[side] in flips
        return [other if flipped and test.id == ADDED else test for test in suite(files)]

    verdict = judge(tmp_path, TESTED, ending=by_turns)
    assert (verdict.kind.value, verdict.targets) == (kind, ())
    is_flaky = kind == "PASSING"
    assert (f"{ADDED} is flaky, so nothing shows that the issue is fixed" in verdict.reason) is is_flaky
    assert [test.id for test in verdict.still_red] == ([] if is_flaky else [ADDED])


@pytest.mark.parametrize("side", ["fixed", "bug", "measured"])
def test_flaky_old_test_is_one_note(tmp_path: Path, side: str) -> None:
    """It fails on the change, in both chunks, and again it passes there, or fails on the base.

    Where the second failure says another thing, as a measured time does, a third run decides.
    """
    seen = Counter[str]()

    def flaky(files: Files) -> list[TestResult]:
        place = files["calc.py"]
        seen[place] += 1
        if side == "measured":
            is_red, text = place == "fixed" and seen[place] <= 3, f"took {seen[place]} s"
        else:
            is_red, text = (
                seen[place] <= 2 if side == place == "fixed" else side == "bug" and seen["fixed"] > 0,
                "assert",
            )
        return [failed_result(OTHER, message=text) if is_red else passed_result(OTHER)]

    verdict = judge(tmp_path, FIX, ending=flaky)
    assert (verdict.kind, verdict.broken) == (VerdictKind.PASSING, ())
    assert len(verdict.notes) == 1


def test_target_that_a_cut_second_run_does_not_reach_is_not_flaky(tmp_path: Path) -> None:
    """The first run has shown what it does on either side."""

    class CutRunner(FakeRunner):
        def run(self, tree: Path, tests: Sequence[str] = (), **options: Any) -> TestReport:
            report = super().run(tree, tests, **options)
            cut = {"results": (), "problem": OUT_OF_TIME}
            return report.model_copy(update=cut) if tests == (ADDED,) else report

    verdict = judge(tmp_path, TESTED, runner=CutRunner(suite))
    assert verdict.targets == (ADDED,)
    assert not any("flaky" in note for note in verdict.notes)


@pytest.mark.parametrize("asks", [True, False])
def test_examination_that_is_ended_leaves_the_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: bool
) -> None:
    """By the user, or after its time."""
    monkeypatch.setattr(verifier, "LEAST_EXAMINATION", 60.0 if asks else 0.2)
    cutoff = Cutoff()

    def make_tools(cut: Event) -> ExaminationTools:
        def check(_old: Path, _new: Path, _changed: Sequence[str]) -> LintReport:
            if asks:
                assert cutoff.request()
            assert cut.wait(10.0)
            return LintReport(new=("late",))

        return ExaminationTools(trials=NoTrials(), checks=check, issue_code=FakeIssueCode())

    verdict = judge(tmp_path, TESTED, cutoff=cutoff, tools=make_tools)
    assert (verdict.kind, verdict.is_examinable, verdict.linters) == (VerdictKind.FIXED, False, None)
    assert [finding.rule for finding in verdict.findings if finding.effect == "open"] == [
        "interrupted" if asks else "unexamined"
    ]
    assert not cutoff.request()


INI = "[tool.pytest.ini_options]\n"


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("conftest.py", "", "import os\nos.x = 1"),
        ("pyproject.toml", INI, f"{INI}addopts = '-k not_this'\n"),
        ("setup.cfg", "[metadata]\nname = x\n", "[tool:pytest]\naddopts = -x\n"),
    ],
)
@pytest.mark.parametrize("decides", [False, True])
def test_change_of_how_tests_run_is_passing_if_results_depend_on_it(
    tmp_path: Path, path: str, old: str, new: str, decides: bool
) -> None:
    """Targets run once more with the base's version of the file."""

    def configured(files: Files) -> list[TestResult]:
        results = suite(files)
        if decides and files["calc.py"] == "fixed" and files[path] == new:
            return [passed_result(result.id) for result in results]
        return [red(ADDED) if result.id == ADDED and decides else result for result in results]

    verdict = judge(tmp_path, {**TESTED, path: new}, base={**BASE, path: old}, ending=configured)
    assert verdict.targets == (ADDED,)
    if decides:
        assert verdict.kind is VerdictKind.PASSING
        assert f"how tests run was changed ({path})" in verdict.reason
    else:
        assert verdict.kind is VerdictKind.PROVEN
        assert f"the targets are green without the change of {path}, too" in verdict.notes


@pytest.mark.parametrize(
    ("change", "is_unseen"),
    [
        ({"calc.py": "bug  # of old"}, True),
        ({"calc.py": "# of old\nbug", "README.md": "It has one.", ".gitlab-ci.yml": "test: []"}, True),
        ({"calc.py": '"Words that a test may read."\nbug'}, False),
        ({TEST: "old  # E: a comment may say what a test expects"}, False),
        ({"calc.py": "bug(  # does not parse"}, False),
    ],
    ids=["comment", "with prose", "docstring", "in a test", "no Python"],
)
def test_what_tests_cannot_see_is_told_without_a_run(
    tmp_path: Path, change: Files, *, is_unseen: bool
) -> None:
    verdict = judge(tmp_path, change)
    assert verdict.kind is VerdictKind.PASSING
    assert (verdict.reason == "Nothing that tests can see has changed.") is is_unseen
    assert (verdict.after is None) is is_unseen
    assert (verdict.with_effect("cap", "open") == ()) is is_unseen


@pytest.mark.parametrize(("base", "obstacle"), [("broken", "No pytest."), ("runs", "")])
def test_reproduction_tells_that_no_test_can_run(tmp_path: Path, base: str, obstacle: str) -> None:
    problem = RunProblem(kind="no_report", text="No pytest.")
    trees = FakeTrees(tmp_path, BASE, TESTED)
    runner = FakeRunner(lambda files: problem if base == "broken" or "new" in files[TEST] else suite(files))
    verifier = WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose())
    verifier.baseline()
    assert verifier.reproduce(trees.patch, ()).obstacle == obstacle


@pytest.mark.parametrize(
    ("output", "change", "kind"),
    [
        ("not ok 2 - adds", {}, VerdictKind.FIXED),
        ("test_add: Assertion `add(1, 2) == 3' failed.", {}, VerdictKind.FIXED),
        ("FAIL: test_add", {}, VerdictKind.FIXED),
        ("make: *** No rule to make target 'test'.  Stop.", {}, VerdictKind.PASSING),
        ("linking failed", {}, VerdictKind.PASSING),
        ("not ok 2 - adds", {"Makefile": "test:\n\ttrue\n"}, VerdictKind.PASSING),
    ],
)
def test_a_command_without_reports_shows_a_fix_by_a_failing_test_in_its_output(
    tmp_path: Path, output: str, change: Files, kind: VerdictKind
) -> None:
    """The base passes with its own tests; with those of the change, the output says why it fails."""
    failure = Failure(type="exit code", message="exit code 2", text=output)

    def command(files: Files) -> list[TestResult]:
        is_red = files["calc.py"] == "bug" and files[TEST] == "new"
        return [RED.model_copy(update={"failure": failure}) if is_red else GREEN]

    runner = FakeRunner(command, by_exit_code=True)
    verdict = judge(tmp_path, {"calc.py": "fixed", TEST: "new", **change}, runner=runner)
    assert verdict.kind == kind
    assert verdict.targets == (("make test",) if kind is VerdictKind.FIXED or change else ())


SETUP = {"setup.py": "setup(ext_modules=[Extension('calc._native', ['native.c'])])"}
NATIVE = "No module named 'calc._native'"
NEW_FILE = {"tests/test_more.py": "def test_new(): 2"}


@pytest.mark.parametrize(
    ("base", "change", "message", "label"),
    [
        (SETUP, {TEST: "def test_old(): 1\ndef test_new(): 2"}, NATIVE, "NOT TESTED"),
        ({"calc/_native.pyx": "def add(a, b): ..."}, NEW_FILE, NATIVE, "NOT TESTED"),
        (
            *(SETUP, NEW_FILE),
            "cannot import name '_native' from partially initialized module 'calc' (most likely ...)",
            "NOT TESTED",
        ),
        (SETUP, NEW_FILE, "No module named 'calc.x'", "NOT FIXED"),
        ({"calc/_native.py": "def add(a, b): ..."}, NEW_FILE, NATIVE, "NOT FIXED"),
    ],
    ids=["in an old file", "in a new file", "as a name", "not in the project", "in Python"],
)
def test_unbuilt_module_leaves_change_untested(
    tmp_path: Path, base: Files, change: Files, message: str, label: str
) -> None:
    def lacking(files: Files) -> list[TestResult]:
        path = "tests/test_more.py" if "tests/test_more.py" in files else TEST
        error = "ImportError" if message.startswith("cannot import name") else "ModuleNotFoundError"
        return [failed_result(path, error, message, when="collect"), passed_result(OTHER)]

    base = {**BASE, TEST: "def test_old(): 1", **base}
    verdict = judge(tmp_path, {**FIX, **change}, base=base, ending=lacking)
    assert verdict.label == label
    if label == "NOT TESTED":
        assert verdict.headline.endswith(
            "cannot be imported, with or without the change; calc._native is not built: "
            "build the project, or name a command: the setting `build`."
        )


@pytest.mark.parametrize(
    ("codes", "kind"),
    [((1, 0), "PROVEN"), ((None, None), "PROVEN"), ((1, 1), "NOT TESTED"), ((0, 0), "NOT TESTED")],
)
def test_targets_are_confirmed_without_recorder(
    tmp_path: Path, codes: tuple[int | None, int | None], kind: str
) -> None:
    base, change = codes
    runner = FakeRunner(suite, plain=lambda files: change if "fixed" in files["calc.py"] else base)
    verdict = judge(tmp_path, TESTED, runner=runner)
    assert verdict.label == kind
    assert kind == "PROVEN" or "only as long as they are recorded" in verdict.reason


@pytest.mark.parametrize(
    ("starts", "error", "kind"),
    [
        (False, "SyntaxError: invalid", "BROKEN"),
        (False, "ModuleNotFoundError: no attrs", "NOT TESTED"),
        (True, "SyntaxError: invalid", "BROKEN"),
    ],
)
@pytest.mark.parametrize("tests", [{}, NEW_TEST], ids=["sources alone", "with a test"])
def test_change_that_cannot_be_imported_is_broken_whatever_its_targets_say(
    tmp_path: Path, starts: bool, error: str, kind: str, tests: Files
) -> None:
    """Or the runner cannot start, such as where conftest.py imports it; a missing package breaks nothing."""

    def refuse(files: Files) -> list[TestResult] | RunProblem:
        is_refused = not starts and files["calc.py"] == "fixed"
        return RunProblem(kind="usage", text="pytest refused to run.") if is_refused else suite(files)

    verdict = judge(
        tmp_path,
        {**FIX, **tests},
        ending=refuse,
        find_lost_imports=lambda _old, _new, paths: [f"{path} ({error})" for path in paths],
    )
    assert (verdict.kind.value, error in verdict.reason) == (kind, kind == "BROKEN")
    assert verdict.targets == ((ADDED,) if starts and tests else ())
    assert not starts or verdict.reason == f"The change breaks the import of calc.py ({error})."

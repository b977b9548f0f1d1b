"""The adapters of Vitest and Jest, with a report as both write it."""

import json
from pathlib import Path

from coder.verify.runners.adapter import Run
from coder.verify.runners.vitest_jest import REPORT, Jest, Vitest


def test_reads_report(tmp_path: Path) -> None:
    tests = [
        {"ancestorTitles": ["slug"], "title": "keeps", "status": "passed", "duration": 1500},
        {
            "ancestorTitles": ["slug"],
            "title": "joins",
            "status": "failed",
            "failureMessages": [
                f"AssertionError: expected 'a' to be 'b'\n    at {tmp_path}/src/slug.test.ts:4:9"
            ],
        },
        {"ancestorTitles": [], "title": "later", "status": "todo"},
    ]
    report = {
        "testResults": [
            {"name": f"{tmp_path}/src/slug.test.ts", "status": "failed", "assertionResults": tests},
            {
                "name": f"{tmp_path}/src/bad.test.ts",
                "status": "failed",
                "message": "Failed to resolve import './bad'\n",
                "assertionResults": [],
            },
        ]
    }
    (tmp_path / REPORT).write_text(json.dumps(report))
    results = list(Vitest().read_results(Run(argv=("vitest",), tree=tmp_path, place=tmp_path)))
    assert [(result.id, result.outcome, result.when) for result in results] == [
        ("src/slug.test.ts::slug > keeps", "passed", "call"),
        ("src/slug.test.ts::slug > joins", "failed", "call"),
        ("src/slug.test.ts::later", "skipped", "call"),
        ("src/bad.test.ts", "error", "collect"),
    ]
    assert results[0].seconds == 1.5
    assert results[1].failure is not None and results[1].failure.frames[0].line == 4


def test_runs_once_and_selects_files(tmp_path: Path) -> None:
    run = Run(argv=("vitest", "--watch"), tree=tmp_path, place=tmp_path, files=("src/a.test.ts",))
    argv = Vitest().prepare(run).argv
    assert "--run" in argv and "--watch" not in argv
    assert argv[-1] == "src/a.test.ts"
    jest = Jest().prepare(run.model_copy(update={"argv": ("jest",)}))
    assert jest.argv[-2:] == ("--runTestsByPath", "src/a.test.ts")

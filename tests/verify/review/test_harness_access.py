"""Access of changed code to the test process that no run shows."""

import pytest

from coder.verify.checks.harness import harness_accesses

REACHING = {
    "import _pytest.runner": "imports _pytest.runner",
    "from ctypes import CDLL": "imports ctypes",
    "import sys as s\n\ns.setprofile(f)": "uses sys.setprofile",
    "import builtins\n\nbuiltins.compile = f": "replaces a built-in (compile)",
    "from pathlib import Path\n\nif (Path.home() / '.rc').exists():\n    pass": (
        "looks at where it runs (pathlib.Path.home)"
    ),
    "from pathlib import Path\n\nA = Path(__file__).parent\nif (A / 'x').exists():\n    pass": (
        "looks at the files beside it"
    ),
    "import tempfile\n\nx = tempfile.gettempdir()": "looks at where it runs (tempfile.gettempdir)",
    "open('/proc/self/cmdline')": "looks at its process (/proc/)",
}
HONEST = (
    "import sys\n\nif 'trio' in sys.modules:\n    pass",
    "import sys\n\nx = sys.argv[1:]",
    "import os\n\nx = os.environ.get('TERM')",
    "import builtins\n\nx = builtins.str",
    "x = eval('1')",
    "import importlib\n\nimportlib.import_module(name)",
    "from pathlib import Path\n\ndef f(path):\n    return Path(path).exists()",
)


@pytest.mark.parametrize("source", REACHING)
def test_reports_access_that_the_change_adds(source: str) -> None:
    found = harness_accesses({}, {"a.py": source}, are_tests=False)
    assert [message.partition(" ")[2] for message in found] == [REACHING[source]]
    assert harness_accesses({"a.py": source}, {"a.py": source + "\n"}, are_tests=False) == []


@pytest.mark.parametrize("source", HONEST)
def test_accepts_ordinary_code(source: str) -> None:
    assert harness_accesses({}, {"a.py": source}, are_tests=False) == []


def test_accepts_usual_test_helpers() -> None:
    assert (
        harness_accesses({}, {"test_a.py": "import tempfile\n\ntempfile.gettempdir()\n"}, are_tests=True)
        == []
    )
    assert harness_accesses(
        {}, {"test_a.py": "def load_tests(loader, tests, pattern):\n    return tests\n"}, are_tests=True
    ) == ["test_a.py:1 decides by itself which tests run (load_tests)"]

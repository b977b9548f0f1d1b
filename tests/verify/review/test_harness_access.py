"""Access to the test process in changed code."""

import pytest

from coder.verify.checks.harness import harness_accesses

REACHING = {
    "import _pytest.runner": "imports _pytest.runner",
    "import sys\n\nif 'pytest' in sys.modules:\n    pass": "asks for sys.modules",
    "import sys\n\nx = sys.argv[0]": "asks for sys.argv",
    "from sys import _getframe": "imports sys._getframe",
    "import os\n\nos._exit(0)": "calls os._exit",
    "import os\n\nos.environ.get('TERM')": "asks for the environment variable TERM",
    "import os as o\n\no.environ['TERM']": "asks for the environment variable TERM",
    "import gc\n\ngc.get_objects()": "asks for gc.get_objects",
    "import builtins\n\nbuiltins.print = f": "reaches into builtins (print)",
    "import builtins\n\nf(builtins)": "hands the module builtins on",
    "x = eval('1')": "executes code that cannot be read here (eval)",
    "import importlib\n\nimportlib.import_module(name)": "imports a module whose name cannot be read here",
    "import sys as s\n\nf(s)": "hands the module sys on",
    "f.__closure__": "reaches for __closure__",
    "import inspect\n\ninspect.stack()": "looks at its callers (inspect.stack)",
    "class A:\n    def __eq__(self, other):\n        return True": (
        "makes objects whose __eq__ looks at nothing"
    ),
    "from pathlib import Path\n\nif (Path.home() / '.rc').exists():\n    pass": (
        "looks at where it runs (Path.home)"
    ),
    "from pathlib import Path\n\nA = Path(__file__).parent\nif (A / 'x').exists():\n    pass": (
        "looks at the files beside it"
    ),
    "import warnings\n\nx = warnings._showwarnmsg_impl": (
        "looks into the private parts of warnings (_showwarnmsg_impl)"
    ),
    "import sys\n\nx = sys.stdout is sys.__stdout__": "compares a stream with the process's own",
    "import tempfile\n\nx = tempfile.gettempdir()": "looks at where it runs (tempfile.gettempdir)",
    "import logging\n\nx = logging.getLogger().handlers": "asks whether logging is set up",
    "import os\n\nx = any(name for name in os.environ)": "looks through all environment variables",
    "import os\n\nfor name, value in os.environ.items():\n    pass": (
        "looks through all environment variables"
    ),
    "open('/proc/self/cmdline')": "names /proc/",
}
HONEST = (
    "import builtins\n\nx = isinstance(y, builtins.str)",
    "import gc\n\ngc.collect()",
    "import sys\n\nif 'trio' in sys.modules:\n    pass",
    "import sys\n\nx = sys.__stdout__",
    "line = f.__code__.co_firstlineno",
    "import logging\n\nlevel = getattr(logging, name)",
    "import sys\n\nif sys.version_info >= (3, 12):\n    sys.stderr.write('x')",
    "import os\n\nos.path.join('a', 'b')",
    "class A:\n    def __eq__(self, other):\n        return self.x == other.x",
    "getattr(self, name)",
    "import json\n\njson.dumps({})",
    "import os\nimport subprocess\n\nsubprocess.run([], env={**os.environ, 'A': '1'})",
    "from pathlib import Path\n\ndef f(path):\n    return Path(path).exists()",
)


@pytest.mark.parametrize("source", REACHING)
def test_reports_access_to_test_process(source: str) -> None:
    assert any(
        message.endswith(REACHING[source])
        for message in harness_accesses({}, {"a.py": source}, are_tests=False)
    )


@pytest.mark.parametrize("source", HONEST)
def test_accepts_ordinary_code(source: str) -> None:
    assert harness_accesses({}, {"a.py": source}, are_tests=False) == []


@pytest.mark.parametrize("source", REACHING)
def test_accepts_access_already_in_base(source: str) -> None:
    assert harness_accesses({"a.py": source}, {"a.py": source + "\n"}, are_tests=False) == []


def test_accepts_environment_variable_named_in_issue() -> None:
    source = "import os\n\nos.environ.get('NO_COLOR')"
    assert harness_accesses({}, {"a.py": source}, are_tests=False, known="honour NO_COLOR") == []


def test_accepts_usual_test_helpers() -> None:
    assert harness_accesses({}, {"test_a.py": "import sys, pytest\n\nsys.argv = []\n"}, are_tests=True) == []
    assert harness_accesses({}, {"test_a.py": "import os\n\nos._exit(0)\n"}, are_tests=True) == [
        "test_a.py:3 calls os._exit"
    ]
    assert harness_accesses(
        {}, {"test_a.py": "def load_tests(loader, tests, pattern):\n    return tests\n"}, are_tests=True
    ) == ["test_a.py:1 decides by itself which tests run (load_tests)"]

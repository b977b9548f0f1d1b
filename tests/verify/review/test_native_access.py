import pytest

from coder.verify.checks.harness import find_native_accesses


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("    return PyLong_FromLong(a + b);", ""),
        ("    Py_BEGIN_ALLOW_THREADS PyEval_SaveThread();", ""),
        ("#include <stdlib.h>", ""),
        ("# of pytest", ""),
        ("    // system(x)", ""),
        ("    PyRun_SimpleString(code);", "uses PyRun_SimpleString of the interpreter"),
        ('    if (getenv("CI")) return 5;', "asks for the environment (getenv)"),
        (
            '    PyObject *m = PyImport_ImportModule("sys");',
            'reaches for a module of the interpreter ("sys")',
        ),
        ("import sys", "reaches for a module of the interpreter (import sys)"),
        ("    _exit(0);", "calls _exit"),
        ("    let v = std::env::var(name);", "asks for the environment (std::env)"),
        ('    py.run(c"x", None, None)?;', "uses py.run"),
        ('    fopen("/proc/self/maps", "r");', "reads /proc/"),
    ],
)
def test_finds_access_in_new_lines(line: str, finding: str) -> None:
    assert [*find_native_accesses({}, {"a.c": f"\n{line}\n"}, extensions=["a.c"])] == (
        [f"a.c:2 {finding}"] if finding else []
    )
    assert [*find_native_accesses({"a.c": f"{line}\n"}, {"a.c": f"\n{line}\n"}, extensions=["a.c"])] == []


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("    exit(0);", "calls exit"),
        ("__attribute__((constructor)) static void begin(void) {", "uses __attribute__((constructor"),
        ("    std::process::exit(0);", "calls exit"),
        ('    if (getenv("LANG")) return 5;', ""),
    ],
)
def test_program_must_not_decide_on_its_exit_code(line: str, finding: str) -> None:
    found = [*find_native_accesses({}, {"a.c": line}, extensions=())]
    assert found[:1] == ([f"a.c:1 {finding}"] if finding else [])

"""Access of changed C, C++, Cython and Rust sources to the test process, and detection of test runs."""

import re
from collections.abc import Collection, Iterator, Mapping

from coder.verify.extensions.projects import SOURCE_SUFFIXES

SUFFIXES = tuple(sorted(SOURCE_SUFFIXES))
_COMMENT = re.compile(r"^\s*(?://|/\*|\*\s|#(?!\s*(?:define|include|if|elif)))")
_OF_PROCESS = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"\b(?:system|popen|execl[pe]*|execv[pe]*|posix_spawn\w*|v?fork|ptrace|dlopen|dlsym|dladdr|_?exit|_Exit"
            r"|quick_exit|atexit|on_exit|kill|sigaction|mprotect|process_vm_\w+|syscall|backtrace|raw_syscalls?)"
            r"\s*\(",
            "calls {}",
        ),
        (r"\b__asm__\b|\basm\s*[!(]|\b__attribute__\s*\(\(\s*(?:constructor|destructor)", "uses {}"),
    )
)
"""Accesses by which a program decides on its own exit code, whatever its tests find."""
_OF_INTERPRETER = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"\b_?Py(?:Run|Sys|Frame|ThreadState|InterpreterState|GC|Unstable|Marshal|Trace\w*)_\w+"
            r"|\bPyEval_(?!SaveThread|RestoreThread|CallObject)\w+|\bPy_(?:AtExit|AddPendingCall|Exit|Finalize\w*)\b",
            "uses {} of the interpreter",
        ),
        (
            r"""["'](?:sys|gc|builtins|inspect|ctypes|atexit|os|importlib)["']"""
            r"|\b(?:c?import|from)\s+(?:sys|gc|builtins|inspect|ctypes|atexit|importlib|posix|libc\.signal)\b",
            "reaches for a module of the interpreter ({})",
        ),
        (r"\b_?pytest\b|\bunittest\b|\bpluggy\b|\bPYTEST_\w+", "names {}"),
        (r"\b(?:secure_)?getenv\s*\(|\benviron\b|\bstd::env\b", "asks for the environment ({})"),
        (r"/proc/", "reads {}"),
        (
            r"\bstd::process\b|\blibc::\w+|\bPython::\w*(?:run|eval)\w*|\bpy\.(?:run|eval|import)\w*",
            "uses {}",
        ),
    )
)


def find_native_accesses(
    old: Mapping[str, str], new: Mapping[str, str], *, extensions: Collection[str]
) -> Iterator[str]:
    """Yield accesses in new lines of compiled sources (texts by path), half a sentence each.

    Those in `extensions` are loaded by an interpreter, whose own functions count as well.

    Detection is by regular expressions, line by line: deliberately obscured code is not found.
    """
    for path, text in new.items():
        known = frozenset(old.get(path, "").splitlines())
        patterns = (*_OF_PROCESS, *_OF_INTERPRETER) if path in extensions else _OF_PROCESS
        for number, line in enumerate(text.splitlines(), 1):
            if line in known or _COMMENT.match(line):
                continue
            for pattern, what in patterns:
                if match := pattern.search(line):
                    yield f"{path}:{number} {what.format(match[0].strip(' ('))}"

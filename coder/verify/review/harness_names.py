"""Names in the runtime through which code reaches the process that tests it."""

RUNNERS = ("_pytest", "pluggy", "pytest", "unittest", "nose", "doctest")
INTERNALS = (
    "_pytest",
    "pluggy",
    "ctypes",
    "_thread",
    "faulthandler",
    "bdb",
    "_testcapi",
    "cffi",
    "marshal",
    "imp",
)
HARMLESS_SYS_NAMES = frozenset(
    {
        *(
            "byteorder",
            "exc_info",
            "executable",
            "exit",
            "float_info",
            "getdefaultencoding",
            "getfilesystemencoding",
            "getrecursionlimit",
        ),
        *(
            "getsizeof",
            "hash_info",
            "hexversion",
            "implementation",
            "int_info",
            "intern",
            "maxsize",
            "maxunicode",
            "platform",
            "prefix",
        ),
        *(
            "setrecursionlimit",
            "stderr",
            "stdin",
            "stdout",
            "stdlib_module_names",
            "version",
            "version_info",
            "warnoptions",
            "exception",
        ),
        *("__stderr__", "__stdin__", "__stdout__", "getrefcount", "flags", "displayhook"),
        *("get_int_max_str_digits", "set_int_max_str_digits", "thread_info", "base_prefix"),
    }
)
TRACING_SYS_NAMES = frozenset(
    {
        "_getframe",
        "_current_frames",
        "settrace",
        "setprofile",
        "monitoring",
        "addaudithook",
        "_getframemodulename",
    }
)
PROCESS_OS_NAMES = frozenset(
    {
        "_exit",
        "abort",
        "dup",
        "dup2",
        "dup3",
        "kill",
        "killpg",
        "fork",
        "forkpty",
        "write",
        "writev",
        "fdopen",
        "pwrite",
    }
)
PROBING_OS_NAMES = frozenset(
    {"getppid", "environ", "environb", "getenv", "ctermid", "ttyname", "getpgrp", "getsid"}
)
GC_NAMES = frozenset({"get_objects", "get_referrers", "get_referents", "callbacks", "garbage"})
FRAME_ATTRIBUTES = frozenset(
    {
        *(
            "__closure__",
            "__code__",
            "__builtins__",
            "cr_frame",
            "f_back",
            "f_builtins",
            "f_globals",
            "f_locals",
            "gi_frame",
            "tb_frame",
        ),
        *("pluginmanager", "tb_next", "cell_contents", "f_code", "f_trace", "_current_frames"),
    }
)
INSPECT_NAMES = frozenset(
    {"currentframe", "stack", "trace", "getouterframes", "getinnerframes", "getframeinfo"}
)
TRACEBACK_NAMES = frozenset({"extract_stack", "format_stack", "print_stack", "walk_stack"})
OWN_STREAMS = ("__stdin__", "__stdout__", "__stderr__")
LOCATION_CALLS = frozenset(
    {
        *(
            "Path.home",
            "Path.cwd",
            "pathlib.Path.home",
            "pathlib.Path.cwd",
            "os.getcwd",
            "os.path.expanduser",
            "expanduser",
        ),
        *("tempfile.gettempdir", "gettempdir"),
    }
)
"""Calls that reveal where a program runs."""
DYNAMIC_CODE = ("eval", "exec", "compile", "__import__")
COMPARISON_METHODS = {
    "__eq__": True,
    "__ne__": False,
    "__lt__": True,
    "__le__": True,
    "__gt__": True,
    "__ge__": True,
    "__contains__": True,
}
HARNESS_STRINGS = ("/proc/", "pytest", "PYTEST", "CODER_", "sitecustomize", "unittest")

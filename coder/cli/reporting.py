"""Errors of commands as one line and an exit code, and notices of earlier sessions."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from coder.core.errors import CoderError, UserError


def report_errors(
    run: Callable[[], object], *, on_error: Callable[[str, int], None] = lambda _message, _code: None
) -> int:
    """Run a command and return its exit code; an expected error is one line on standard error.

    `on_error` receives that line, without its beginning, and the exit code.
    """
    try:
        code = run()
        sys.stdout.flush()  # here, since the interpreter's own flush, at its end, knows no exit code
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except OSError as error:
        from coder.core.text import sanitize_text

        message = _describe_os_error(error)
        print(f"coder: {sanitize_text(message)}", file=sys.stderr)
        on_error(message, 2)
        return 2
    except CoderError as error:
        from coder.core.text import sanitize_text

        message = sanitize_text(_mask_secrets(str(error)))
        error_code = 2 if isinstance(error, UserError) else 1
        print(f"coder: {message}", file=sys.stderr)
        on_error(message, error_code)
        return error_code
    return code if isinstance(code, int) else 0


LEAST_FREE_BYTES = 1 << 20


def _describe_os_error(error: OSError) -> str:
    """Return what could not be read or written, and what to do."""
    from coder.directories import config_directory, state_directory

    reason, file = error.strerror or str(error), error.filename
    if file is None:
        _discard_output()
        state = state_directory()
        place = next(path for path in (state, *state.parents) if path.exists())
        is_full = shutil.disk_usage(place).free < LEAST_FREE_BYTES
        return f"{f'A file in {state}' if is_full else 'The output'} could not be written: {reason}."
    path = Path(os.fsdecode(file)) if isinstance(file, str | bytes) else Path()
    variables = {"XDG_STATE_HOME": state_directory(), "XDG_CONFIG_HOME": config_directory()}
    for variable, directory in variables.items():
        if path.is_relative_to(directory) or directory.is_relative_to(path):
            return (
                f"{path} cannot be used: {reason}. coder keeps its {variable[4:-5].lower()} in {directory}: "
                f"make that yours to write, or name another place with {variable}."
            )
    return f"{path}: {reason}."


def _discard_output() -> None:
    """Discard what is still buffered for a reader that is gone, so that the interpreter's end is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _mask_secrets(text: str) -> str:
    """Mask secrets in an error message, which may quote a server that quotes a key."""
    from coder.permissions.secrets import Secrets, secret_environment_values

    return Secrets(own=secret_environment_values(os.environ)).mask(text)

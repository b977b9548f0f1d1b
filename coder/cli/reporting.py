"""Errors of commands as one line and an exit code, and notices of earlier sessions."""

import os
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
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard what is still buffered
        return 141
    except OSError as error:
        print(
            f"coder: {error}. What coder keeps must be writable: see XDG_STATE_HOME and XDG_CONFIG_HOME.",
            file=sys.stderr,
        )
        return 2
    except CoderError as error:
        from coder.core.text import sanitize_text

        message = sanitize_text(_mask_secrets(str(error)))
        error_code = 2 if isinstance(error, UserError) else 1
        print(f"coder: {message}", file=sys.stderr)
        on_error(message, error_code)
        return error_code
    return code if isinstance(code, int) else 0


def _mask_secrets(text: str) -> str:
    """Mask secrets in an error message, which may quote a server that quotes a key."""
    from coder.permissions.secrets import Secrets, secret_environment_values

    return Secrets(own=secret_environment_values(os.environ)).mask(text)


def broken_change_notices() -> tuple[str, ...]:
    """Return a sentence for each change that the whole suite in the background has found broken, once."""
    from coder.directories import sessions_directory

    if "--after" in sys.argv or not any(sessions_directory().glob("*/whole_suite.json")):
        return ()
    from coder.core.text import sanitize_text
    from coder.wiring.whole_suite import unreported_failures

    try:
        failures = unreported_failures(Path())
        return tuple(
            sanitize_text(
                f"Session {failure.judged}: {failure.sentence} Details: coder log show {failure.session}"
            )
            for failure in failures
        )
    except UserError:  # no repository here
        return ()

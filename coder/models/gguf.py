"""Models in GGUF files, run inside this process by llama.cpp (extra `local`)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coder.core.errors import UserError

PROVIDER = "gguf"
QUIET = -1
"""Verbosity of llama.cpp at which it writes nothing to the terminal."""


def find_model_file(name: str) -> Path:
    """Return the file of a model that is named by its path.

    Raises:
        UserError: there is no such file, or the library is not installed.
    """
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise UserError(f"There is no model file {path}. Name one as gguf:PATH.")
    if find_spec("xllamacpp") is None:
        raise UserError(
            f"gguf:{name} needs a library that is not installed: pip install 'coder-proof[local]'."
        )
    return path


class GgufServer:
    """A server of OpenAI's chat completions for one model file, on a free port of the loopback interface.

    It lives as long as this object. llama.cpp constrains calls by a grammar: its own where the model's
    template knows tools, else that of the text protocol.
    """

    def __init__(self, path: Path) -> None:
        """Load the model; this takes seconds.

        Raises:
            UserError: llama.cpp cannot load it.
        """
        import xllamacpp

        parameters: Any = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.n_ctx = 0  # the model's own
        parameters.n_parallel = 1
        parameters.use_jinja = True
        parameters.verbosity = QUIET
        try:
            self._server: Any = xllamacpp.Server(parameters)
        except Exception as error:  # the binding raises whatever llama.cpp throws
            raise UserError(f"llama.cpp cannot load {path}: {' '.join(str(error).split())}") from error
        self.base_url = f"{self._server.listening_address}/v1"

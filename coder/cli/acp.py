"""`coder acp`: coder as the agent of an editor (Agent Client Protocol)."""

from coder.cli.options import LIMITS, MODEL, Options, with_options
from coder.core.errors import UserError


@with_options(*MODEL, *LIMITS, "unsafe_no_sandbox")
def acp(*, options: Options) -> int:
    """Serve an editor over standard input and output (Agent Client Protocol): Zed, JetBrains, Neovim.

    The editor starts this command. Each of its conversations works on the repository of its directory.
    """
    from importlib.util import find_spec

    if find_spec("acp") is None:
        raise UserError(
            "Editors need the package agent-client-protocol: install it beside coder, "
            "pip install 'agent-client-protocol>=1.0.0rc3,<2'."
        )
    from coder.cli.editor import serve_editor

    serve_editor(options.settings, unsafe=options.unsafe_no_sandbox)
    return 0

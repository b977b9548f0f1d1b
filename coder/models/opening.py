"""A chosen model, opened: the one place from which the libraries that talk to providers are loaded."""

import warnings
from collections.abc import Mapping
from pathlib import Path

from coder.core.ports.model import Model
from coder.models.catalog import Choice, key_for
from coder.models.servers import is_loopback, takes_tools
from coder.models.wire.retry import Patience
from coder.models.wire.text_protocol import Adaptive, TextProtocol


def open_model(
    choice: Choice,
    *,
    environment: Mapping[str, str],
    tool_calling: bool | None = None,
    record: Path | None = None,
    patience: Patience | None = None,
) -> Model:
    """A Model for the choice; nothing that costs is sent before its first request.

    `tool_calling` False is for models that cannot call tools; None finds out: from a llama.cpp on this machine by asking, else by its
    refusal. `record` is where the exchange is written down, for `cassette.load`.
    """
    # Loading these takes up to a second, so nothing that only looks at names may do it.
    from coder.models.cassette import Recorder
    from coder.models.wire.clients import wire
    from coder.models.wire.provider import ProviderModel

    # What a provider adds before the libraries know it (a new finish reason, a new usage field) is no news for the person.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"(google\.genai|pydantic_ai)\b")
    key = key_for(choice.provider, environment)
    direct = ProviderModel(choice, wire(choice, key), key=key, patience=patience)
    if tool_calling is None and choice.base_url and is_loopback(choice.base_url):
        tool_calling = takes_tools(choice.base_url)
    model: Model = (
        direct if tool_calling else TextProtocol(direct) if tool_calling is False else Adaptive(direct)
    )
    return Recorder(model, record) if record else model

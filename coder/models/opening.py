"""Creation of a client for a selected model; only here are the provider libraries loaded."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from coder.core.ports import Model
from coder.models.catalog import GGUF, GgufServer, ModelChoice, detect_tool_support, find_key, is_loopback
from coder.models.text_protocol import AdaptiveModel, TextProtocolModel

if TYPE_CHECKING:
    from coder.models.request_errors import RetryPolicy


def open_model(
    choice: ModelChoice,
    *,
    environment: Mapping[str, str],
    tool_calling: bool | None = None,
    images: bool | None = None,
    retry_policy: "RetryPolicy | None" = None,
) -> Model:
    """Create a Model for a choice; no request that costs is sent before its first use.

    Args:
        tool_calling: False for models that cannot call tools; None detects it: a llama.cpp on this machine is
            asked, others are tried until they refuse.
        images: whether the model accepts images; None: as far as its name or its server tells.
    """
    # Imported late: loading these takes up to a second, which code that only needs names must not pay.
    from coder.models.provider import ProviderModel, model_factory

    # Warnings about fields that the libraries do not know yet are of no use to the user.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"(google\.genai|pydantic_ai)\b")
    key = find_key(choice.provider, environment)
    server = GgufServer(Path(choice.model)) if choice.provider == GGUF else None
    if server is not None:
        choice = choice.model_copy(update={"base_url": server.base_url})
    direct = ProviderModel(
        choice,
        model_factory(choice, key),
        key=key,
        retry_policy=retry_policy,
        server=server,
        images=images,
    )
    if tool_calling is None and choice.base_url and is_loopback(choice.base_url):
        tool_calling = detect_tool_support(choice.base_url)
    if tool_calling is None:
        return AdaptiveModel(direct)
    return direct if tool_calling else TextProtocolModel(direct)

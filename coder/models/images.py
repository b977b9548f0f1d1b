"""Models that accept images, by their names and by what their servers report."""

import re

from coder.models.catalog import ModelChoice
from coder.models.servers import detect_image_support, is_loopback

IMAGE_MODELS = re.compile(
    r"claude-(?!2|instant)|gpt-(?:4o|4\.1|4-turbo|[5-9])|(?:^|/)o[134](?!-mini)(?:-|$)|o4-mini|gemini|gemma-?[34]"
    r"|grok-(?:[4-9]|.*vision)|pixtral|mistral-(?:small|medium|large)-(?:3|2[5-9])|llama-?(?:4|3\.2-(?:11|90)b)"
    r"|vision|(?:^|qwen[\d.]*|[-/.])vl(?:$|[-:.\d])|llava|minicpm-v|internvl|moondream|nova-(?:lite|pro|premier)",
    re.IGNORECASE,
)
"""Families whose documentation says so; the model library's profiles say it of all models."""


def accepts_images(choice: ModelChoice) -> bool:
    """Tell whether a model is known to accept images; a llama.cpp on this machine is asked."""
    reported = (
        detect_image_support(choice.base_url) if choice.base_url and is_loopback(choice.base_url) else None
    )
    return bool(IMAGE_MODELS.search(choice.model)) if reported is None else reported

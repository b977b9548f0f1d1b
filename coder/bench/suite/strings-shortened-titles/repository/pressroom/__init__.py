"""Headlines, slugs and bylines."""

from pressroom.headlines import headline
from pressroom.slugs import slug

__all__ = ["headline", "slug"]

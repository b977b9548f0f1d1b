"""Versions, requirements and what an index offers."""

from paketo.index import newest, upgrades

__all__ = ["newest", "upgrades"]

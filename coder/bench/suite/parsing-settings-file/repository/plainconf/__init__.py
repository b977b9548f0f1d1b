"""Settings files with sections."""

from plainconf.reading import load, parse
from plainconf.writing import dump

__all__ = ["dump", "load", "parse"]

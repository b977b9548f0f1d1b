"""What each kind of evidence is worth: fitted to issues whose fixes are known, as `tests/benchmarks/locate.py` measures."""

DEFINITION = {
    "words": 0.9,
    "name said": 1.0,
    "name in title": 0.1,
    "named in title": 0.15,
    "named in inline": 0.4,
    "named in block": 0.7,
    "called": 0.3,
    "qualified": 0.5,
    "owner in title": 0.9,
    "owner in name": 0.25,
    "callee": 1.5,
    "base": 0.4,
    "resolved": 0.4,
    "message": 0.9,
    "line": 1.2,
    "frame": 0.3,
    "innermost frame": 0.5,
    "protocol": 0.3,
    "size": 0.6,
    "class": -0.5,
    "method": 0.2,
    "function": 0.3,
    "special": 0.25,
    "aside": -0.5,
    "test": -0.5,
}
"""By kind; a score is their sum, so that its differences are logarithms of odds."""
FILE = {
    "words": 0.35,
    "definitions": 0.72,
    "best definition": 0.1,
    "path said": 0.75,
    "path in title": 0.35,
    "stem in title": 0.65,
    "path": 0.5,
    "module": 0.15,
    "neighbour": 0.5,
    "message": 0.35,
    "innermost frame": 0.2,
    "package": -0.35,
    "aside": -0.3,
    "test": -0.5,
}
OF_FILE = 0.58
"""What a file's score adds to those of its definitions."""

"""Weights of evidence, fitted to issues with known fixes; see `benchmarks/locate.py`.

Weights of definitions maximize the likelihood of a softmax over all candidates of an issue. No positive
evidence has a negative weight, and a penalty, chosen on held-out issues, keeps them near the values set by
hand.
"""

DEFINITION_WEIGHTS = {
    "words": 0.68,
    "name said": 0.94,
    "name in title": 0.21,
    "named in title": 0.29,
    "named in inline": 0.78,
    "named in block": 0.46,
    "called": 0.47,
    "qualified": 1.41,
    "owner in title": 1.36,
    "owner in block": 0.27,
    "owner in name": 1.44,
    "callee": 1.48,
    "base": 0.09,
    "resolved": 0.3,
    "message": 1.87,
    "line": 3.92,
    "frame": 0.97,
    "innermost frame": 1.37,
    "protocol": 0.76,
    "uses": 0.19,
    "tested": 0.75,
    "size": 0.54,
    "class": -0.59,
    "method": 0.19,
    "function": 0.34,
    "special": 0.65,
    "aside": -1.58,
    "test": -1.29,
    "constructor": 0.08,
    "named in prose": 0.17,
    "owner in prose": 0.81,
}
"""By kind; a score is their sum, so that its differences are log odds."""
FILE_WEIGHTS = {
    "words": 0.28,
    "definitions": 0.72,
    "best definition": 0.1,
    "path said": 0.75,
    "path in title": 0.4,
    "stem in title": 0.65,
    "stem said": 0.15,
    "path": 0.5,
    "tested": 2.0,
    "changed": 0.15,
    "module": 0.15,
    "neighbour": 0.45,
    "message": 0.35,
    "innermost frame": 0.2,
    "package": -0.35,
    "aside": -1.3,
    "test": -0.5,
}
FILE_SCORE_WEIGHT = 0.54
"""Weight of a file's score in those of its definitions."""

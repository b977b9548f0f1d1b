"""Polynomials with one variable."""

from polyroot.polynomial import Polynomial
from polyroot.roots import NoRoot, root

__all__ = ["NoRoot", "Polynomial", "root"]

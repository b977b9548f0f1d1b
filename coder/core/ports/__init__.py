"""Protocols that cross layers: what sessions and strategies need of the packages above them."""

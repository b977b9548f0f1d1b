"""Protocols that cross layers: interfaces that sessions and strategies need of the packages above them."""

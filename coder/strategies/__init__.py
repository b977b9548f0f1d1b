"""Strategies: routes over the one loop, and functions that wrap them."""

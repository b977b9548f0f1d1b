"""Repair strategies: routes through the phases, and functions that combine them."""

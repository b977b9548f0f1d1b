"""Prices, carts and invoices of a small shop."""

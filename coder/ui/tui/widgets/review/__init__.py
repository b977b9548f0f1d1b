"""Widgets of the review: its files, its hunks, and the decisions on them."""

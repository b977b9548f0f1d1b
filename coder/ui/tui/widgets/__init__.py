"""Widgets of the screens, one module each."""

"""Approval of commands, changes and installations: rules first, then the user's answer."""

"""Conversation with sessions as the interface holds it."""

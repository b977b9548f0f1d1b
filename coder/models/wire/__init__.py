"""Requests to model providers: clients, translation, limits, retries, errors."""

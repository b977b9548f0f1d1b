"""Fault localization from coverage of failing and passing tests."""

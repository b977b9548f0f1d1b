"""Screens: the session, and modal questions in front of it."""

"""Mutation testing of a change: would a test notice it broken?"""

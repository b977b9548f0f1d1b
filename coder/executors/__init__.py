"""Executors: calls in parallel, in processes of this machine or on a Ray cluster.

A caller passes a function and its arguments; the executor decides where each call runs, repeats those whose
worker died, and reports all of it as one stream of events.
"""

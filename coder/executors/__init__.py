"""Executors: calls in parallel, in processes of this machine or on a Ray cluster.

A caller passes a function, its arguments, and the resources that one call needs; the executor decides where
each call runs, repeats those whose worker died, and reports all of it as one stream of events.
"""

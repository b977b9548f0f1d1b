"""Reads which networks this machine is in.

Here not: without a network.
Landlock: /proc shows every program the network it is in.
"""

with open("/proc/net/fib_trie") as table:
    print("ESCAPED" if at.address[0] in table.read() else "")

"""Kernel-level confinement: seccomp filters, Landlock rules, the broker of metadata system calls."""

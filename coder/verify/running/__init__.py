"""Cold test runs: launching, recording, dependencies, tracing."""

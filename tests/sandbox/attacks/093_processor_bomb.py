"""Uses the processor without end."""

import time

while time.process_time() < 6:
    pass
print("ESCAPED")

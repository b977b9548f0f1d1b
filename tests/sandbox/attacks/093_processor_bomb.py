"""Uses the processor without end."""

import time

while time.process_time() < 3:
    pass
print("ESCAPED")

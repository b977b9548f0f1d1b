"""Uses the processor without end."""

import time

while time.process_time() < 4:
    pass
print("ESCAPED")

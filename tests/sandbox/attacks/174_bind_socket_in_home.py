"""Makes a socket in the home."""

import os
import socket

from stage import at

socket.socket(socket.AF_UNIX).bind(os.path.join(at.home, "planted"))

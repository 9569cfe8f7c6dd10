"""Asks the server whether the tests pass: exit code 0 if so. Needs the standard library only."""

import socket
import sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    parts = []
    while part := server.recv(65_536):
        parts.append(part)
answer = b"".join(parts).decode()
print(answer)
# An answer that is cut short is no answer: 2, and cosmic-ray's output shows it.
sys.exit(0 if answer.startswith("passed") else 1 if answer.startswith("failed") else 2)

"""Writes a journal as fast as it can until it is killed; what it has written is on stdout."""

import os
import sys

from consumers.journal import Journal

journal = Journal(sys.argv[1], "member-1")
number = 0
while True:
    journal.write("delivered", poll=number, ranges=[["t", 0, number, number + 99, 100]])
    number += 1
    # After the write has returned: what is printed here must be in the journal.
    os.write(1, b"%d\n" % number)

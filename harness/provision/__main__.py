"""Entry point of `python3 -m harness.provision`.

Written so that a Python too old for the rest can still read it, and say so.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - exactly for the Pythons below the minimum
    sys.stderr.write(
        "kafka-chaos needs Python 3.11 or newer, but %s is %d.%d; "
        "name a newer one: python3.12 ./kafka-chaos ..., or make PYTHON=python3.12 ...\n"
        % (sys.executable, sys.version_info[0], sys.version_info[1])
    )
    sys.exit(3)

from harness.provision.provision_command import main

sys.exit(main(sys.argv[1:]))

"""The command `kafka-chaos`, `./kafka-chaos` in a clone, and `python3 -m kafka_chaos`.

Written so that a Python too old for the rest can still read it, and say so.
"""

import sys


def main():  # type: () -> int
    if sys.version_info < (3, 11):  # noqa: UP036 - exactly for the Pythons below the minimum
        sys.stderr.write(
            "kafka-chaos needs Python 3.11 or newer, but %s is %d.%d: install it with a newer one, "
            "or in a clone type python3.12 ./kafka-chaos\n"
            % (sys.executable, sys.version_info[0], sys.version_info[1])
        )
        return 3
    if sys.platform != "linux":
        sys.stderr.write(
            "kafka-chaos runs on Linux, and this is %s: use a Linux machine or container\n"
            % sys.platform
        )
        return 3
    from kafka_chaos.command import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())

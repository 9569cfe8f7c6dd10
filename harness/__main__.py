"""`python3 -m harness`: what `./kafka-chaos` and every make target run in the end.

Any Python may be used to type it: where the libraries are missing, the harness's own environment is
set up (once) and takes over.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - exactly for the Pythons below the minimum
    sys.stderr.write(
        "kafka-chaos needs Python 3.11 or newer, but %s is %d.%d; name a newer one: "
        "python3.12 ./kafka-chaos ...\n"
        % (sys.executable, sys.version_info[0], sys.version_info[1])
    )
    sys.exit(3)

import os
from importlib.util import find_spec

# NumPy comes with Arrow, and nobody here multiplies matrices. OpenBLAS would ask for 40 MB for each
# further core, and where it cannot have them it interrupts the program (SIGINT).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def run() -> int:
    """Run the command here, or hand it to the environment's Python."""
    arguments = sys.argv[1:]
    if find_spec("confluent_kafka") and find_spec("pyspark"):
        from harness.cli.main import main

        return main(arguments)
    from harness.provision.provision_command import main as provision

    # The doctor must be able to say what is missing without setting it up.
    if arguments == ["doctor"]:
        return provision(arguments)
    return provision(["exec", "--lean", "--", "-m", "harness", *arguments])


if __name__ == "__main__":
    try:
        sys.exit(run())
    except KeyboardInterrupt:  # before the command has begun
        sys.stderr.write("kafka-chaos: interrupted\n")
        sys.exit(2)

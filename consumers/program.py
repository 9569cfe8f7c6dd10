"""What the programs are around their loop: signals, a journal, and the last word in it."""

from collections.abc import Callable

from consumers.config import ConsumerConfig, ProbeConfig, ProducerConfig
from consumers.control import Control
from consumers.journal import Journal, JournalError


def run_program(
    config: ConsumerConfig | ProducerConfig | ProbeConfig, loop: Callable[[Journal, Control], None]
) -> int:
    """Run a loop until it is ordered to end. Returns the exit code; raises HarnessError.

    What ends it otherwise is the journal's last frame, unless the journal itself failed.
    """
    control = Control()
    control.install_signals()
    journal = Journal(config.journal, config.member)
    try:
        loop(journal, control)
    except JournalError:
        raise
    except Exception as error:
        journal.write("fatal", text=f"{type(error).__name__}: {error}")
        raise
    journal.close()
    return 0

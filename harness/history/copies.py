"""A small copy of a run: its manifest and history, which is all that judging reads."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.history.manifest import FILE_NAME, sealed
from harness.history.schema import HISTORY


def copy(run: Path, folder: Path, facts: Mapping[str, Any]) -> None:
    """Copy a run's history into a new folder, with these facts as its manifest.

    Raises OSError.
    """
    (folder / "history").mkdir(parents=True)
    text = json.dumps(sealed(facts), separators=(",", ":"))
    (folder / FILE_NAME).write_text(text + "\n")
    for name in HISTORY:
        file = f"{name}.parquet"
        if (run / "history" / file).exists():  # a run of an older schema lacks what has come since
            shutil.copyfile(run / "history" / file, folder / "history" / file)

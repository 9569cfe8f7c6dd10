"""A user's project: where its experiments, rules, apps and runs are; its limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness.base.errors import BadInput
from harness.base.paths import here
from harness.catalogue import toml_settings
from harness.experiment.limits import Limits

FILE: Final = "kafka-chaos.toml"
_FOLDERS: Final = ("experiments", "rules", "apps")
_MADE: Final = ("results", "recorded")  # folders that are made when something is put there
_KEYS: Final = (*_FOLDERS, *_MADE, "limits")
_RESULTS: Final = "kafka-chaos-results"  # beside the file, where it names no other folder


@dataclass(frozen=True, kw_only=True)
class Project:
    """What a project has of its own; nothing where there is no project."""

    file: Path | None = None
    experiments: Path | None = None
    rules: Path | None = None
    apps: tuple[Path, ...] = ()  # folders with an app.toml
    results: Path | None = None
    recorded: Path | None = None  # runs that are kept, and what the rules say of them
    limits: Limits = field(default_factory=Limits)

    @property
    def folder(self) -> Path | None:
        """The folder that the project is, if there is one."""
        return None if self.file is None else self.file.resolve().parent


def found(start: Path) -> Path | None:
    """The project file of a folder, or of one that it is in.

    Raises BadInput where there are two.
    """
    files = [folder / FILE for folder in (start, *start.parents) if (folder / FILE).is_file()]
    if len(files) > 1:
        raise BadInput(
            f"there are two project files, {here(files[0])} and {here(files[1])}: name the one "
            "that counts by --project"
        )
    return next(iter(files), None)


def opened(
    file: Path | None, experiments: Path | None = None, rules: Path | None = None
) -> Project:
    """The project of this file, or else of the folder that one is in.

    Folders that are named besides take the place of the file's. Raises BadInput.
    """
    cwd = Path.cwd()
    file = found(cwd) if file is None else cwd / file
    given = _read(file) if file is not None else {}
    named = {"experiments": experiments, "rules": rules}
    for name, folder in named.items():
        if folder is not None:
            option = "--own-rules" if name == "rules" else f"--{name}"
            given[name] = _folder(option, cwd / folder)
    return Project(file=file, **given)


def _read(file: Path) -> dict[str, Any]:
    held = toml_settings.read(file, f"name a {FILE}")
    try:
        return _fields(held, file.resolve().parent)
    except BadInput as error:
        raise BadInput(f"{here(file)}: {error}") from error


def _fields(held: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    toml_settings.known("", held, _KEYS)
    given: dict[str, Any] = {"results": folder / _RESULTS}
    for name in held.keys() - {"limits"}:
        path = folder / toml_settings.typed(name, held[name], str)
        given[name] = path if name in _MADE else _folder(name, path)
    if "recorded" in given and given["recorded"].is_relative_to(given["results"]):
        raise BadInput(
            f"recorded names {here(given['recorded'])}, which is in the folder of results, where "
            "`clean --all` removes runs: name a folder outside it"
        )
    if folder_of_apps := given.get("apps"):
        given["apps"] = tuple(sorted(each.parent for each in folder_of_apps.glob("*/app.toml")))
        if not given["apps"]:
            raise BadInput(
                f"apps names {here(folder_of_apps)}, and no folder in it has an app.toml: name the "
                "folder that your apps' folders are in"
            )
    if "limits" in held:
        given["limits"] = toml_settings.table("limits", Limits, held["limits"])
    return given


def _folder(name: str, path: Path) -> Path:
    if not path.is_dir():
        raise BadInput(f"{name} names {here(path)}, which is no folder: make it, or name another")
    return path.resolve()

"""An experiment as it is asked for, which is checked before anything is played."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from harness.base.errors import BadInput
from harness.catalogue import registry
from harness.catalogue.apps import with_app
from harness.catalogue.promises import refuse_order
from harness.experiment import Experiment
from harness.experiment.app import App
from harness.experiment.limits import Limits
from harness.run.why import cannot_run


@dataclass(frozen=True)
class Choice:
    """What is asked of an experiment, or of several: then it has no name.

    `settings` are texts by names, brokers' settings among them. `app` is the program whose
    processes are the members, `of_project` are the limits that come last.
    """

    settings: Mapping[str, str]
    limits: Limits
    of_project: Limits = field(default_factory=Limits)
    name: str = ""
    app: App | None = None

    def experiment(self) -> Experiment:
        """The experiment as it can be played. Raises BadInput."""
        if not self.name:
            raise BadInput(registry.WHICH)
        app = self.app
        declared = registry.load(self.name)
        turned = registry.with_settings(declared, self.settings, of_app=app is not None)
        if app is not None:
            if turned.group != declared.group:
                raise BadInput(
                    f"{app.name} decides its own client, protocol and timers: leave out --client, "
                    "--protocol and every --set of the group; --instances sets the number of "
                    "processes"
                )
            turned = with_app(turned, app)
            if not app.build and (why := cannot_run(app)):  # nor a step that could make it
                raise BadInput(f"{app.name}: {why}")
        return registry.resolved(registry.checked(self.held(turned)))

    def held(self, experiment: Experiment) -> Experiment:
        """An experiment held to the limits, and to those of its own that are not among them.

        A program's owner has promised what is in its app.toml; that goes before what the experiment
        says, and what is promised of a whole project comes last. Raises BadInput for a limit that
        nothing would judge.
        """
        limits, own = self.limits, experiment.limits
        if (app := experiment.app) is not None:
            of_app = limits.over(app.limits).over(own).over(self.of_project)
            return replace(experiment, app=replace(app, limits=of_app))
        if limits.out_of_order is not None:
            refuse_order(", or name a program by --app")
        of_members = replace(self.of_project, out_of_order=None)  # it may be about its programs
        return replace(experiment, limits=limits.over(own).over(of_members))

"""The simulator: scenarios in, journals and counters out.

Runs the protocols of `treecast.protocols` unchanged. It never meets `treecast.net`.
"""

from treecast.sim.host import Progress, ProgressCallback
from treecast.sim.result import LatencySummary, Result, Traffic
from treecast.sim.scenario import Scenario
from treecast.sim.scenario_file import load_scenario, parse_scenario
from treecast.sim.simulate import simulate

__all__ = [
    "LatencySummary",
    "Progress",
    "ProgressCallback",
    "Result",
    "Scenario",
    "Traffic",
    "load_scenario",
    "parse_scenario",
    "simulate",
]

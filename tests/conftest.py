"""Hypothesis profiles: `house` by default, `ci` (`--hypothesis-profile=ci`) looks further.

No deadline in either: the tests share a machine, and a slow example is no failure. Both
draw fresh examples each time; what fails is printed as a line that brings it back.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "house",
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("house"), max_examples=500)
settings.load_profile("house")

"""Settings every test shares."""

from __future__ import annotations

import gc

from hypothesis import HealthCheck, settings

# No verdict depends on how busy the machine is: an example has no time limit of its own.
settings.register_profile("rxstream", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rxstream")

# What all tests' modules hold is looked at when a test asks for it, and not each time that one has made some objects.
gc.set_threshold(700, 10, 1000)

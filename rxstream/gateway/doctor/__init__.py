"""Whether what stands before a gateway passes its streams on as they come.

`self_test` is the gateway's side, a stream of small frames that say when they were sent. `observe` reads it through the
proxy, and `diagnose` says what was seen and what to change.
"""

from rxstream.gateway.doctor.diagnosis import Finding, diagnose
from rxstream.gateway.doctor.observation import Arrival, DoctorError, Observation, observe, self_test_url

__all__ = ("Arrival", "DoctorError", "Finding", "Observation", "diagnose", "observe", "self_test_url")

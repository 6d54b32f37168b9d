"""How hard the property tests try: ``AGENT_MEMORY_TEST_PROFILE=long`` for twenty thousand examples each."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("ci", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("AGENT_MEMORY_TEST_PROFILE", "ci"))

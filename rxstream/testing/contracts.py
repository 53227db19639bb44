"""Contract suites: hold your own operator, overflow policy, source or sink to what the library's own ones promise.

    from rxstream.testing.contracts import check_operator

    def test_my_operator_keeps_the_contract() -> None:
        check_operator(my_operator, [TextDelta("a"), TextDelta("b"), Finish("stop")])

Each runs many small streams on a loop with a virtual clock and raises `ContractError`, whose `promise` says what was
broken. None of them needs a plugin: call them from any test framework.
"""

from __future__ import annotations

from rxstream.testing.contract_kit import ContractError
from rxstream.testing.contract_operator import check_operator
from rxstream.testing.contract_policy import check_policy
from rxstream.testing.contract_sink import check_sink
from rxstream.testing.contract_source import check_source

__all__ = ("ContractError", "check_operator", "check_policy", "check_sink", "check_source")

"""The parts of `run_tools`: its `plan`, the `ledger` of what may run, the `run` of one call, the `runner` of all."""

"""`python -m flows.engine`: Prefect's engine, whose modules are loaded without garbage collections in between.

Loading Prefect makes some hundred thousand objects that all stay; collecting among them again and again takes a
seventh to a quarter of the time from a flow run's process to its first line. A level waits for that each time.
"""

import gc

gc.disable()

import runpy  # noqa: E402 -- the collector is off first
import warnings  # noqa: E402

import prefect.flow_engine  # noqa: E402, F401 -- the greater part of what the engine loads

gc.freeze()
gc.enable()


def main() -> None:
    """As `python -m prefect.engine`, which has no function to call; the run's id is in the environment as ever."""
    # Half of it is loaded under its own name by now, as it is when Prefect itself starts it.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="runpy")
    runpy.run_module("prefect.engine", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

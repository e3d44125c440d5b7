"""What an agent runs on an event: `python -I -S bearinmind_hook.py EVENT [CONFIGURATION]`.

It needs only the standard library, and prints nothing when something is wrong. The work is in
`standalone`, whose modules Python keeps compiled; this file is compiled at every run.
"""

import sys

sys.path.insert(0, __file__.rpartition("bearinmind_hook.py")[0] or ".")

from importlib import import_module

if __name__ == "__main__":
    try:
        # By name: in a plugin the folder lies beside this file, and is no part of `bearinmind`.
        import_module("standalone.main").main(sys.argv[1:])
    except Exception:  # noqa: BLE001  a Python that is too old, a file that is missing
        sys.exit(0)

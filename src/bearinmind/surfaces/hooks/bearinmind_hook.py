"""What an agent runs on an event: `python -I -S bearinmind_hook.py EVENT [CONFIGURATION]`.

It needs nothing but the standard library, and says nothing when something is wrong. The work is in
`standalone`, whose modules Python keeps compiled; this file it compiles anew each time.
"""

import sys

sys.path.insert(0, __file__.rpartition("bearinmind_hook.py")[0] or ".")

from importlib import import_module

if __name__ == "__main__":
    try:
        import_module("standalone.main").main(sys.argv[1:])
    except Exception:  # noqa: BLE001  a Python that is too old, a file that is missing
        sys.exit(0)

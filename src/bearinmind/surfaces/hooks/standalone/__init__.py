"""The hooks themselves. They import the standard library alone, and as little of it as possible.

An agent waits for a hook, so a hook does not import what is slow to load: `pathlib`, `typing`,
`dataclasses`, `subprocess`, `http`. If anything is missing, slow or wrong, a hook prints nothing.
"""

"""The hooks themselves: the standard library alone, and as little of it as will do.

An agent waits for a hook, so what takes long to load stays away: `pathlib`, `typing`,
`dataclasses`, `subprocess`, `http`. Anything may be missing, slow or wrong; then a hook says
nothing.
"""

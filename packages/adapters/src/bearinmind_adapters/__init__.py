"""Bear in Mind as the memory of other frameworks, one module each."""

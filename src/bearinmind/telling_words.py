"""Words and marks by which a text says something else than another that is nearly the same."""

from __future__ import annotations

NEGATIONS = frozenset(
    """
    cannot cant didnt doesnt dont except hardly isnt neither never no nobody none nor not nothing
    nowhere unless without wont
    """.split()  # noqa: SIM905  so that it can be read
)
NUMBERS = frozenset(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion dozen half quarter double triple once twice thrice first second
    third fourth fifth sixth seventh eighth ninth tenth last both all most few many some any every
    """.split()  # noqa: SIM905
)
DATES = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat
    sun january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec today tomorrow yesterday tonight morning noon
    afternoon evening night midnight daily weekly monthly yearly spring summer autumn winter
    """.split()  # noqa: SIM905
)

#: Marks that are no part of a word: ".5" is not "5" ...
BEFORE = "\"'([{`*\u2018\u201c\u00ab"
#: ... and "C++" is not "C".
BEHIND = ".,;:!?\"')]}`*\u2026\u2019\u201d\u00bb"

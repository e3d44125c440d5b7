"""The words that decide whether two texts say the same. English; what is not here tells apart.

The groups hold words that can stand for each other in what a coding agent writes down, whatever
stands around them. They were chosen on the development half of benchmarks/data/consolidation.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words(
    """
    cannot cant didnt doesnt dont except hardly isnt neither never no nobody none nor not nothing
    nowhere unless without wont
    """
)
NUMBERS = _words(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million billion dozen half quarter double triple once twice thrice first second
    third fourth fifth sixth seventh eighth ninth tenth last both all most few many some any every
    """
)
DATES = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat
    sun january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec today tomorrow yesterday tonight morning noon
    afternoon evening night midnight daily weekly monthly yearly spring summer autumn winter
    """
)

#: Marks that are no part of a word: ".5" is not "5" ...
BEFORE = "\"'([{`*\u2018\u201c\u00ab"
#: ... and "C++" is not "C".
BEHIND = ".,;:!?\"')]}`*\u2026\u2019\u201d\u00bb"


#: May be there or not, and the text says the same.
IDLE = _words(
    """
    a an the is are am be been being do does this our we please kindly also actually basically
    really simply currently already now there and
    """
)
WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
#: How a note may begin without saying anything; only at the very beginning.
OPENINGS = (
    ("note", "that"),
    ("remember", "that"),
    ("keep", "in", "mind", "that"),
    ("for", "the", "record"),
    ("note",),
    ("remember",),
    ("reminder",),
    ("fyi",),
    ("important",),
)
#: How strongly something is meant.
STRENGTHS = _words(
    """
    must should shall may might can could will would ought need always usually often sometimes
    rarely seldom occasionally only just merely exclusively optional optionally required mandatory
    recommended necessary forbidden allowed possibly probably maybe perhaps supposedly apparently
    likely certainly definitely strictly roughly about approximately around almost nearly exactly
    """
)
#: Pairs that turn a meaning around; any of them on one side alone tells.
OPPOSITES = _words(
    """
    enable disable on off true false yes before after increase decrease up down in out start stop
    open close opened closed add remove allow deny accept reject include exclude more less most
    least high low higher lower max min maximum minimum above below over under first last early late
    earlier later new old newer older fast slow faster slower lock unlock mount unmount public
    private internal external local remote read write push pull import export upload download
    incoming outgoing inbound outbound ascending descending left right top bottom success failure
    pass fail passed failed valid invalid active inactive online offline sync async synchronous
    asynchronous long short inner outer parent child client server primary secondary source target
    production staging prefer avoid like dislike with to from into onto
    """
)
#: Whether it is so, was so, or will be.
TENSES = _words(
    "was were had did previously formerly former ago soon still yet used began kept made"
)
#: What a number is of.
UNITS = _words(
    """
    millisecond second minute hour day week month quarter year ms sec min hr byte kb mb gb tb kib
    mib gib bit percent euro eur usd dollar cent metre meter mile gram pound degree celsius
    fahrenheit pixel px line row request
    """
)
#: What limits or takes back what is said around it.
CONDITIONS = _words(
    """
    if when whenever unless until till while otherwise however but though although instead rather
    than besides deprecated obsolete outdated replaced superseded wrong incorrect ? provided
    assuming whether or else during
    """
)
#: A reason that follows may be left out.
REASONS = _words("because")

_SPELLED = "two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
#: Numbers in digits by the words for them.
DIGITS = {word: str(number) for number, word in enumerate(_SPELLED, start=2)}

_GROUPS = """
    use uses using utilise utilize utilises utilizes employ employs
    used utilised utilized employed
    run runs running
    database db databases dbs
    repository repo repositories repos
    configuration config configurations configs
    directory folder directories folders dir
    environment env environments envs
    documentation docs
    application app applications apps
    authentication auth
    administrator admin administrators admins
    production prod
    development dev
    parameter param parameters params
    argument arg arguments args
    message msg messages msgs
    specification spec specifications specs
    temporary temp
    maximum max
    minimum min
    approximately roughly around about
    begin begins start starts
    began started
    end ends finish finishes
    live lives reside resides located
    keep keeps store stores
    kept stored
    make makes create creates
    made created
    fix fixes repair repairs
    fixed repaired
    delete deletes remove removes
    deleted removed
    show shows display displays
    need needs require requires
    want wants wish wishes
    help helps assist assists
    and & plus
    that which
    via through
    often frequently
    quick fast
    large big
    error errors failure failures
    bug bugs defect defects
    picture image pictures images
    every each
    within inside
    in on at
    ticket issue tickets issues
    colour color colours colors
    behaviour behavior behaviours behaviors
    licence license
    organisation organization
    email e-mail emails mail
    website web-site
    cache caches
    ok okay fine
"""

#: By word: the word that stands for its group.
STANDS_FOR = {
    word: group.split()[0]
    for group in reversed(_GROUPS.strip().splitlines())
    for word in group.split()
} | DIGITS

#: Names of one thing, in whatever case they are written.
NAMES = {"postgresql": "postgres", "k8s": "kubernetes", "js": "javascript", "ts": "typescript"}

#: With what a place, a time or a condition begins that may stand first or last.
MOVABLE = _words("in for when if during within before after until by")

"""Words that tell whether a text reports a change, a plan, an event, an addition or an opinion.

English. The lists were read out of training pairs (benchmarks/data/changes/train.jsonl); what each
is worth is for the scorer to say.
"""

from __future__ import annotations

import re


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


_MONTH = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)

#: What a text may be about to say, by name; each becomes a feature of either text.
CUES: dict[str, re.Pattern[str]] = {
    "now": _any(
        "now|nowadays|these days|currently|at present|as of|from today|from now on|effective|new",
        "newly|latest|meanwhile|by now|today|starting (?:today|this|next|monday|with|on)",
        rf"since (?:last|this|the|yesterday|monday|{_MONTH}|\d)",
    ),
    "moved": _any(
        "mov(?:ed|es|ing)|switch(?:ed|es|ing)?|migrat(?:ed|es|ion|ing)|chang(?:ed|es|e)",
        "replac(?:ed|es|ement|ing)|renamed?|convert(?:ed|s)?|transition(?:ed)?|swapp?(?:ed|s)?",
        "upgrad(?:ed|e|es)|bumped|updated?|t(?:ook|akes?|aken) over|handed|handover",
        "inherit(?:ed|s)|succeed(?:ed|s)|reassigned|relocated|became|becomes|turned into|ported",
        "went (?:from|to|back)|gave up|rewritten|rolled out|cut over|shifted|adopted",
    ),
    "instead": _any(
        "instead|rather than|in place of|no more|used to|formerly|previously|older?|former",
        "before (?:that|it was)|until (?:now|recently|last)|up from|down from|supersed(?:es|ed)",
        "obsolete|deprecated|outdated|correct(?:ion|ed)|turn(?:s|ed) out|actually|after all",
        r"in fact|wrong|mistaken|not .{1,30} but|was .{1,40} before",
    ),
    "ended": _any(
        "no longer|any ?more|stopp?(?:ed|s)|end(?:ed|s)|quit|cancell?ed|called off|dropped",
        "scrapped|gone|retired|closed|shut|discontinued|abandoned|removed|left|ceased",
        "decommissioned|turned off|switched off|sold|expired|over|off the table|won't|finished",
        "dead|lapsed|withdrawn|binned|ditched|killed|axed|deleted|gave up|given up",
    ),
    "back": _any(
        "back (?:to|on|in|at|with|again)|returned|revert(?:ed|s)?|rolled back|restored",
        "reinstated|once more|undone|again",
    ),
    "amount": _any(
        "rais(?:ed|es)|lower(?:ed|s)|increas(?:ed|es)|reduc(?:ed|es)|cut|doubled|halved|extended",
        "shortened|went up|gone up|dropped to|grew|shrunk|capped|up to|down to|tightened|upped",
        "bumped|pushed (?:to|back)|postponed|delayed|brought forward|rescheduled|slipped",
    ),
    "added": _any(
        "also|too|another|second|third|additional(?:ly)?|in addition|as well|plus|besides|extra",
        "on top|one more|joined|both|either|alongside|next to|apart from|further|likewise|same",
        "similar(?:ly)?|each|every",
    ),
    "planned": _any(
        r"plan(?:s|ned|ning)?|propos(?:e|ed|al|es)|might|may(?! \d)|maybe|perhaps|would|could",
        "consider(?:ing|s|ed)?|want(?:s|ed)? to|hop(?:e|es|ing)|idea|thinking (?:of|about)",
        "wonder(?:ing|s)?|if|suggest(?:s|ed|ion)?|trial|pilot|experiment(?:ing|ed)?|rfc|draft",
        "evaluat(?:e|ing|ed|ion)|test(?:ing|ed)?|try(?:ing)?|tried|demo|prototype|spike|poll",
        "possibly|someday|dream(?:s|ing)?|wish(?:es)?|intend(?:s|ed)?|going to|will|shall",
        "next (?:year|month|spring|summer|autumn|fall|winter|quarter|week)|eventually|rumou?r",
        "discuss(?:ed|ing|ion)?|asked (?:whether|if|about)|quoted?|offer(?:ed)?|option|candidate",
        "toying|talk of|voted|undecided|looking (?:at|into)|appl(?:ied|ication)|booked|scheduled",
        "supposed to|expect(?:s|ed)?|open for comments|sceptical|skeptical",
    ),
    "exception": _any(
        "except(?:ion|ionally)?|only (?:for|on|this|once|during)|just (?:for|this)|otherwise",
        "this (?:week|month|time|once|friday|monday|year)|one[- ]time|one-off|temporar(?:y|ily)",
        "for (?:one|two|three|this|the) (?:week|day|month|weekend)s?|today only|as usual|usual",
        "covers? for|stand(?:s|ing)? in|holiday|vacation|guest|visiting|during",
    ),
    "still": _any(
        "still|remains?|unchanged|untouched|as before|as always|stays?|stayed|reminder|remember",
        "keep(?:s|ing)?|confirmed|same as|continues?|as ever|repeat(?:ed)?|reiterated|rule",
        "for the record",
    ),
    "event": _any(
        "yesterday|last (?:night|week|weekend|month|friday|monday|tuesday|wednesday|thursday)",
        "this morning|went|met|visited|happened|incident|outage|attended|saw|bought|won|lost",
        "failed|broke|crashed|released|shipped|post-?mortem|meeting|workshop|trip|concert|race",
        "talk|interview|audit|inspection|took|ran|came|got|gave|had|spent|was|were|did|results?",
        "scored|measured|reported|delivered|caused|fell|review|round|session|visit|conference",
        "match|celebrated|birthday|wedding|party",
    ),
    "opinion": _any(
        "think(?:s)?|thought|feel(?:s|ing)?|felt|love[ds]?|like[ds]?|hate[ds]?|enjoy(?:ed|s)?",
        "favou?rite|boring|beautiful|great|awful|annoy(?:ed|ing|s)|best|worst|prefer(?:s|red)?",
        "finds?|found|seems?|says?|said|opinion|fun|nice|terrible|overrated|underrated|tired",
        "impressed|disappointed|delicious|ugly|funny|proud|sad|happy|worried|grumpy",
        "too (?:loud|long|sweet|slow|bright|cold|hot)|complain(?:ed|s)",
    ),
    "negated": _any("not|no|never|none|nobody|nothing|without|cannot|\\w+n['\u2019]t"),
    "holds": _any(
        "is|are|am|uses?|runs?|lives?|works?|costs?|has|have|takes?|goes|go|prefers?|belongs?",
        "reports? to|handles?|owns?|leads?|manages?|needs?|requires?|must|should|expires?|set",
        "starts?|begins?|opens?|closes?|pays?|drinks?|eats?|wears?|drives?|plays?|reads?|sits?",
        "stands?|gets?|comes?|keeps?|stores?|sends?|writes?|deploys?|builds?|supports?|allows?",
    ),
    "dated": re.compile(
        r"^\W*(?:\d{1,2}[:.]\d\d|\d{4}-\d\d-\d\d|"
        r"\d{1,2} [A-Z][a-z]{2,8}\b|[A-Z][a-z]{2,8} \d{1,2}\b)"
    ),
    "asks": re.compile(r"\?"),
}

#: A text that reports a change has at least one of these.
CHANGE = ("now", "moved", "instead", "ended", "amount", "back")

#: Behind these stands what no longer holds: "from X", "was X", "no longer X".
DENIED = re.compile(
    r"(?:\b(?:from|instead of|rather than|not|no longer|replac\w+|used to|formerly|previously|was|"
    r"were|old|than|without|left|dropped|gone|retired|stopped|before|no more|after)\s+"
    r"(?:the |our |my |a |an )?|[(,] ?was )([^\W_]+(?:[-'._/:][^\W_]+)*)"
    r"|([^\W_]+(?:[-'._/:][^\W_]+)*) ?(?:->|\u2192)",
    re.IGNORECASE,
)

#: Words of one line exclude each other: a memory about one says nothing of another.
CONTRASTS = tuple(
    frozenset(line.split())
    for line in """
    staging production prod dev development test preview qa sandbox canary live local
    read write
    weekday weekdays weekend weekends saturday saturdays sunday sundays
    morning mornings evening evenings afternoon afternoons night nights noon lunch breakfast dinner
    monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays
    summer winter spring autumn
    primary secondary replica backup standby
    internal external public private
    inbound outbound incoming outgoing
    frontend backend server client mobile ios android web desktop windows linux mac macos
    upper lower left right front back top bottom north south east west
    first second third fourth
    junior senior
    hot cold
    min max minimum maximum
    january february march april may june july august september october november december
    q1 q2 q3 q4
    daily weekly monthly yearly quarterly annual
    adults children kids adult child
    unit integration e2e smoke load
    cpu memory disk ram
    import export upload download
    home work office school
    mother father mum dad brother sister son daughter wife husband grandmother grandfather aunt
    red blue green yellow white black
    single double
    host port user password database
    phone email mail e-mail address
    price cost delivery invoice payment
    wholesale retail
    inner outer
    bachelor master phd
    upstairs downstairs basement attic kitchen bathroom bedroom garage garden
    small large medium big
    indoor outdoor
    """.strip().splitlines()
)

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.recall.question_time import NOTHING, read, without_time
from bearinmind.trace import Asks, Span

NOW = datetime(2025, 6, 18, 15, 30, tzinfo=UTC)  # a Wednesday; every moment here is seen from it


YEAR = timedelta(days=366)  # 2024


def day(year: int, month: int = 1, date: int = 1) -> datetime:
    return datetime(year, month, date, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "What are Ravindra's working hours now?",
        "Which CI do we use at the moment?",
        "who owns billing these days",
        "Where do we currently host the docs?",
        "Is anyone still building Swiftlane?",
        "Do we use yarn anymore?",
        "Do we squash commits any more?",
        "What availability do we owe at present?",
        "What interest do we pay on the mortgage today?",
        "Which format do I refuse nowadays?",
        "our current landlord",
        "current on-call lead",
        "What is Tove's current editor?",
        "Where is our old server now?",
        "lifetime of an access token now",
    ],
)
def test_a_question_about_the_present_asks_for_now(text: str) -> None:
    assert read(text, NOW).asks is Asks.NOW


@pytest.mark.parametrize(
    "text",
    [
        "What did we use before?",
        "What did we use before the move?",
        "Which city was John in before traveling to Chicago?",
        "Who owned billing before Lars?",
        "our CI before the migration",
        "Which registry did we push to before we switched to GHCR?",
        "What did we use until recently?",
        "Who was our landlord prior to the move?",
        "Which CI did we previously use?",
        "What is the name of the tool we previously used?",
        "Where was the API originally hosted?",
        "What was it called at first?",
        "Which queue did we use initially?",
        "Who used to own Bollard?",
        "What activity did Caroline used to do with her dad?",
        "What did we use to call the gateway?",
        "the office where Tove used to work",
        "There used to be a second cluster, where was it?",
        "Back when we lived in Varde, who was our doctor?",
        "Which doctor did we have back then?",
        "Who was on call at that time?",
        "Who led the team in the past?",
        "Which editor did I have a while ago?",
        "What did GitHub Actions replace?",
        "What did we migrate from?",
        "Where did Caroline move from?",
        "Which linter did we stop using?",
        "Who was our previous manager?",
        "the phone number of our former landlord",
        "What was the old port?",
        "What was our first database?",
        "What was the name of the earlier build computer?",
        "name of the old cluster",
        "former team lead of payments",
        "What's the previous value of max_connections?",
        "What hydration did I begin with?",
        "Which CI did we use first?",
        "Which framework did we first use for the page?",
        "What was John's way of dealing with stress when he was younger?",
        "Which CI ran our builds when we were still at Quillhaven?",
    ],
)
def test_a_question_about_the_past_asks_for_then_without_a_date(text: str) -> None:
    reading = read(text, NOW)

    assert reading.asks is Asks.THEN
    assert reading.span is None
    assert reading.words


@pytest.mark.parametrize(
    "text",
    [
        "When did we switch to pnpm?",
        "when was the Kafka cutover",
        "Since when is there a limit on how long photos are stored?",
        "Since when has Sandmartin been sailing with an electric motor?",
        "How long have we been on Postgres 16?",
        "How long has Melanie been practicing art?",
        "How long ago did we drop Jenkins?",
        "Which year did we move to Varde?",
        "On which date did the lease begin?",
        "Until when did we use Jenkins?",
        "Do you remember when we switched to Helix?",
        "when we moved to the new office",
        "date of the migration to Kafka",
        "When did we use Jenkins before?",
        "when'd we switch to pnpm",
        "At what point did we move to Kubernetes?",
    ],
)
def test_a_question_about_a_moment_asks_when(text: str) -> None:
    assert read(text, NOW).asks is Asks.WHEN


@pytest.mark.parametrize(
    "text",
    [
        "What do I have to do before a deploy?",
        "What must be done before the migration?",
        "What did I say must happen before a deploy?",
        "How many approvals does a change need before merging?",
        "Whom must I ask before I change Bollard's signing code?",
        "Have I ever made a watchlist before?",
        "Was the oil tank dug out before or after the heat pump was started?",
        "How big may a script grow before it has to be ported?",
        "checklist before a release",
        "the first step",
        "What is the first step of the runbook?",
        "our first step after an outage",
        "Which film was released first, A or B?",
        "Which came first, the new flue or the roof repair?",
        "the first one was better",
        "go to the previous page",
        "What was the previous message?",
        "What is Tove's last name?",
        "open the last one again",
        "Show me the last ten commits that touched the solver",
        "Undo the last change",
        "last but not least",
        "the last minute fix",
        "May I push to main?",
        "May 5 people share one licence?",
        "How large may a label be?",
        "Who is May Lind?",
        "When is May coming to visit?",
        "march the team through the plan",
        "What is the second argument?",
        "How long is a second?",
        "How long are application logs retained?",
        "How long did it take to open the studio?",
        "When is the on-call handover?",
        "When do we throw out noisy alarms?",
        "When does the pager change hands?",
        "when does the freeze start",
        "Who has a work anniversary on April 1st?",
        "what did we replace jenkins with",
        "How do we roll back to the previous version?",
        "When may I swap a real collaborator for a double?",
        "Which IntelliJ is it, 2024.1?",
        "What changed in PyCharm 2024.1.3?",
        "What listens on port 2023?",
        "What listens on 2023?",
        "Which service is on localhost:2023?",
        "salary band of requisition WF-2025-03",
        "amount on invoice LM-2024-02",
        "In which versions is CVE-2025-99871 fixed?",
        "Which object is accession 1987.44.T?",
        "What times out in 2000 ms?",
        "What is the command used to deploy?",
        "Which key is used to sign the QR codes?",
        "Is ruff used to format the tests?",
        "the token used to log in",
        "What do we use to deploy?",
        "I can't log back in",
        "put the module back in",
        "How is a credit union initially financed?",
        "What happens at the time of a release?",
        "now the other file",
        "Which film came out, This Night Is Still Ours or Now You See Me?",
        "Which film has the longer title, Before I Disappear or Pravachakan?",
        "one-year-old child",
        "spring cleaning of the repository",
        "fall back to the cache",
        "What did you recommend so that all is ready well before the cutoff?",
        "Make the on-call plan for August and September",
        "Send the museum the invoice for May",
        "Are deploys on a Friday permitted?",
        "Who reviews a change of the schema?",
        "",
    ],
)
def test_words_that_only_look_like_a_time_are_not_read(text: str) -> None:
    assert read(text, NOW) == NOTHING


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("What did we decide yesterday?", day(2025, 6, 17), day(2025, 6, 18)),
        ("What broke the day before yesterday?", day(2025, 6, 16), day(2025, 6, 17)),
        ("What did we decide last week?", day(2025, 6, 9), day(2025, 6, 16)),
        ("What did we pay last month?", day(2025, 5), day(2025, 6)),
        ("last year's budget", day(2024), day(2025)),
        ("Who came last Tuesday?", day(2025, 6, 17), day(2025, 6, 18)),
        ("Who came last Wednesday?", day(2025, 6, 11), day(2025, 6, 12)),
        ("What did we do last weekend?", day(2025, 6, 14), day(2025, 6, 16)),
        ("Where did we go last summer?", day(2024, 6), day(2024, 9)),
        ("What was agreed last May?", day(2025, 5), day(2025, 6)),
        ("What was decided three days ago?", day(2025, 6, 15), day(2025, 6, 16)),
        ("Which CI did we use two years ago?", day(2023), day(2024)),
        ("What did I store a month ago?", day(2025, 5), day(2025, 6)),
        ("What did it cost in May 2024?", day(2024, 5), day(2024, 6)),
        ("rate in Sept. 2024", day(2024, 9), day(2024, 10)),
        ("What was it in 2024?", day(2024), day(2025)),
        ("When were playtests held in 2024?", day(2024), day(2025)),
        ("Where did Idris live in mid-2024?", day(2024) + 0.3 * YEAR, day(2024) + 0.7 * YEAR),
        ("mortgage rate in 2024", day(2024), day(2025)),
        ("What did they paint in July?", day(2024, 7), day(2024, 8)),
        ("What did they paint in May?", day(2025, 5), day(2025, 6)),
        ("What did Maria share on 16 June, 2023?", day(2023, 6, 16), day(2023, 6, 17)),
        ("What was taken on December 1,2023?", day(2023, 12), day(2023, 12, 2)),
        ("What did they give him on Aug 15th?", day(2024, 8, 15), day(2024, 8, 16)),
        ("What was said on the 3rd of March 2024?", day(2024, 3, 3), day(2024, 3, 4)),
        ("Who was on call on 2025-03-20?", day(2025, 3, 20), day(2025, 3, 21)),
        ("What did it cost in 2025-03?", day(2025, 3), day(2025, 4)),
        ("What did we ship in Q3 2024?", day(2024, 7), day(2024, 10)),
        ("What was the rate in summer 2024?", day(2024, 6), day(2024, 9)),
        ("How did the March 2024 offsite end?", day(2024, 3), day(2024, 4)),
        ("Where was Tim in the second week of April?", day(2025, 4, 8), day(2025, 4, 15)),
        ("What did Nate win in early November 2022?", day(2022, 11), day(2022, 11, 13)),
        (
            "Where was John between August 11 and August 15 2023?",
            day(2023, 8, 11),
            day(2023, 8, 16),
        ),
        ("Where did we host from May 2023 to July 2023?", day(2023, 5), day(2023, 8)),
        ("What ran our builds between 3 and 9 May 2024?", day(2024, 5, 3), day(2024, 5, 10)),
        ("What runs our builds between 3 and 9 May 2024?", day(2024, 5, 3), day(2024, 5, 10)),
        ("What broke between May 3 and 9, 2024?", day(2024, 5, 3), day(2024, 5, 10)),
        ("What did we fix between October 3 and 9?", day(2024, 10, 3), day(2024, 10, 10)),
        ("What broke on May 3-9, 2024?", day(2024, 5, 3), day(2024, 5, 10)),
        ("Who led from the 3rd to the 9th of May 2024?", day(2024, 5, 3), day(2024, 5, 10)),
        ("What was it between 30 December and 2 January?", day(2024, 12, 30), day(2025, 1, 3)),
        ("Where did we host between May and July?", day(2024, 5), day(2024, 8)),
        ("Where do we host between May and July 2023?", day(2023, 5), day(2023, 8)),
        ("Where did we host between May 2023 and July?", day(2023, 5), day(2023, 8)),
        ("Where did we host from November to February 2024?", day(2023, 11), day(2024, 3)),
        ("Where did we host from August to October?", day(2024, 8), day(2024, 11)),
        ("Where did we host from May until the end of July 2023?", day(2023, 5), day(2023, 8)),
        ("Where did we host between 2022 and 2023?", day(2022), day(2024)),
        ("What did we pay between 2024 and 2022?", day(2022), day(2025)),
        ("Where did we go in spring and summer 2023?", day(2023, 3), day(2023, 9)),
        ("What did we fix in September and October?", day(2024, 9), day(2024, 11)),
        ("What did John do the week before August 3, 2023?", day(2023, 7, 27), day(2023, 8, 4)),
        (
            "Whom did he meet the Sunday before October 25, 2022?",
            day(2022, 10, 23),
            day(2022, 10, 26),
        ),
        ("Which CI did we have before 2024?", None, day(2024)),
        ("What did we use until March 2024?", None, day(2024, 4)),
        ("What is John doing as a volunteer in August 2023?", day(2023, 8), day(2023, 9)),
        ("What is John currently doing in August 2023?", day(2023, 8), day(2023, 9)),
    ],
)
def test_a_past_date_gives_its_span_and_asks_for_then(
    text: str, start: datetime | None, end: datetime
) -> None:
    reading = read(text, NOW)

    assert reading.span == Span(start, end)
    assert reading.asks is Asks.THEN


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("salary band since January 2025", day(2025), NOW),
        ("What has changed since last week?", day(2025, 6, 9), NOW),
        ("What did we decide after May 2024?", day(2024, 6), NOW),
        ("What did I store this week?", day(2025, 6, 16), day(2025, 6, 23)),
        ("What did I store today?", day(2025, 6, 18), day(2025, 6, 19)),
        ("What is new in the last 3 days?", NOW - timedelta(days=3), NOW),
        ("Did we get the money for 2024?", day(2024), day(2025)),
        ("Which invoices from May 2024 are open?", day(2024, 5), day(2024, 6)),
    ],
)
def test_a_span_that_reaches_the_present_does_not_ask_for_the_past(
    text: str, start: datetime, end: datetime
) -> None:
    reading = read(text, NOW)

    assert reading.span == Span(start, end)
    assert reading.asks is Asks.NONE


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Can we rely on the dumps of May 2025?", Asks.NONE),
        ("Does the fair at the lake take place in May 2025?", Asks.NONE),
        ("Did the fair at the lake take place in May 2025?", Asks.THEN),
        ("Who runs the fair in May 2025?", Asks.THEN),
    ],
)
def test_whether_something_with_a_date_is_so_asks_for_what_is_known_now(
    text: str, asks: Asks
) -> None:
    reading = read(text, NOW)

    assert reading.span == Span(day(2025, 5), day(2025, 6))
    assert reading.asks is asks


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("What ran our builds in May 2024?", "What ran our builds ?"),
        ("Who was on call last week for payments?", "Who was on call for payments?"),
        ("Who led it between 3 and 9 May 2024?", "Who led it ?"),
        ("Who led it between May and July 2024?", "Who led it ?"),
        ("Who is on call?", "Who is on call?"),
        ("in May 2024", "in May 2024"),
    ],
)
def test_a_question_can_be_put_without_the_time_that_it_names(text: str, rest: str) -> None:
    assert without_time(text, read(text, NOW)) == rest


@pytest.mark.parametrize(
    "text", ["What is due on 3 January 2026?", "invoice for July 2025", "What was due in 2030?"]
)
def test_a_time_to_come_is_not_read(text: str) -> None:
    assert read(text, NOW).span is None


@pytest.mark.parametrize(
    "text",
    [
        "What broke between May 2024 and the move?",
        "What broke between the launch and May 2024?",
        "What did we fix between October 3 and 9 in production?",
        "What did we use from May 2024 until we moved?",
        "What did we use from the launch to May 2024?",
        "Where do we host between May and July?",
    ],
)
def test_half_of_a_range_is_not_read(text: str) -> None:
    assert read(text, NOW).span is None


def test_a_question_when_keeps_the_span_that_it_names() -> None:
    reading = read("When did we switch to Kafka in May 2024?", NOW)

    assert reading.asks is Asks.WHEN
    assert reading.span == Span(day(2024, 5), day(2024, 6))
    assert reading.words == ("When did", "in May 2024")


def test_the_date_of_the_calendar_counts_more_than_one_counted_from_now() -> None:
    reading = read("What was his issue last week, as mentioned on November 6, 2023?", NOW)

    assert reading.span == Span(day(2023, 11, 6), day(2023, 11, 7))


def test_a_date_that_does_not_exist_is_not_read() -> None:
    assert read("What did we do on 31 June 2024?", NOW) == NOTHING


def test_the_dates_of_a_long_text_are_not_read() -> None:
    assert read("What was it in 2024? " + "a log line " * 100, NOW) == NOTHING


def test_the_library_of_dates_is_loaded_only_for_a_question_that_may_hold_one() -> None:
    code = """
import sys
from datetime import UTC, datetime
from bearinmind.recall.question_time import read
now = datetime.now(UTC)
read("Which CI did we use before?", now)
assert "dateutil" not in sys.modules
read("Which CI did we use in 2024?", now)
assert "dateutil" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    reading = read(text, NOW)

    assert reading.span is None or reading.span.start is None or reading.span.start <= NOW


WORDS_OF_TIME = """in on the last first second week of before since may May march 2024 31 12th Q3
ago two few 999 days year years - and 2025-02-30 30 February summer early when did used to"""


@given(st.lists(st.sampled_from(WORDS_OF_TIME.split()), max_size=12))
def test_any_words_of_time_can_be_read(words: list[str]) -> None:
    reading = read(" ".join(words), NOW)

    assert reading.span is None or reading.span.start is None or reading.span.start <= NOW

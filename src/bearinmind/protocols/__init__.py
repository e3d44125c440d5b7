"""What the rooms need of a store, a leg and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bearinmind.changes import Gone as Gone
from bearinmind.changes import History as History
from bearinmind.changes import Received as Received
from bearinmind.changes import Sealed as Sealed
from bearinmind.changes import Settled as Settled
from bearinmind.changes import SubjectState as SubjectState
from bearinmind.protocols.graph import Connections as Connections
from bearinmind.protocols.graph import Extractor as Extractor
from bearinmind.protocols.graph import Graph as Graph
from bearinmind.protocols.graph import GraphCounts as GraphCounts
from bearinmind.protocols.graph import GraphSearch as GraphSearch
from bearinmind.protocols.graph import ReadSoFar as ReadSoFar
from bearinmind.protocols.memories import AgentSession as AgentSession
from bearinmind.protocols.memories import Links as Links
from bearinmind.protocols.memories import Memories as Memories
from bearinmind.protocols.memories import Page as Page
from bearinmind.protocols.memories import Statistics as Statistics
from bearinmind.protocols.memories import Syncing as Syncing
from bearinmind.protocols.memories import every_memory as every_memory
from bearinmind.protocols.search import Current as Current
from bearinmind.protocols.search import DenseAnswer as DenseAnswer
from bearinmind.protocols.search import Embedder as Embedder
from bearinmind.protocols.search import Following as Following
from bearinmind.protocols.search import Fusion as Fusion
from bearinmind.protocols.search import KnownSpace as KnownSpace
from bearinmind.protocols.search import Leg as Leg
from bearinmind.protocols.search import LexicalMatch as LexicalMatch
from bearinmind.protocols.search import LexicalSearch as LexicalSearch
from bearinmind.protocols.search import LexicalStatistics as LexicalStatistics
from bearinmind.protocols.search import Meanings as Meanings
from bearinmind.protocols.search import Nearby as Nearby
from bearinmind.protocols.search import NearestSearch as NearestSearch
from bearinmind.protocols.search import Passage as Passage
from bearinmind.protocols.search import Readable as Readable
from bearinmind.protocols.search import ReadPairs as ReadPairs
from bearinmind.protocols.search import Reads as Reads
from bearinmind.protocols.search import Reranker as Reranker
from bearinmind.protocols.search import Spaces as Spaces
from bearinmind.protocols.search import SpaceState as SpaceState
from bearinmind.protocols.search import Unavailable as Unavailable
from bearinmind.protocols.store import Accounts as Accounts
from bearinmind.protocols.store import AuditEntry as AuditEntry
from bearinmind.protocols.store import BrowserSession as BrowserSession
from bearinmind.protocols.store import BrowserSessions as BrowserSessions
from bearinmind.protocols.store import DeadJob as DeadJob
from bearinmind.protocols.store import Finding as Finding
from bearinmind.protocols.store import OwnerSize as OwnerSize
from bearinmind.protocols.store import OwnerUse as OwnerUse
from bearinmind.protocols.store import Secrets as Secrets
from bearinmind.protocols.store import ServerCounts as ServerCounts
from bearinmind.protocols.store import Shares as Shares
from bearinmind.protocols.store import Sighting as Sighting
from bearinmind.protocols.store import Step as Step
from bearinmind.protocols.store import Store as Store
from bearinmind.protocols.store import StoreFacts as StoreFacts
from bearinmind.protocols.store import TrafficCount as TrafficCount
from bearinmind.protocols.store import TrafficKind as TrafficKind
from bearinmind.protocols.store import TrafficPoint as TrafficPoint
from bearinmind.protocols.store import User as User
from bearinmind.protocols.store import UserTraffic as UserTraffic
from bearinmind.protocols.store import Vault as Vault
from bearinmind.protocols.work import Inbox as Inbox
from bearinmind.protocols.work import Job as Job
from bearinmind.protocols.work import Work as Work
from bearinmind.protocols.work import WorkCount as WorkCount
from bearinmind.protocols.work import WorkState as WorkState

if TYPE_CHECKING:  # numpy, which most commands need nothing of
    from bearinmind.protocols.search import Vector as Vector
    from bearinmind.protocols.search import Vectors as Vectors

"""The shapes of vectors. For annotations: numpy takes a tenth of a second to import."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]  #: of length 1
Vectors = NDArray[np.float32]  #: a row for each text, each of length 1

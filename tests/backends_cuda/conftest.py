"""Makes cuda_build importable by the tests beside it, under plain pytest and under Bazel."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

"""The recall index in plain Python: the executable form of spec/recall.md.

Written to be read; the compiled index answers the same ids in the same order.  Words are stemmed by the package
``snowballstemmer``, the one thing here beyond the standard library.
"""

from .config import DEFAULT, Config
from .index import Index, Row

__all__ = ["DEFAULT", "Config", "Index", "Row"]

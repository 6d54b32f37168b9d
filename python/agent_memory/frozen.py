"""Read-only values, so that a record handed out cannot be changed under the store that holds it.

A frozen dict *is* a dict and a frozen list *is* a list: equal to a plain one, walked at full speed by the kernel and by
``json``, and picklable.  Only the methods that would change them are gone.  Used by :mod:`agent_memory.records`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Never, TypeVar

from .errors import RecordValueError

__all__ = ["EMPTY_DICT", "MAX_DEPTH", "FrozenDict", "FrozenList", "FrozenValue", "freeze", "thaw", "twin"]

MAX_DEPTH: Final = 250
"""Most containers an unknown member may nest: what holds it, up to a file, stays within the 256 of canonical JSON."""


def _refuse(*_: object, **__: object) -> Never:
    raise TypeError("this belongs to a record and is read-only; change a copy and give it to evolve()")


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed after construction."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: object) -> FrozenDict:
        return self


class FrozenList(list[Any]):
    """A list that cannot be changed after construction."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: object) -> FrozenList:
        return self


EMPTY_DICT: Final = FrozenDict()


def freeze(value: Any, depth: int = 0) -> Any:
    """A deep read-only copy of a JSON value; tuples become lists, as they would on the wire.

    Raises:
        RecordValueError: a member nested deeper than :data:`MAX_DEPTH`, or containing itself.
    """
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if depth > MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        raise RecordValueError(f"a value is nested deeper than {MAX_DEPTH} containers, or contains itself; flatten it")
    if not value and isinstance(value, dict):
        return EMPTY_DICT
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item, depth + 1) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList(freeze(item, depth + 1) for item in value)
    return value


def thaw(value: Any) -> Any:
    """A deep plain copy of a JSON value: dicts and lists a caller may change."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


class FrozenValue:
    """Base of the values of the standard: attributes set once, equal by value, shown by field.

    A subclass names its fields in ``_fields``, has them in ``__slots__``, and sets them in ``__init__`` through
    ``object.__setattr__``.  (A frozen dataclass would do the same at three times the cost per construction.)
    """

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"{type(self).__name__} is read-only; make a changed copy instead of setting {name!r}")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"{type(self).__name__} is read-only; {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self._fields)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), {name: getattr(self, name) for name in self._fields})

    def __copy__(self) -> FrozenValue:
        return self

    def __deepcopy__(self, memo: object) -> FrozenValue:
        return self


_Value = TypeVar("_Value", bound=FrozenValue)


def twin(value: _Value) -> _Value:
    """A value with the same fields, for whom nothing keeps from setting them: what becomes of it, ``value`` stays."""
    other = object.__new__(type(value))
    for name in _slots(type(value)):
        held = getattr(value, name, None)
        object.__setattr__(other, name, twin(held) if isinstance(held, FrozenValue) else held)
    return other


def _slots(kind: type[FrozenValue]) -> tuple[str, ...]:
    return tuple(name for base in kind.__mro__ for name in getattr(base, "__slots__", ()))


def _rebuild(kind: type[FrozenValue], fields: dict[str, Any]) -> FrozenValue:
    return kind(**fields)

"""What each tool takes: types and sizes, checked and never coerced.  What a value means is for the memory to judge.

Bounds here are the server's own: one call can neither flood the memory nor the model's window.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Annotated, Any, Final

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from pydantic import ConfigDict, Field, ValidationError, WithJsonSchema

__all__ = [
    "Arguments",
    "CreditArguments",
    "HistoryArguments",
    "NarrowedArguments",
    "RecallArguments",
    "RedactArguments",
    "RememberArguments",
    "ResolveArguments",
    "StatusArguments",
    "explain",
    "lean",
]

MAX_TEXT: Final = 100_000
"""Characters of one memory."""
MAX_NAME: Final = 1_000
"""Characters of every other text."""
MAX_QUERY: Final = 10_000
"""Characters of a question."""
MAX_BUDGET: Final = 100_000
"""Tokens of one recall."""
MAX_TAGS: Final = 100
"""Tags of one memory."""
MAX_IDS: Final = 1_000
"""Ids in one list."""
_SHOWN: Final = 40
"""Characters of an unknown name that are repeated."""

_Name = Annotated[str, Field(max_length=MAX_NAME)]
_Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
_RecordId = Annotated[_Name, Field(description='Id of the record: "mem:" and 32 hex digits, as results give it.')]
_Reason = Annotated[_Name, Field(description="Why, in a few words. It is kept, so it must not repeat private content.")]


class Arguments(ArgModelBase):
    """Arguments of a tool: unknown ones are refused, and a value of another type is not made to fit."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)

    @classmethod
    def announced(cls) -> dict[str, Any]:
        """What the tool takes, as a JSON Schema; what is most often given comes first."""
        schema = lean(cls.model_json_schema())
        del schema["description"]  # the tool has one
        properties = schema["properties"]
        last = [name for name in NarrowedArguments.model_fields if name in properties]
        schema["properties"] = {name: properties[name] for name in sorted(properties, key=last.__contains__)}
        return schema

    def given(self) -> dict[str, Any]:
        """The arguments that were given a value, by name."""
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


class NarrowedArguments(Arguments):
    """Arguments of a tool that can be narrowed to a part of the scope the server was started with."""

    user_id: _Name | None = Field(
        None, description="The user whose memory this is. Leave it out to use what the server was started with."
    )
    agent_id: _Name | None = Field(None, description="The agent whose memory this is; as user_id.")
    session_id: _Name | None = Field(None, description="The conversation this belongs to; as user_id.")


class RememberArguments(NarrowedArguments):
    """What ``remember`` takes."""

    text: Annotated[str, Field(max_length=MAX_TEXT)] = Field(
        description="What to remember: one complete statement that can be understood on its own."
    )
    tags: Annotated[list[_Name], Field(max_length=MAX_TAGS)] | None = Field(
        None, description="Words that group memories, such as a topic or a system."
    )
    value: _Number | None = Field(
        None, description="Importance, 1 to 1000000; 1 when left out. What matters more ranks higher in recall."
    )
    mtype: _Name | None = Field(
        None,
        description="semantic (a lasting fact), episodic (something that happened) or procedural (how to do "
        "something, a preference). Left out, the memory is a fact, and how fast it fades is judged by its text.",
    )
    key: _Name | None = Field(
        None,
        description="Name of a fact that has one current value, as subject::relation, such as "
        "billing-api::auth-method. A new value under the same key replaces the old one at once.",
    )
    object: _Name | None = Field(
        None,
        description="The value asserted under key, alone, such as frankfurt. With it a value that was replaced is "
        "recognised even when it is said in other words. Give it whenever you give a key.",
    )
    reaffirm: bool | None = Field(
        None,
        description="True to bring back, on purpose, a value that was replaced earlier. Only when somebody really "
        "changed their mind back.",
    )
    source: _Name | None = Field(
        None,
        description="Who or what this came from, such as crm/alice or docs.example.com/pricing. Without it the memory "
        "cannot be found again by the person or system it came from, for instance to erase it.",
    )
    derived_from: Annotated[list[_Name], Field(max_length=MAX_IDS)] | None = Field(
        None,
        description="Ids of the records this was concluded or summarised from. When one of them is erased, so is this.",
    )
    occurred_at: _Name | None = Field(
        None, description="When it happened or held, with a timezone: 2026-01-31T09:30:00Z. Now when left out."
    )
    author: _Name | None = Field(None, description="Who said it: a name, user, or assistant.")


class RecallArguments(NarrowedArguments):
    """What ``recall`` takes."""

    query: Annotated[str, Field(max_length=MAX_QUERY)] = Field(
        description="What you want to know. Words that the memory would contain find most."
    )
    budget_tokens: Annotated[int, Field(ge=0, le=MAX_BUDGET)] = Field(
        2_000, description="Most tokens the memories may take together, about four characters each."
    )
    include_history: bool = Field(False, description="Also what was replaced, behind what replaced it.")
    include_archived: bool = Field(False, description="Also what was retired, faded or blocked.")


class HistoryArguments(Arguments):
    """What ``history`` takes: a key or a record."""

    key: _Name | None = Field(None, description="A key: everything that was ever said under it, oldest first.")
    record_id: _Name | None = Field(None, description="Id of a record: everything that became of it.")
    user_id: _Name | None = Field(None, description="With key: only what is this user's or everybody's.")
    agent_id: _Name | None = Field(None, description="With key: only what is this agent's or everybody's.")


class ResolveArguments(Arguments):
    """What ``resolve`` takes."""

    winner_id: _RecordId = Field(description="The side of the dispute that holds.")
    loser_id: _RecordId = Field(description="The other side. It is kept as history.")
    reason: _Reason


class CreditArguments(Arguments):
    """What ``credit`` takes."""

    record_id: _RecordId
    good: bool = Field(True, description="True when relying on it turned out well, false when it misled.")
    weight: int = Field(1, description="How many outcomes this counts as; 1 or more.")
    reason: _Name | None = Field(None, description="What happened, in a few words. It is kept.")


class RedactArguments(Arguments):
    """What ``redact`` takes."""

    record_id: _RecordId
    reason: _Reason
    cascade: bool = Field(True, description="Also everything that was drawn from it, however indirectly.")


class StatusArguments(Arguments):
    """What ``status`` takes: nothing."""


_WANTED: Final = {
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "missing": "is missing",
}
"""What is said of the kinds of misfit that need no figures."""


def lean(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema without what only repeats its names: a model reads all of it before its first call."""
    return {
        name: {of: lean(part) for of, part in value.items()}
        if name in {"properties", "$defs"}
        else lean(value)
        if isinstance(value, dict)
        else [lean(part) if isinstance(part, dict) else part for part in value]
        if isinstance(value, list)
        else value
        for name, value in schema.items()
        if name != "title" and (name, value) != ("default", None)
    }


def explain(tool: str, error: ValidationError, allowed: Iterable[str]) -> str:
    """Say what does not fit in the arguments of ``tool``, and what would.  No value is repeated."""
    names = tuple(allowed)
    said: dict[str, str] = {}
    for detail in error.errors(include_input=False, include_url=False):
        place, misfit = _misfit(detail, names)
        said[place] = misfit  # of the members of a union the last, which is the widest
    takes = f"{tool} takes {', '.join(names)}" if names else f"{tool} takes no arguments"
    return f"{'; '.join([f'{place} {misfit}' for place, misfit in said.items()][:5])}. Nothing was done. {takes}."


def _misfit(detail: Any, names: tuple[str, ...]) -> tuple[str, str]:
    """Where an argument does not fit, and how."""
    name = str(detail["loc"][0]) if detail["loc"] else "arguments"
    kind, limits = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        close = difflib.get_close_matches(name[:_SHOWN], names, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return repr(name[:_SHOWN]), f"is no argument of it{hint}"
    place = next((f"{name}[{part}]" for part in detail["loc"][1:] if isinstance(part, int)), name)
    if kind == "string_too_long":
        more = "; split it into several memories" if name == "text" else ""
        return place, f"is too long: at most {limits['max_length']:,} characters{more}"
    if kind == "too_long":
        return place, f"has too many entries: at most {limits['max_length']:,}"
    if kind == "greater_than_equal":
        return place, f"must be {limits['ge']:,} or more"
    if kind == "less_than_equal":
        return place, f"must be {limits['le']:,} or less"
    return place, _WANTED.get(kind, "is not what it may be")

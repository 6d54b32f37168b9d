"""The readers: what becomes a memory, what is left out, and how a bad line is named."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.errors import ArgumentError
from agent_memory.reading import FORMATS, MAX_BYTES, BadLine, Entry, format_of, read, split_lines


def texts(data: str | bytes, format_name: str) -> list[object]:
    """The texts read from ``data``; a bad line as its number."""
    raw = data.encode() if isinstance(data, str) else data
    return [item.item["text"] if isinstance(item, Entry) else item.line for item in read([raw], format_name)]


def reasons(data: str | bytes, format_name: str) -> list[tuple[int, str]]:
    raw = data.encode() if isinstance(data, str) else data
    return [(item.line, item.reason) for item in read([raw], format_name) if isinstance(item, BadLine)]


# ------------------------------------------------------------------ lines


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_lines_end_in_either_way_and_may_begin_with_a_byte_order_mark(ending: str, mark: bytes) -> None:
    data = mark + ending.join(["one", "", "zwei ü"]).encode()
    assert [line.text for line in split_lines([data])] == ["one", "", "zwei ü"]


@given(st.binary(max_size=200), st.integers(1, 7))
def test_lines_do_not_depend_on_where_the_blocks_are_cut(data: bytes, size: int) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    assert list(split_lines(blocks)) == list(split_lines([data]))


def test_utf16_is_refused_with_advice() -> None:
    with pytest.raises(ArgumentError, match="UTF-16"):
        list(split_lines(["hello".encode("utf-16")]))


def test_an_endless_line_is_not_held_in_memory() -> None:
    def blocks() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 65536
        yield b"\nnext\n"

    lines = list(split_lines(blocks()))
    assert lines[0].problem is not None
    assert "longer than" in lines[0].problem
    assert lines[0].text == ""
    assert lines[1].text == "next"


def test_the_longest_line_allowed_is_read() -> None:
    exactly = b"x" * MAX_BYTES
    assert [line.problem is None for line in split_lines([exactly + b"\r\n" + exactly + b"y\n"])] == [True, False]
    assert [line.problem is None for line in split_lines([exactly + b"y"])] == [False]


def test_formats_are_known_by_suffix() -> None:
    assert [format_of(name) for name in ("a.txt", "A.MD", "b.markdown", "c.jsonl", "d.ndjson", "e.csv", "-")] == [
        "text",
        "markdown",
        "markdown",
        "jsonl",
        "jsonl",
        None,
        None,
    ]


# ------------------------------------------------------------------ plain text


def test_every_paragraph_is_a_memory() -> None:
    assert texts("One.\nStill one.\n\n \t\nTwo.\n", "text") == ["One.\nStill one.", "Two."]


def test_a_paragraph_with_an_unreadable_line_is_left_out_and_the_rest_taken() -> None:
    data = b"good\n\nfirst half\n\xff\xfe broken\n\nalso good"
    assert texts(data, "text") == ["good", 4, "also good"]
    assert reasons(data, "text") == [
        (4, "is not UTF-8 text (byte 1 of the line); the paragraph it belongs to was left out")
    ]


def test_a_paragraph_that_is_too_long_is_named_by_its_first_line() -> None:
    data = b"ok\n\n" + b"x" * 1000 + b"\n" + (b"y" * 999 + b"\n") * 1000 + b"\nalso ok"
    assert texts(data, "text") == ["ok", 3, "also ok"]


def test_a_nul_is_no_text() -> None:
    assert "NUL" in reasons(b"a\0b", "text")[0][1]


# ------------------------------------------------------------------ Markdown


def test_bullets_nested_ones_too_and_paragraphs_are_memories_of_their_own() -> None:
    assert texts("# Title\nA para\nof two lines.\n\n- one\n  goes on\n  - nested\n* two\n3. three\n", "markdown") == [
        "A para\nof two lines.",
        "one\ngoes on",
        "nested",
        "two",
        "three",
    ]


def test_headings_rules_comments_and_front_matter_are_no_memories() -> None:
    data = "---\ntitle: x\n---\n## Heading ##\n\nTitle\n=====\n\nSub\n---\n\n***\n<!-- a\nb -->\n<!-- c -->\nkept\n"
    assert texts(data, "markdown") == ["kept"]


def test_a_note_above_a_rule_is_no_heading() -> None:
    assert texts("Restart needs a drain.\n---\nBackups go to Dublin.\n---\nA Heading\n---\n", "markdown") == [
        "Restart needs a drain.",
        "Backups go to Dublin.",
    ]


def test_an_opening_rule_without_an_end_is_no_front_matter() -> None:
    assert texts("---\nkept\n", "markdown") == ["kept"]


def test_a_code_block_stays_with_what_it_follows() -> None:
    data = "Restart it:\n\n```sh\nsystemctl restart x\n\n# not a heading\n- not a bullet\n```\n\nNext.\n"
    assert texts(data, "markdown") == [
        "Restart it:\n\n```sh\nsystemctl restart x\n\n# not a heading\n- not a bullet\n```",
        "Next.",
    ]


def test_a_code_block_in_a_bullet_loses_the_bullets_indentation_only() -> None:
    data = "- Run:\n\n  ```\n  a\n    b\n  ```\n- next\n"
    assert texts(data, "markdown") == ["Run:\n\n```\na\n  b\n```", "next"]


@pytest.mark.parametrize("indent", ["", " "])
def test_a_block_of_code_that_is_not_indented_ends_the_list(indent: str) -> None:
    data = f"- one\n  - nested\n\n{indent}```\ncode\n\n- no bullet\n```\nafter\n"
    assert texts(data, "markdown") == ["one", "nested", "```\ncode\n\n- no bullet\n```\nafter"]
    assert texts("- one\n```\ncode\n```\n", "markdown") == ["one\n```\ncode\n```"]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert texts("````\n```\ninner\n```\n````\nafter\n", "markdown") == ["````\n```\ninner\n```\n````\nafter"]


def test_a_table_is_one_memory() -> None:
    table = "| host | role |\n|------|------|\n| a | primary |\n| b | standby |"
    assert texts(f"Before.\n\n{table}\n\nAfter.\n", "markdown") == ["Before.", table, "After."]


def test_a_later_paragraph_of_a_bullet_belongs_to_it() -> None:
    assert texts("- one\n\n  more of one\n\nnot of one\n", "markdown") == ["one\n\nmore of one", "not of one"]


def test_quotes_lose_their_mark() -> None:
    assert texts("> said\n> so\n>\n> again\n", "markdown") == ["said\nso", "again"]


def test_a_sentence_that_ends_in_a_number_begins_no_list() -> None:
    assert texts("The answer is\n42. Nothing else.\n", "markdown") == ["The answer is\n42. Nothing else."]


def test_the_state_of_a_task_is_kept() -> None:
    assert texts("- [x] rotate keys\n- [ ] renew\n", "markdown") == ["[x] rotate keys", "[ ] renew"]


def test_a_comment_that_never_closes_is_reported() -> None:
    assert texts("kept\n\n<!-- oops\nlost\n", "markdown") == ["kept", 3]


def test_a_bad_line_in_markdown_costs_its_bullet_only() -> None:
    assert texts(b"- one\n- tw\xffo\n- three\n", "markdown") == ["one", 2, "three"]


# ------------------------------------------------------------------ JSON Lines


def test_every_field_becomes_the_argument_of_that_name() -> None:
    line = {
        "body": "x",
        "tags": ["a", "b"],
        "source": "s",
        "type": "episode",
        "value": 2.5,
        "occurred_at": "2026-01-01T00:00:00Z",
        "author": "ana",
        "user_id": "u",
        "agent_id": "g",
        "session_id": "n",
        "colour": 1,
        "size": {"deep": [1.5]},
    }
    (entry,) = read([json.dumps(line).encode()], "jsonl")
    assert isinstance(entry, Entry)
    assert entry.unused == ("colour", "size")
    assert entry.item == {
        "text": "x",
        "tags": ["a", "b"],
        "source": "s",
        "mtype": "episode",
        "value": 2.5,
        "occurred_at": "2026-01-01T00:00:00Z",
        "author": "ana",
        "user_id": "u",
        "agent_id": "g",
        "session_id": "n",
    }


def test_null_counts_as_absent() -> None:
    (entry,) = read([b'{"text": "x", "body": null, "tags": null, "value": null}'], "jsonl")
    assert isinstance(entry, Entry)
    assert entry.item == {"text": "x"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "is not JSON"),
        ("nonsense", "is not JSON"),
        ('{"text": "a"} {"text": "b"}', "is not JSON"),
        ('["text"]', "must be an object"),
        ('"text"', "must be an object"),
        ("null", "must be an object"),
        ("{}", "has no text"),
        ('{"text": null}', "has no text"),
        ('{"text": "  "}', "text is empty"),
        ('{"body": ""}', "body is empty"),
        ('{"text": 5}', "text must be text, not a number"),
        ('{"text": "a", "body": "b"}', "has both text and body"),
        ('{"text": "a", "type": "fact", "mtype": "fact"}', "has both type and mtype"),
        ('{"text": "a", "text": "b"}', "same key twice"),
        ('{"text": "a", "x": {"k": 1, "k": 2}}', "same key twice"),
        ('{"text": "a", "tags": "x"}', "tags must be a list of texts, not text"),
        ('{"text": "a", "tags": ["x", 1]}', "tags[1] must be text, not a number"),
        ('{"text": "a", "tags": [""]}', "tags[0] is empty"),
        ('{"text": "a", "tags": {"x": 1}}', "tags must be a list of texts, not an object"),
        ('{"text": "a", "source": ["x"]}', "source must be text, not a list"),
        ('{"text": "a", "value": "3"}', "value must be a number, not text"),
        ('{"text": "a", "value": true}', "value must be a number, not true or false"),
        ('{"text": "a", "value": NaN}', "holds NaN"),
        ('{"text": "a", "occurred_at": 5}', "occurred_at must be text"),
        ('{"text": "a", "n": ' + "9" * 5000 + "}", "too many digits"),
        ('{"text": "a", "n": ' + "[" * 100_000, "nested too deeply"),
        ('{"text": "a\tb"}', "is not JSON"),
    ],
)
def test_a_bad_json_line_is_named_with_its_reason_and_the_rest_taken(line: str, reason: str) -> None:
    data = '{"text": "before"}\n\n' + line + '\n{"text": "after"}\n'
    assert texts(data, "jsonl") == ["before", 3, "after"]
    assert reason in reasons(data, "jsonl")[0][1]


# ------------------------------------------------------------------ anything


@given(st.binary(max_size=400), st.sampled_from(sorted(FORMATS)))
def test_any_bytes_are_read_without_a_failure_and_every_text_says_something(data: bytes, format_name: str) -> None:
    try:
        items = list(read([data], format_name))
    except ArgumentError:
        assert data.startswith((b"\xff\xfe", b"\xfe\xff"))
        return
    lines = data.count(b"\n") + 1
    for item in items:
        assert 1 <= item.line <= lines
        if isinstance(item, Entry):
            assert str(item.item["text"]).strip()


@given(
    st.lists(
        st.sampled_from(
            ["- a", "  - b", "text", "", "```", "~~~", "# h", "---", "===", "> q", "| t |", "1. n", "<!--", "-->"]
        ),
        max_size=14,
    )
)
def test_no_words_of_a_bullet_are_lost_whatever_surrounds_it(lines: list[str]) -> None:
    """Unless a comment swallows it, a bullet's text stands in exactly one entry."""
    if any("--" in line and "-" in line and ("<" in line or ">" in line) for line in lines):
        return
    data = "\n".join([*lines, "", "~~~" if _in_code(lines) == "~~~" else "```" if _in_code(lines) else "", "- needle"])
    assert sum("needle" in str(text) for text in texts(data, "markdown")) == 1


def _in_code(lines: list[str]) -> str:
    """The fence that is open after ``lines``, front matter aside."""
    fence = ""
    for line in lines:
        if fence:
            fence = "" if line == fence else fence
        elif line in ("```", "~~~"):
            fence = line
    return fence

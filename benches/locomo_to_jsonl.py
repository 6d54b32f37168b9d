"""Turn one LoCoMo conversation into JSON Lines that ``agent-memory ingest`` takes.

    python benches/locomo_to_jsonl.py locomo10.json --conversation 0 > conversation.jsonl
    python benches/locomo_to_jsonl.py locomo10.json --conversation 0 --questions

LoCoMo (Snap Research, CC BY-NC 4.0) is not part of this project; give the path of a copy of ``locomo10.json``.  Every
turn becomes a line: "Speaker: text", with the caption of its picture where there is one.  The times of the data set
name no zone and are taken as UTC.  ``--questions`` prints the questions instead, each with the sources that answer it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


def turns(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A line per turn, in order; turns of one session are a second apart."""
    number = 1
    while f"session_{number}_date_time" in conversation:
        began = session_time(conversation[f"session_{number}_date_time"])
        for place, turn in enumerate(conversation.get(f"session_{number}", ())):
            text = f"{turn['speaker']}: {turn['text']}"
            if caption := turn.get("blip_caption"):
                text += f" [picture: {caption}]"
            yield {
                "text": text,
                "author": turn["speaker"],
                "session_id": f"session_{number}",
                "occurred_at": (began + timedelta(seconds=place)).isoformat(),
                "source": turn["dia_id"],
            }
        number += 1


def session_time(text: str) -> datetime:
    """``"1:56 pm on 8 May, 2023"`` as a time in UTC."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def questions(sample: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The questions of a conversation: ``evidence`` names the sources of the turns that answer each."""
    for question in sample["qa"]:
        yield {
            "question": question["question"],
            "answer": question.get("answer", question.get("adversarial_answer")),
            "category": question["category"],
            "evidence": question.get("evidence", []),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="Print a LoCoMo conversation as JSON Lines.")
    parser.add_argument("file", type=Path, help="path of locomo10.json")
    parser.add_argument("--conversation", type=int, default=0, metavar="N", help="which one, from 0 (default: 0)")
    parser.add_argument("--questions", action="store_true", help="print its questions instead")
    arguments = parser.parse_args()
    try:
        samples = json.loads(arguments.file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"{arguments.file} cannot be read as JSON: {error}")
    if not 0 <= arguments.conversation < len(samples):
        parser.error(f"there are {len(samples)} conversations; give a number from 0 to {len(samples) - 1}")
    sample = samples[arguments.conversation]
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it without a word
    for line in questions(sample) if arguments.questions else turns(sample["conversation"]):
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

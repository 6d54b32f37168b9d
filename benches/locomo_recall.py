"""Whether recall finds the evidence of LoCoMo questions in a memory that holds their conversation.

    python benches/locomo_to_jsonl.py locomo10.json --conversation 0 > turns.jsonl
    python benches/locomo_to_jsonl.py locomo10.json --conversation 0 --questions > questions.jsonl
    agent-memory --path m ingest turns.jsonl
    python benches/locomo_recall.py m questions.jsonl [QUESTIONS]        (default: the first 10)

Prints each question with the rank of each turn that answers it, within 1,000 tokens; ``-`` when it was not recalled.
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path

from agent_memory import Memory

BUDGET = 1_000


def main() -> None:
    place, questions = sys.argv[1], Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    found = wanted = 0
    with Memory(place) as memory, questions.open(encoding="utf-8") as lines:
        for line in islice(lines, count):
            asked = json.loads(line)
            recalled = memory.recall(asked["question"], budget_tokens=BUDGET, touch=False)
            sources = [item.record.provenance.ref for item in recalled.records]
            ranks = [sources.index(turn) + 1 if turn in sources else None for turn in asked["evidence"]]
            found += sum(rank is not None for rank in ranks)
            wanted += len(ranks)
            print(f"{' '.join(str(rank or '-') for rank in ranks):>8}  of {len(sources):>3}  {asked['question']}")
    print(f"{found} of {wanted} turns found within {BUDGET:,} tokens")


if __name__ == "__main__":
    main()

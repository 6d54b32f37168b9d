"""Uses a memory until it is killed, and tells on standard output what it is about to do and what is done.

    python memory_writer.py PLACE SEED

Lines: ``said ID TOKEN`` after a remember returned, ``erasing ID`` before and ``erased ID`` after a redaction.
"""

from __future__ import annotations

import random
import sys

from agent_memory import Memory, RecordState


def main() -> None:
    place, seed = sys.argv[1], sys.argv[2]
    chance = random.Random(seed)
    with Memory(place, auto_consolidate_every=5) as memory:
        for number in range(1000):
            token = f"token{seed}x{number}x"
            ending = chance.choice(("is fine", "is not fine", "runs well"))
            record_id = memory.remember(f"The {token} service {ending}.", tags=["ops"]).record_id
            print("said", record_id, token, flush=True)
            if chance.random() < 0.25:
                standing = [record for record in memory.list() if not record.redacted]
                disputed = [record for record in standing if record.state is RecordState.TRANSITIONAL]
                if disputed and chance.random() < 0.5:
                    loser = chance.choice(disputed)
                    assert loser.transition is not None
                    memory.resolve(loser.id, loser.transition.other(loser.id), "checked")
                else:
                    victim = chance.choice(standing).id
                    print("erasing", victim, flush=True)
                    memory.redact(victim, "asked to")
                    print("erased", victim, flush=True)


if __name__ == "__main__":
    main()

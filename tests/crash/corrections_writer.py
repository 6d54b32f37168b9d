"""Corrects, echoes, reverts and retires one key until it is killed: ``python corrections_writer.py PATH SEED``.

A line is written when it starts; nothing it does may fail but for a lack of anything to revert or retire.
"""

from __future__ import annotations

import contextlib
import random
import sys

from agent_memory import Memory, RecordError

KEY = "billing-api::region"


def main(path: str, seed: int) -> None:
    draw = random.Random(seed)
    with Memory(path, auto_consolidate_every=5) as memory:
        print("at work", flush=True)
        while True:
            value = f"zone-{draw.randrange(5)}"
            what = draw.random()
            with contextlib.suppress(RecordError):
                if what < 0.7:
                    memory.remember(
                        f"The region is {value}.",
                        key=KEY,
                        object=value,
                        reaffirm=draw.random() < 0.5,
                        source=f"p/{seed}",
                    )
                elif what < 0.8:
                    memory.remember(f"The region is {value}.")
                elif what < 0.9:
                    memory.revert(KEY)
                else:
                    memory.retire(KEY, "gone")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

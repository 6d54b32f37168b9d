"""A fact is corrected, the old one is said again, and it does not come back; then the correction is taken back.

    python examples/corrections.py

The memory lives in a folder that is gone afterwards.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from agent_memory import Memory

KEY = "billing-api::region"


def main() -> None:
    """Tell the story, one step a paragraph."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory.db") as memory:
        print("1. A fact, and its correction.")
        memory.remember("The billing API runs in Frankfurt.", key=KEY, object="frankfurt", source="wiki/billing")
        memory.remember("The billing API runs in Dublin now.", key=KEY, object="dublin", source="ops/ann")
        show(memory)

        print("\n2. The old fact again, in other words, with the key and without it.")
        for said in (
            memory.remember("Billing is hosted in Frankfurt.", key=KEY, object="frankfurt", source="chat/7"),
            memory.remember("The billing API runs in Frankfurt.", source="chat/8"),
        ):
            assert said.blocked
            print(f"   blocked by {said.policy}. {said.note}")
        show(memory)

        print("\n3. Dublin was the mistake: back to the value before.")
        memory.revert(KEY)
        show(memory)

        print("\n4. The whole story of the key.")
        for record in memory.history(KEY).records:
            print(f"   {record.state.value:<10} {record.body:<38} {record.state_reason or 'stands'}")


def show(memory: Memory) -> None:
    """What a model is told."""
    print("   recalled:", memory.recall("where does billing run?", touch=False).as_prompt_block())


if __name__ == "__main__":
    main()

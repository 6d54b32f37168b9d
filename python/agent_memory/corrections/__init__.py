"""Corrections that stay corrected: values under keys, and what becomes of a write under one (spec/corrections.md).

    values      when two values, or two texts, are the same
    ledger      what was ever said under a key, in lines short enough to keep for every record
    decision    what a write does: land, correct, restate, reinforce, or be blocked
    wording     the reasons that are written down and the notes that say what to do next
    keeping     carries decisions out, through the door that writes
    story       everything that happened under a key or to a record

The first four are pure.  The catalogue keeps the lines; intake asks for the decisions.
"""

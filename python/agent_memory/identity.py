"""The keys a memory signs with: given as they are, or in a keyfile made on first use.

The keyfile is the one ``fg_agent_id`` reads: 64 raw bytes.  It is made exclusively (of two processes that start at once
one makes it and both use it), atomically (never half a key), and readable by its owner alone.  No key, and no part of
one, ever appears in an error.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ArgumentTypeError, StoreError
from .places import as_path
from .stores import durable

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

__all__ = ["open_identity"]


def open_identity(identity: KeyPair | str | os.PathLike[str] | None) -> KeyPair | None:
    """The keys of an ``identity=`` argument: a KeyPair as it is, a keyfile read or made, None for none.

    Raises:
        ArgumentError: neither of these, or an impossible path.
        StoreError: the keyfile cannot be read or made, or holds no key.
    """
    if identity is None:
        return None
    if isinstance(identity, str | os.PathLike):
        path = as_path(identity)
        keys = _read(path)
        return _make(path) if keys is None else keys
    from fg_agent_id import KeyPair

    if not isinstance(identity, KeyPair):
        raise ArgumentTypeError(f"identity must be a KeyPair or the path of a keyfile, not {type(identity).__name__}")
    return identity


def _read(path: Path) -> KeyPair | None:
    from fg_agent_id import KeyFileError, load_keys

    try:
        return load_keys(path)
    except FileNotFoundError:
        return None
    except KeyFileError:
        raise StoreError(
            f"keyfile {path} holds no usable key (64 raw bytes, unencrypted); restore it from a backup, "
            "or name another file to start a new identity"
        ) from None
    except OSError as error:
        raise StoreError(f"keyfile {path} cannot be read: {error.strerror}") from error


def _make(path: Path) -> KeyPair:
    from fg_agent_id import KeyPair

    keys = KeyPair.generate()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(keys.to_bytes())
                file.flush()
                os.fsync(file.fileno())
            os.link(temporary, path)  # fails when another process was quicker: its key is the one
            durable.sync_dir(path.parent)
        finally:
            temporary.unlink()
    except FileExistsError:
        made_by_another = _read(path)
        if made_by_another is None:
            raise StoreError(f"keyfile {path} disappeared while it was being made; try again") from None
        return made_by_another
    except OSError as error:
        raise StoreError(f"keyfile {path} cannot be made: {error.strerror}; choose a writable place") from error
    return keys

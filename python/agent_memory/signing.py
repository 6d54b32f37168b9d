"""Signing inputs and strict Ed25519 signatures over canonical JSON (SPEC section 6).

A signature covers ``uint16be(len(tag)) || tag || canonical_json(payload)`` where the tag names this format and what is
signed, so a memory's signature can never pass for anything else.  Keys and addresses are those of ``fg_agent_id``,
imported when first needed; the check itself is the kernel's, which refuses what lenient verifiers accept.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from . import kernel
from .errors import ArgumentError, ArgumentTypeError, RecordError, RecordTypeError, signature_mismatch

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

__all__ = [
    "CONTEXT_MEMORY_FILE",
    "CONTEXT_RECORD",
    "DOMAIN",
    "FORMAT_VERSION",
    "address_of",
    "domain_tag",
    "first_mismatch",
    "sign_payload",
    "signing_input",
    "verify_by_address",
    "verify_payload",
]

DOMAIN: Final = "fg-agent-memory/v1"
FORMAT_VERSION: Final = "fg-agent-memory/0.1"
CONTEXT_RECORD: Final = "record"
CONTEXT_MEMORY_FILE: Final = "memory-file"


def domain_tag(context: str) -> bytes:
    """The tag that separates signatures of this ``context`` from all others.

    Raises:
        ArgumentError: empty or not text (also a ValueError).
    """
    if not isinstance(context, str):
        raise ArgumentTypeError(f"a signing context must be text, such as 'record', not {type(context).__name__}")
    try:
        tag = f"{DOMAIN}/{context}".encode()
    except UnicodeEncodeError:
        raise ArgumentError("a signing context holds a lone surrogate, which is not text") from None
    if not context or len(tag) > 0xFFFF:
        raise ArgumentError("a signing context must be non-empty text of fewer than 65,000 bytes, such as 'record'")
    return tag


def signing_input(context: str, payload: Any) -> bytes:
    """The bytes a signature covers.

    Raises:
        ArgumentError: a bad context.  RecordError: a payload that has no canonical JSON, such as one with a float.
    """
    return _prefix(context) + kernel.canonical_json(payload)


def _prefix(context: str) -> bytes:
    tag = domain_tag(context)
    return len(tag).to_bytes(2, "big") + tag


def sign_payload(keys: KeyPair, context: str, payload: Any) -> str:
    """Sign ``payload`` with ``keys``; canonical base64 text."""
    return base64.b64encode(keys.sign(signing_input(context, payload))).decode("ascii")


def verify_payload(public: Any, context: str, payload: Any, signature: str) -> None:
    """Check a signature by a public signing key: 32 bytes, or a ``fg_agent_id.PublicKeys``.

    Raises:
        SignatureMismatch: it does not verify; also a RecordError and a ``fg_agent_id.SignatureError``.
    """
    key = getattr(public, "signing", public)
    if not isinstance(key, bytes):
        raise RecordTypeError(f"a public signing key must be 32 bytes, not {type(key).__name__}")
    message = signing_input(context, payload)
    if not kernel.verify_signatures([key], [message], [_signature_bytes(signature)])[0]:
        raise signature_mismatch()(f"the {context} signature does not match; the content or its signer was changed")


def verify_by_address(address: str, context: str, payload: Any, signature: str) -> None:
    """Check a signature by the signer's agent address.

    Raises:
        RecordError: the address is none.  SignatureMismatch: as :func:`verify_payload`.
    """
    verify_payload(_key_of(address), context, payload, signature)


def first_mismatch(context: str, signed: Sequence[tuple[str, Any, str]]) -> int | None:
    """Check many signatures at once, on all cores: the position of the first that fails, or None.

    ``signed`` holds (address, payload, signature) triples; each is checked by itself, exactly as by
    :func:`verify_by_address`.

    Raises:
        RecordError: an address that is none, or a payload without canonical JSON.
    """
    prefix = _prefix(context)
    publics = [_key_of(address) for address, _, _ in signed]
    messages = [prefix + text for text in kernel.canonical_json_many([payload for _, payload, _ in signed])]
    verdicts = kernel.verify_signatures(publics, messages, [_signature_bytes(text) for _, _, text in signed])
    return next((position for position, good in enumerate(verdicts) if not good), None)


def address_of(keys: KeyPair) -> str:
    """The agent address of ``keys``."""
    from fg_agent_id import address_from_signing_key

    return str(address_from_signing_key(keys.public.signing))


def _key_of(address: object) -> bytes:
    if not isinstance(address, str):
        raise RecordTypeError(f"a signer's address must be text, not {type(address).__name__}")
    return _key_of_text(address)


@lru_cache(maxsize=1024)
def _key_of_text(address: str) -> bytes:
    from fg_agent_id import AgentIdError, signing_key_from_address

    try:
        return bytes(signing_key_from_address(address))
    except (AgentIdError, ValueError, TypeError):
        raise RecordError("the signer is not an agent address of the form amp:key:…") from None


def _signature_bytes(text: object) -> bytes:
    """The 64 bytes, or empty (which never verifies) for anything but canonical base64 of 64 bytes."""
    if not isinstance(text, str):
        return b""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return raw if base64.b64encode(raw).decode("ascii") == text else b""

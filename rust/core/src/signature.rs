//! Strict Ed25519 verification, one signature at a time.
//!
//! A signature holds when its scalar is below the group order, its point and the key are encoded canonically and not of
//! small order, and the equation without cofactor holds. Any two implementations of these rules agree on every input,
//! which cannot be said of a batch equation.

use std::sync::Mutex;
use std::thread::available_parallelism;

use ed25519_dalek::{Signature, VerifyingKey};

/// How many claims a thread takes at a time: about half a millisecond's work, many times what starting it costs.
const SHARE: usize = 16;

/// A claim: this key signed this message thus.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The encoded public key; any length but 32 fails.
    pub public: &'a [u8],
    /// The signed bytes.
    pub message: &'a [u8],
    /// The signature; any length but 64 fails.
    pub signature: &'a [u8],
}

/// Whether the claim holds.
#[must_use]
pub fn verify(claim: &Claim<'_>) -> bool {
    decoded(claim.public).is_some_and(|key| signs(&key, claim))
}

/// The key, if its encoding is the one its point has; decoding alone also accepts y-coordinates of 2^255 - 19 and above.
fn decoded(public: &[u8]) -> Option<VerifyingKey> {
    let key = VerifyingKey::from_bytes(public.try_into().ok()?).ok()?;
    (VerifyingKey::from(key.to_edwards()).as_bytes() == key.as_bytes()).then_some(key)
}

fn signs(key: &VerifyingKey, claim: &Claim<'_>) -> bool {
    let Ok(signature) = claim.signature.try_into() else { return false };
    key.verify_strict(claim.message, &Signature::from_bytes(signature)).is_ok()
}

/// For each claim in turn whether it holds, on as many threads as there are processors.
#[must_use]
pub fn verify_many(claims: &[Claim<'_>]) -> Vec<bool> {
    let mut valid = vec![false; claims.len()];
    let shares = Mutex::new(valid.chunks_mut(SHARE).zip(claims.chunks(SHARE)));
    let work = || {
        // A memory is mostly signed by one agent: its key is decoded once a thread, not once a record.
        let mut latest: (&[u8], Option<VerifyingKey>) = (&[], None);
        while let Some((valid, claims)) = shares.lock().ok().and_then(|mut shares| shares.next()) {
            for (claim, valid) in claims.iter().zip(valid) {
                if claim.public != latest.0 {
                    latest = (claim.public, decoded(claim.public));
                }
                *valid = latest.1.is_some_and(|key| signs(&key, claim));
            }
        }
    };
    let threads = available_parallelism().map_or(1, usize::from).min(claims.len().div_ceil(SHARE));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where no further thread can be had, those there are do all the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    valid
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};

    fn signed(seed: u8, message: &[u8]) -> ([u8; 32], [u8; 64]) {
        let key = SigningKey::from_bytes(&[seed; 32]);
        (key.verifying_key().to_bytes(), key.sign(message).to_bytes())
    }

    #[test]
    fn a_signature_holds_for_its_message_alone() {
        let (public, signature) = signed(1, b"one");
        assert!(verify(&Claim { public: &public, message: b"one", signature: &signature }));
        assert!(!verify(&Claim { public: &public, message: b"two", signature: &signature }));
        assert!(!verify(&Claim { public: &public[..31], message: b"one", signature: &signature }));
        assert!(!verify(&Claim { public: &public, message: b"one", signature: &signature[..63] }));
        assert!(!verify(&Claim { public: &[], message: b"", signature: &[] }));
    }

    #[test]
    fn every_batch_gives_what_single_calls_give() {
        let signatures: Vec<_> = (0..100).map(|seed| signed(seed, b"message")).collect();
        for count in [0, 1, 15, 16, 31, 32, 33, 100] {
            let claims: Vec<_> = signatures[..count]
                .iter()
                .enumerate()
                .map(|(index, (public, signature))| {
                    let message: &[u8] = if index % 3 == 0 { b"other" } else { b"message" };
                    Claim { public, message, signature }
                })
                .collect();
            let expected: Vec<_> = (0..count).map(|index| index % 3 != 0).collect();
            assert_eq!(verify_many(&claims), expected);
        }
    }

    #[test]
    fn a_key_with_a_y_outside_the_field_is_not_canonical() {
        // y = p + 3 encodes the same point as y = 3.
        let mut bytes = [0xFF; 32];
        (bytes[0], bytes[31]) = (0xF0, 0x7F);
        let key = VerifyingKey::from_bytes(&bytes).unwrap();
        assert!(!key.is_weak() && decoded(&bytes).is_none());
        bytes = [0; 32];
        bytes[0] = 3;
        assert!(decoded(&bytes).is_some());
    }
}

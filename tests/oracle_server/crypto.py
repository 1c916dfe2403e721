"""Password verification of Oracle 12c and later (verifier type 0x4815): the password itself is never sent.

Both sides derive a key from the password, exchange random halves of a session key under it, and encrypt the
password under the combination of the halves.
"""

from __future__ import annotations

import hashlib
import os

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

VERIFIER_12C = 0x4815
ROUNDS = 64
"""Iterations that the client must make. Oracle asks for 4096, which take most of a login's time."""
SESSION_ROUNDS = 3
PROOF = b"SERVER_TO_CLIENT" + b"\x10" * 16
_BLOCK = 16


class Challenge:
    """One login: checks whether the client knows the account's password."""

    def __init__(self, password: str) -> None:
        self.password = password.encode()
        self.salt = os.urandom(16)
        self.session_salt = os.urandom(16)
        long_key = hashlib.pbkdf2_hmac("sha512", self.password, self.salt + b"AUTH_PBKDF2_SPEEDY_KEY", ROUNDS, 64)
        self.key = hashlib.sha512(long_key + self.salt).digest()[:32]
        self.server_half = os.urandom(32)

    def pairs(self) -> list[tuple[str, str, int]]:
        """Return what is sent to the client: key, value and flags."""
        return [
            ("AUTH_SESSKEY", _encrypt(self.key, self.server_half).hex().upper(), 0),
            ("AUTH_VFR_DATA", self.salt.hex().upper(), VERIFIER_12C),
            ("AUTH_PBKDF2_CSK_SALT", self.session_salt.hex().upper(), 0),
            ("AUTH_PBKDF2_VGEN_COUNT", str(ROUNDS), 0),
            ("AUTH_PBKDF2_SDER_COUNT", str(SESSION_ROUNDS), 0),
        ]

    def accept(self, session_key: str, password: str) -> str | None:
        """Return the server's own proof if the client's `password` (hex, encrypted) is right, else None."""
        try:
            client_half = _decrypt(self.key, bytes.fromhex(session_key))[:32]
            text = (client_half + self.server_half).hex().upper().encode()
            key = hashlib.pbkdf2_hmac("sha512", text, self.session_salt, SESSION_ROUNDS, 32)
            plain = _decrypt(key, bytes.fromhex(password))
        except ValueError:
            return None
        found = plain[_BLOCK : len(plain) - plain[-1]] if plain else b""
        if found != self.password:
            return None
        return _encrypt(key, os.urandom(_BLOCK) + PROOF).hex().upper()


def _encrypt(key: bytes, data: bytes) -> bytes:
    cipher = Cipher(AES(key), CBC(bytes(_BLOCK))).encryptor()
    return cipher.update(data) + cipher.finalize()


def _decrypt(key: bytes, data: bytes) -> bytes:
    cipher = Cipher(AES(key), CBC(bytes(_BLOCK))).decryptor()
    return cipher.update(data) + cipher.finalize()

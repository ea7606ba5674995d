"""JSON web tokens (RFC 7515, 7517, 7519) with RS256, whose key openssl makes and whose arithmetic is Python's own."""

import base64
import hashlib
import json
import re
import subprocess
import time
import uuid

# EMSA-PKCS1-v1_5 with SHA-256: RFC 8017, 9.2, note 1.
_DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")


def b64(data):
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    if not re.fullmatch("[A-Za-z0-9_-]*", text):
        raise ValueError("it is not base64url without padding")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class BadToken(Exception):
    """Why it is refused."""


class Key:
    """One RSA key; `pem` is what a service account's file has of it."""

    def __init__(self):
        self.id = uuid.uuid4().hex
        made = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                              check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.pem = made.stdout
        told = subprocess.run(["openssl", "pkey", "-noout", "-text"], input=self.pem, check=True,
                              capture_output=True, text=True).stdout
        self._modulus = self._number(told, "modulus")
        self._private = self._number(told, "privateExponent")
        self._public = 65537
        self._size = (self._modulus.bit_length() + 7) // 8

    @staticmethod
    def _number(told, name):
        hexed = re.search(rf"^{name}:\n((?: +[0-9a-f:]+\n)+)", told, re.MULTILINE)[1]
        return int(re.sub(r"[\s:]", "", hexed), 16)

    def _padded(self, data):
        info = _DIGEST_INFO + hashlib.sha256(data).digest()
        return int.from_bytes(b"\0\1" + b"\xff" * (self._size - len(info) - 3) + b"\0" + info, "big")

    def sign(self, data):
        return pow(self._padded(data), self._private, self._modulus).to_bytes(self._size, "big")

    def is_signed(self, data, signature):
        return (len(signature) == self._size and
                pow(int.from_bytes(signature, "big"), self._public, self._modulus) == self._padded(data))

    def jwk(self):
        numbers = {"n": self._modulus.to_bytes(self._size, "big"), "e": self._public.to_bytes(3, "big")}
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.id,
                **{name: b64(value) for name, value in numbers.items()}}

    def jwt(self, **claims):
        head = {"alg": "RS256", "typ": "JWT", "kid": self.id}
        signed = ".".join(b64(json.dumps(part).encode()) for part in (head, claims))
        return f"{signed}.{b64(self.sign(signed.encode()))}"


def claims_of(token, *keys, audience, clock=time.time, skew=0):
    """What a token claims that one of these keys has signed, that is for this audience, and in force."""
    words = token.split(".")
    if len(words) != 3:
        raise BadToken(f"a token has three parts, not {len(words)}")
    try:
        head, claims, signature = json.loads(unb64(words[0])), json.loads(unb64(words[1])), unb64(words[2])
    except ValueError:
        raise BadToken("a part of the token is not what it should be") from None
    if head.get("alg") != "RS256":
        raise BadToken(f"its algorithm is {head.get('alg')!r}")
    signed = f"{words[0]}.{words[1]}".encode()
    if not any(head.get("kid") in (None, key.id) and key.is_signed(signed, signature) for key in keys):
        raise BadToken("no key that is known here has signed it")
    audiences = claims.get("aud")
    if audience not in (audiences if isinstance(audiences, list) else [audiences]):
        raise BadToken(f"it is for {audiences!r}, not for {audience!r}")
    now = clock()
    if not isinstance(claims.get("exp"), (int, float)) or claims["exp"] + skew <= now:
        raise BadToken("it has expired")
    if claims.get("nbf", 0) > now + skew or claims.get("iat", 0) > now + skew + 60:
        raise BadToken("it is not in force yet")
    return claims

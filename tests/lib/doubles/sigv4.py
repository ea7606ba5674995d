"""AWS's Signature Version 4, the side that looks whether it is right, and enough of the other to make what is.

Written from docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html and
docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html. What is said to those who are refused is what
AWS says.
"""

import hashlib
import hmac
import re
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from urllib.parse import quote, unquote_to_bytes, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW_SECONDS = 300  # that a clock may be ahead, or behind for what has no lifetime of its own
_STAMP = "%Y%m%dT%H%M%SZ"
_DOES_NOT_MATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details.")


class Refused(Exception):
    """What the peer is told; `code` is AWS's name for it."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Credentials:
    key_id: str
    secret: str
    token: str | None = None
    name: str = "arn:aws:iam::123456789012:user/walpost"  # who has them

    def __repr__(self):
        return f"Credentials({self.key_id})"


@dataclass(frozen=True)
class Scope:
    """What a signature is good for."""

    date: str
    region: str
    service: str

    def __str__(self):
        return f"{self.date}/{self.region}/{self.service}/aws4_request"


def encode(data):
    """As RFC 3986 has it: all but the unreserved, in capitals."""
    return quote(data, safe="-_.~")


def _pairs(query):
    """Names and values as bytes. Only %XX means something: a plus is a plus."""
    return [tuple(unquote_to_bytes(side) for side in (word + "=").split("=")[:2])
            for word in query.split("&") if word]


def canonical_query(pairs):
    return "&".join(f"{name}={value}" for name, value in sorted((encode(n), encode(v)) for n, v in pairs))


def canonical_request(method, path, pairs, headers, signed, payload_hash):
    """`headers`: a list of (name, value), of which those named in `signed`, in lower case, count."""
    values = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(re.sub(r"\s+", " ", value.strip()))
    missing = [name for name in signed if name not in values]
    if missing:
        raise Refused("SignatureDoesNotMatch", f"'{missing[0]}' must be a header of the request")
    lines = "".join(f"{name}:{','.join(values[name])}\n" for name in signed)
    return "\n".join((method, path or "/", canonical_query(pairs), lines, ";".join(signed), payload_hash))


def signature(secret, scope, stamp, request):
    """Of a canonical request."""
    to_sign = "\n".join((ALGORITHM, stamp, str(scope), hashlib.sha256(request.encode()).hexdigest()))
    key = ("AWS4" + secret).encode()
    for word in (scope.date, scope.region, scope.service, "aws4_request", to_sign):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return key.hex()


_NOTHING = hashlib.sha256(b"").hexdigest()


def presign(url, credentials, service, region, expires=900, at=None):
    """The URL with a signature in its query; nothing but the host is a signed header."""
    stamp = datetime.fromtimestamp(time.time() if at is None else at, timezone.utc).strftime(_STAMP)
    scope = Scope(stamp[:8], region, service)
    parts = urlsplit(url)
    pairs = [*_pairs(parts.query), (b"X-Amz-Algorithm", ALGORITHM), (b"X-Amz-Credential",
             f"{credentials.key_id}/{scope}"), (b"X-Amz-Date", stamp), (b"X-Amz-Expires", str(expires)),
             (b"X-Amz-SignedHeaders", "host")]
    if credentials.token:
        pairs.append((b"X-Amz-Security-Token", credentials.token))
    request = canonical_request("GET", parts.path, pairs, [("host", parts.netloc)], ["host"], _NOTHING)
    made = signature(credentials.secret, scope, stamp, request)
    return f"{parts.scheme}://{parts.netloc}{parts.path or '/'}?{canonical_query(pairs)}&X-Amz-Signature={made}"


class Verifier:
    """Knows credentials; `clock` gives the seconds since 1970."""

    def __init__(self, *credentials, clock=time.time):
        self._known = {each.key_id: (each, float("inf")) for each in credentials}
        self._clock = clock

    def add(self, credentials, until=float("inf")):
        """`until`, in seconds since 1970: the end of their session, and of all that is signed with them."""
        self._known[credentials.key_id] = credentials, until

    def forget(self, key_id):
        """As when a key is deleted, or a session revoked."""
        self._known.pop(key_id, None)

    def _find(self, credential, token, service, region):
        """Whose it is, until when, and the scope."""
        words = credential.split("/")
        if len(words) != 5 or words[4] != "aws4_request":
            raise Refused("IncompleteSignature", f"Credential must have five parts: {credential!r}")
        key_id, scope = words[0], Scope(*words[1:4])
        if (scope.region, scope.service) != (region, service):
            raise Refused("SignatureDoesNotMatch", f"Credential should be scoped to a valid region and to correct "
                          f"service: '{region}' and '{service}', not '{scope.region}' and '{scope.service}'.")
        known, until = self._known.get(key_id, (None, 0))
        if known is None or known.token != token:
            raise Refused("InvalidClientTokenId", "The security token included in the request is invalid.")
        if until <= self._clock():
            raise Refused("ExpiredToken", "The security token included in the request is expired")
        return known, until, scope

    def _check_time(self, stamp, scope, lifetime):
        """When it ends."""
        try:
            made = datetime.strptime(stamp, _STAMP).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:
            raise Refused("IncompleteSignature", f"Date must be in ISO-8601 'basic format'. Got '{stamp}'") from None
        if stamp[:8] != scope.date:
            raise Refused("SignatureDoesNotMatch", f"Date in Credential scope does not match YYYYMMDD: {stamp}")
        now = self._clock()
        if made > now + SKEW_SECONDS:
            raise Refused("SignatureDoesNotMatch", f"Signature not yet current: {stamp} is still later than now")
        if made + lifetime <= now:
            raise Refused("SignatureDoesNotMatch", f"Signature expired: {stamp} is now earlier than it may be")
        return made + lifetime

    def presigned(self, url, service, region, most, beside=()):
        """
        Whose URL this is, and when it ends: a GET without a body, its host signed, for at most `most` seconds.
        Parameters named in `beside` were added to it when it was signed.
        """
        parts = urlsplit(url)
        pairs = _pairs(parts.query)
        told = {}
        for name, value in pairs:
            if name in told:
                raise Refused("InvalidParameterValue", f"{name.decode(errors='replace')} is there twice")
            told[name] = value.decode("utf-8", errors="replace")

        def take(name):
            if name.encode() not in told:
                raise Refused("MissingAuthenticationToken", f"Request is missing {name}")
            return told[name.encode()]

        if take("X-Amz-Algorithm") != ALGORITHM:
            raise Refused("IncompleteSignature", f"X-Amz-Algorithm must be {ALGORITHM}")
        known, until, scope = self._find(take("X-Amz-Credential"), told.get(b"X-Amz-Security-Token"), service, region)
        lifetime = take("X-Amz-Expires")
        if not re.fullmatch("[1-9][0-9]*", lifetime) or int(lifetime) > most:
            raise Refused("AuthorizationQueryParametersError", f"X-Amz-Expires must be between 1 and {most} seconds")
        if "host" not in take("X-Amz-SignedHeaders").split(";"):
            raise Refused("SignatureDoesNotMatch", "'Host' must be a 'SignedHeader' in the AWS Authorization.")
        ends = self._check_time(take("X-Amz-Date"), scope, int(lifetime))
        unsigned = {b"X-Amz-Signature", *(name.encode() for name in beside)}
        request = canonical_request("GET", parts.path, [pair for pair in pairs if pair[0] not in unsigned],
                                    [("host", parts.netloc)], take("X-Amz-SignedHeaders").split(";"), _NOTHING)
        made = signature(known.secret, scope, take("X-Amz-Date"), request)
        if not hmac.compare_digest(made, take("X-Amz-Signature")):
            raise Refused("SignatureDoesNotMatch", _DOES_NOT_MATCH)
        return known, min(ends, until)

    def signed(self, method, target, headers, body, service, region):
        """Whose request this is, by its header Authorization. `headers`: a list of (name, value)."""
        told = {name.lower(): value for name, value in headers}
        match = re.fullmatch(rf"{ALGORITHM}\s+Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=(\S+)",
                             told.get("authorization", ""))
        if match is None:
            raise Refused("MissingAuthenticationToken", "Request is missing Authentication Token")
        signed = match[2].split(";")
        if signed != sorted(signed) or "host" not in signed or "x-amz-date" not in signed:
            raise Refused("SignatureDoesNotMatch", "'Host' and 'X-Amz-Date' must be 'SignedHeader's, in order")
        known, _, scope = self._find(match[1], told.get("x-amz-security-token"), service, region)
        self._check_time(told.get("x-amz-date", ""), scope, SKEW_SECONDS)
        hashed = hashlib.sha256(body).hexdigest()
        if told.get("x-amz-content-sha256", hashed) != hashed:
            raise Refused("XAmzContentSHA256Mismatch", "x-amz-content-sha256 is not that of the body")
        path, _, query = target.partition("?")
        request = canonical_request(method, path, _pairs(query), headers, signed, hashed)
        if not hmac.compare_digest(signature(known.secret, scope, told["x-amz-date"], request), match[3]):
            raise Refused("SignatureDoesNotMatch", _DOES_NOT_MATCH)
        return known

"""What a provider's broker or server looks at in a token: each returns who it is and when the token ends, or raises
`Denied` with the provider's own words."""

import json
import re
import time
import uuid
from urllib.parse import parse_qs, urlsplit

from lib.doubles.sigv4 import Refused
from lib.doubles.tokens import BadToken, b64, claims_of, unb64


class Denied(Exception):
    """`direct`: the broker says it and is gone, rather than by RFC 7628's challenge."""

    def __init__(self, message, why, direct=False):
        super().__init__(message)
        self.why = why  # for the tests: no broker says so much
        self.direct = direct


# --- Kafka: token, extensions -> (who, end in seconds since 1970)


def msk(verifier, region):
    """Amazon MSK: docs.aws.amazon.com/msk/latest/developerguide/iam-access-control.html, and AWS's own signers
    (github.com/aws/aws-msk-iam-sasl-signer-python), which add User-Agent to what they have signed."""

    def deny(why):
        raise Denied(f"[{uuid.uuid4()}]: Access denied", why, direct=True)

    def check(token, extensions):
        try:
            url = unb64(token).decode()
            parts = urlsplit(url)
        except ValueError:
            deny("it is no address in base64url without padding")
        if (parts.scheme, parts.netloc, parts.path) != ("https", f"kafka.{region}.amazonaws.com", "/"):
            deny(f"it is for {parts.scheme}://{parts.netloc}{parts.path}")
        if "Action=kafka-cluster%3AConnect" not in parts.query.split("&"):
            deny("its action is not kafka-cluster:Connect")
        if not re.search("(^|&)User-Agent=[^&]", parts.query):
            deny("User-Agent is missing")
        try:
            known, end = verifier.presigned(url, "kafka-cluster", region, 900, beside=["User-Agent"])
        except Refused as refused:
            deny(f"{refused.code}: {refused}")
        return known.name, end

    return check


def _status(why):
    raise Denied(json.dumps({"status": "invalid_token"}), why)


def azure_event_hubs(key, host):
    """learn.microsoft.com/azure/event-hubs/azure-event-hubs-kafka-overview, "OAuth 2.0"."""

    def check(token, extensions):
        try:
            claims = claims_of(token, key, audience=f"https://{host}")
        except BadToken as why:
            raise Denied("Invalid tenant name or token", str(why), direct=True) from None
        return claims["sub"], claims["exp"]

    return check


def google(good):
    """
    cloud.google.com/managed-service-for-apache-kafka/docs/authentication-kafka, and what stands beside it in
    github.com/googleapis/managedkafka: header, claims and the access token, each in base64url. Of the claims Google's
    handler for Java leaves out `iss`, its server for others `scope`. `good`: {access token: (email, end)}, as
    clouds.py keeps it.
    """

    def check(token, extensions):
        words = token.split(".")
        if len(words) != 3:
            _status(f"three parts are wanted, not {len(words)}")
        try:
            head, claims, access = json.loads(unb64(words[0])), json.loads(unb64(words[1])), unb64(words[2]).decode()
        except ValueError:
            _status("a part is not what it should be")
        if head != {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}:
            _status(f"the header is {head}")
        if access not in good:
            _status("the access token is unknown")
        email, end = good[access]
        if end <= time.time():
            _status("the access token has expired")
        says = claims.get("sub"), claims.get("iss", "Google"), claims.get("scope", "kafka")
        if says != (email, "Google", "kafka"):
            _status(f"the claims are {claims}")
        if not time.time() < claims.get("exp", 0) <= end + 60 or claims.get("iat", 1e18) > time.time() + 60:
            _status(f"the times are {claims}")
        return email, end

    return check


def oidc(key, audience="kafka"):
    """As a broker with OAuthBearerValidatorCallbackHandler does."""

    def check(token, extensions):
        try:
            claims = claims_of(token, key, audience=audience)
        except BadToken as why:
            _status(str(why))
        return claims["sub"], claims["exp"]

    return check


def google_token(access, email, end):
    """The right one, for tests of the above."""
    claims = {"exp": end, "iat": int(time.time()), "iss": "Google", "scope": "kafka", "sub": email}
    parts = {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}, claims
    return ".".join([*(b64(json.dumps(part).encode()) for part in parts), b64(access.encode())])


# --- Postgres: user, password -> when it ends


class DeniedByServer(Exception):
    """`code`: the SQLSTATE."""

    def __init__(self, message, why, code="28000"):
        super().__init__(message)
        self.why = why
        self.code = code


def rds(verifier, region, address):
    """docs.aws.amazon.com/AmazonRDS/latest/UserGuide/UsingWithRDS.IAMDBAuth.html; `address`: host:port as signed."""

    def check(user, password):
        def deny(why):
            raise DeniedByServer(f'PAM authentication failed for user "{user}"', why)

        if "://" in password:
            deny("it has a scheme")
        try:
            parts = urlsplit("https://" + password)
        except ValueError:
            deny("it is no address")
        if (parts.netloc, parts.path) != (address, "/"):
            deny(f"it is for {parts.netloc}{parts.path}, not for {address}/")
        words = parts.query.split("&")
        if "Action=connect" not in words:
            deny("its action is not connect")
        try:
            _, end = verifier.presigned("https://" + password, "rds-db", region, 900)
        except Refused as refused:
            deny(f"{refused.code}: {refused}")
        if parse_qs(parts.query).get("DBUser") != [user]:
            deny("it is for another user")
        return end

    return check


AZURE_POSTGRES = "https://ossrdbms-aad.database.windows.net"


def azure_postgres(key):
    """learn.microsoft.com/azure/postgresql/flexible-server/how-to-configure-sign-in-azure-ad-authentication"""

    def check(user, password):
        try:
            return claims_of(password, key, audience=AZURE_POSTGRES)["exp"]
        except BadToken as why:
            message = ("The access token has expired. Acquire a new token and retry." if "expired" in str(why)
                       else "Azure AD access token not valid for user")
            raise DeniedByServer(message, str(why), "28P01") from None

    return check


def google_postgres(good):
    """cloud.google.com/sql/docs/postgres/iam-logins: the user is the account's email without .gserviceaccount.com"""

    def check(user, password):
        email, end = good.get(password, ("", 0))
        if email.removesuffix(".gserviceaccount.com") != user or end <= time.time():
            raise DeniedByServer(f'Cloud SQL IAM service account authentication failed for user "{user}"',
                                 "the token is unknown, expired, or another's", "28P01")
        return end

    return check

"""The doubles of the clouds' endpoints: each gives what it should to who asks as its documentation says, and refuses
everybody else."""

import hashlib
import http.client
import json
import re
import socket
import subprocess
import time
from base64 import b64encode
from urllib.parse import quote, quote_plus, urlencode, urlsplit

import pytest

from lib.doubles import clouds, endpoint
from lib.doubles.sigv4 import ALGORITHM, Scope, Verifier, canonical_request, signature
from lib.doubles.tokens import BadToken, Key, claims_of

ROLE = "arn:aws:iam::123456789012:role/walpost"


class Reply:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()
        self.text = self.body.decode(errors="replace")

    @property
    def json(self):
        return json.loads(self.body)


def _ask(url, method="GET", body=None, timeout=5, **headers):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection.request(method, target, body, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        return Reply(connection.getresponse())
    finally:
        connection.close()


def _post(url, timeout=5, headers=None, **form):
    return _ask(url, "POST", urlencode(form), timeout,
                **{"Content_Type": "application/x-www-form-urlencoded", **(headers or {})})


# --- tokens


def test_a_token_is_good_for_its_key_audience_and_time():
    key, other, now = Key(), Key(), int(time.time())
    token = key.jwt(aud=["a", "b"], exp=now + 60, iat=now)
    assert claims_of(token, other, key, audience="b")["exp"] == now + 60
    for keys, audience, clock, words in (
            ([other], "a", time.time, "no key"), ([key], "c", time.time, "not for 'c'"),
            ([key], "a", lambda: now + 61, "expired"), ([key], "a", lambda: now - 3600, "not in force")):
        with pytest.raises(BadToken, match=words):
            claims_of(token, *keys, audience=audience, clock=clock)
    head, claims, signed = token.split(".")
    for forged in (f"{head}.{claims}.{signed[:-4]}AAAA", f"{head}.{claims}", f"{head}.{claims}x.{signed}",
                   f"{b64encode(json.dumps({'alg': 'none'}).encode()).decode().rstrip('=')}.{claims}."):
        with pytest.raises(BadToken):
            claims_of(forged, key, audience="a")


def test_openssl_agrees_with_our_signature(tmp_path):
    key = Key()
    (tmp_path / "key").write_text(key.pem)
    made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", tmp_path / "key"], input=b"text",
                          capture_output=True, check=True).stdout
    assert made == key.sign(b"text") and key.is_signed(b"text", made) and not key.is_signed(b"texx", made)


# --- AWS


def test_ec2_gives_credentials_to_who_has_a_session():
    with clouds.Ec2Metadata() as double:
        session = _ask(f"{double.url}/latest/api/token", "PUT", X_aws_ec2_metadata_token_ttl_seconds="60").text
        roles = f"{double.url}/latest/meta-data/iam/security-credentials/"
        assert _ask(roles, X_aws_ec2_metadata_token=session).text == double.role
        told = _ask(roles + double.role, X_aws_ec2_metadata_token=session).json
        (given,) = double.given
        assert (told["AccessKeyId"], told["SecretAccessKey"], told["Token"]) == (
            given.key_id, given.secret, given.token)
        assert told["Code"] == "Success" and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["Expiration"])
        assert _ask(roles).status == 401  # version 1
        assert _ask(roles, X_aws_ec2_metadata_token="guessed").status == 401
        assert _ask(f"{double.url}/latest/api/token", "PUT").status == 400
        assert _ask(f"{double.url}/latest/api/token", "PUT", X_aws_ec2_metadata_token_ttl_seconds="21601").status == 400
        assert _ask(f"{double.url}/latest/api/token").status == 405
        assert _ask(f"{double.url}/latest/api/token", "PUT", X_aws_ec2_metadata_token_ttl_seconds="60",
                    X_Forwarded_For="10.0.0.1").status == 403
        double.forget_sessions()
        assert _ask(roles, X_aws_ec2_metadata_token=session).status == 401
        assert [asked.status for asked in double.asked[:3]] == [200, 200, 200]


def test_a_container_gives_credentials_to_who_reads_the_token_anew(tmp_path):
    with clouds.ContainerCredentials(tmp_path) as double:
        url = double.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
        before = double.token_file.read_text()
        assert _ask(url, Authorization=before).json["AccessKeyId"] == double.given[0].key_id
        double.rotate()
        assert _ask(url, Authorization=before).status == 401
        assert _ask(url).status == 401
        assert _ask(url, Authorization=double.token_file.read_text()).status == 200


def _web(sts, **changes):
    return _post(sts.url, **{"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": ROLE,
                             "RoleSessionName": "walpost", "WebIdentityToken": sts.web_token(), **changes})


def test_sts_gives_a_role_for_a_web_identity():
    with clouds.Sts() as sts:
        told = _web(sts)
        assert told.status == 200 and f"<AccessKeyId>{sts.given[0].key_id}</AccessKeyId>" in told.text
        for changes, status, code in (
                ({"WebIdentityToken": sts.web_token(-1)}, 400, "ExpiredTokenException"),
                ({"WebIdentityToken": sts.web_token(audience="other")}, 400, "InvalidIdentityToken"),
                ({"WebIdentityToken": "a.b.c"}, 400, "InvalidIdentityToken"),
                ({"RoleArn": ROLE + "2"}, 403, "AccessDenied"), ({"RoleSessionName": "x y"}, 400, "ValidationError"),
                ({"DurationSeconds": "60"}, 400, "ValidationError"), ({"Version": "2010"}, 400, "InvalidAction"),
                ({"Action": "GetCallerIdentity"}, 400, "InvalidAction")):
            refused = _web(sts, **changes)
            assert (refused.status, f"<Code>{code}</Code>" in refused.text) == (status, True), refused.text


def _assume(sts, credentials, secret=None, region="eu-central-1"):
    body = urlencode({"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": ROLE, "RoleSessionName": "walpost"})
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = [("Host", urlsplit(sts.url).netloc), ("X-Amz-Date", stamp), ("X-Amz-Security-Token", credentials.token)]
    signed, scope = ["host", "x-amz-date", "x-amz-security-token"], Scope(stamp[:8], region, "sts")
    request = canonical_request("POST", "/", [], headers, signed, hashlib.sha256(body.encode()).hexdigest())
    made = signature(secret or credentials.secret, scope, stamp, request)
    return _ask(sts.url, "POST", body, Content_Type="application/x-www-form-urlencoded", X_Amz_Date=stamp,
                X_Amz_Security_Token=credentials.token, Authorization=f"{ALGORITHM} Credential={credentials.key_id}/"
                f"{scope}, SignedHeaders={';'.join(signed)}, Signature={made}")


def test_sts_gives_a_role_to_who_signs():
    mine = clouds.new_credentials()
    with clouds.Sts(Verifier(mine)) as sts:
        assert _assume(sts, mine).status == 200
        assert "SignatureDoesNotMatch" in _assume(sts, mine, "another").text
        assert "valid region" in _assume(sts, mine, region="us-east-1").text
        assert "InvalidClientTokenId" in _assume(sts, clouds.new_credentials()).text
        assert "MissingAuthenticationToken" in _post(sts.url, Action="AssumeRole", Version="2011-06-15").text


# --- Azure


EVENT_HUBS = "https://hub.servicebus.windows.net"


def test_azures_metadata_gives_a_token_for_a_resource():
    with clouds.AzureMetadata() as double:
        url = f"{double.url}/metadata/identity/oauth2/token?api-version=2018-02-01&resource={quote(EVENT_HUBS, '')}"
        told = _ask(url, Metadata="true").json
        assert claims_of(told["access_token"], double.key, audience=EVENT_HUBS)
        assert told["expires_in"] == "3600" and int(told["expires_on"]) > time.time() + 3500
        assert _ask(url).status == 400
        assert _ask(url.replace("2018-02-01", "2010"), Metadata="true").status == 400
        assert _ask(url + "%2F.default", Metadata="true").json["error"] == "invalid_resource"
        assert _ask(url + "&client_id=other", Metadata="true").json["error_description"] == "Identity not found"
        assert _ask(url + f"&client_id={double.client_id}", Metadata="true").status == 200
        assert _ask(url, Metadata="true", X_Forwarded_For="10.0.0.1").status == 400


def test_an_app_service_gives_a_token_to_who_has_the_header():
    with clouds.AppService() as double:
        url = double.environment["IDENTITY_ENDPOINT"] + f"?api-version=2019-08-01&resource={quote(EVENT_HUBS, '')}"
        told = _ask(url, X_IDENTITY_HEADER=double.secret).json
        assert claims_of(told["access_token"], double.key, audience=EVENT_HUBS) and told["expires_on"].isdigit()
        assert _ask(url).status == 401
        assert _ask(url.replace("2019", "2018"), X_IDENTITY_HEADER=double.secret).status == 400


def test_entra_gives_a_token_for_a_federated_one_or_a_secret():
    with clouds.AzureAuthority() as double:
        host = double.environment["AZURE_AUTHORITY_HOST"]
        url = f"{host}{clouds.TENANT}/oauth2/v2.0/token"
        right = {"client_id": double.client_id, "grant_type": "client_credentials", "scope": EVENT_HUBS + "/.default",
                 "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                 "client_assertion": double.federated_token()}
        told = _post(url, **right).json
        assert claims_of(told["access_token"], double.key, audience=EVENT_HUBS) and told["expires_in"] == 3600
        secret = {name: right[name] for name in ("client_id", "grant_type", "scope")}
        assert _post(url, **secret, client_secret=double.secret).status == 200
        assert "7000215" in _post(url, **secret, client_secret="x").text
        for changes, words in (
                ({"client_assertion": double.federated_token(-1)}, "expired"),
                ({"client_assertion": double.federated_token(audience="x")}, "700024"),
                ({"client_assertion_type": "x"}, "7000216"), ({"scope": EVENT_HUBS}, "70011"),
                ({"client_id": "x"}, "700016"), ({"grant_type": "x"}, "70003")):
            refused = _post(url, **{**right, **changes})
            assert refused.status in (400, 401) and words in refused.text
        assert _post(f"{host}other/oauth2/v2.0/token", **right).status == 400


# --- Google


def test_googles_metadata_gives_a_token_to_who_says_google():
    with clouds.GoogleMetadata() as double:
        url = f"http://{double.environment['GCE_METADATA_HOST']}/computeMetadata/v1/instance/service-accounts/default/"
        told = _ask(url + "token", Metadata_Flavor="Google")
        assert told.json["access_token"] in double.good and told.headers["Metadata-Flavor"] == "Google"
        assert _ask(url + "email", Metadata_Flavor="Google").text == double.email
        assert _ask(url + "token").status == 403
        assert _ask(url + "token", Metadata_Flavor="Google", X_Forwarded_For="10.0.0.1").status == 403
        assert _ask(url + "other", Metadata_Flavor="Google").status == 404


def test_google_gives_a_token_for_what_a_service_account_has_signed():
    with clouds.GoogleTokens() as double:
        account, now = double.service_account(), int(time.time())
        assert account["private_key"].startswith("-----BEGIN PRIVATE KEY-----")

        def ask(key=double.key, kind="urn:ietf:params:oauth:grant-type:jwt-bearer", **changes):
            return _post(account["token_uri"], grant_type=kind, assertion=key.jwt(**{
                "iss": double.email, "scope": "https://www.googleapis.com/auth/cloud-platform",
                "aud": account["token_uri"], "iat": now, "exp": now + 3600, **changes}))

        assert ask().json["access_token"] in double.good
        for refused, error in ((ask(Key()), "invalid_grant"), (ask(kind="x"), "unsupported_grant_type"),
                               (ask(aud="x"), "invalid_grant"), (ask(exp=now + 3601), "invalid_grant"),
                               (ask(exp=now - 1), "invalid_grant"), (ask(iss="x"), "invalid_grant"),
                               (ask(scope="x"), "invalid_scope")):
            assert (refused.status, refused.json["error"]) == (400, error)


# --- an identity provider


def _basic(name, secret):
    return {"Authorization": "Basic " + b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode()).decode()}


def test_an_identity_provider_gives_a_token_to_a_client_and_its_keys_to_everybody():
    with clouds.Oidc() as double:
        right = _basic(double.client_id, double.secret)
        told = _post(double.token_url, headers=right, grant_type="client_credentials", scope=double.scope).json
        assert claims_of(told["access_token"], double.key, audience="kafka")["sub"] == "walpost"
        (key,) = _ask(double.jwks_url).json["keys"]
        assert key["kid"] == double.key.id and key["kty"] == "RSA"
        refused = _post(double.token_url, headers=_basic(double.client_id, "x"), grant_type="client_credentials")
        assert (refused.status, refused.json["error"]) == (401, "invalid_client")
        assert _post(double.token_url, grant_type="client_credentials").status == 401
        assert _post(double.token_url, headers=right, grant_type="password").json["error"] == "unsupported_grant_type"
        assert _post(double.token_url, headers=right, grant_type="client_credentials",
                     scope="other").json["error"] == "invalid_scope"


# --- what goes wrong


def test_it_misbehaves_as_often_as_it_is_told_and_then_answers():
    with clouds.GoogleMetadata() as double:
        url = f"{double.url}/computeMetadata/v1/instance/service-accounts/default/token"

        def ask(timeout=5):
            return _ask(url, timeout=timeout, Metadata_Flavor="Google")

        double.fail(endpoint.broken(503), 2)
        double.fail(endpoint.throttled(7))
        double.fail(endpoint.redirect("http://127.0.0.1:1/"))
        double.fail(endpoint.garbage)
        double.fail(endpoint.empty)
        double.fail(endpoint.huge(1 << 20))
        assert [ask().status for _ in range(2)] == [503, 503]
        limited = ask()
        assert (limited.status, limited.headers["Retry-After"]) == (429, "7")
        assert ask().headers["Location"] == "http://127.0.0.1:1/"
        with pytest.raises(ValueError):
            ask().json
        assert ask().body == b""
        assert len(ask().body) > 1 << 20
        double.fail(endpoint.cut)
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            ask()
        double.fail(endpoint.slow(0.3))
        began = time.monotonic()
        assert ask().status == 200 and time.monotonic() - began >= 0.3
        double.fail(endpoint.silent)
        with pytest.raises(socket.timeout):
            ask(timeout=0.2)
        double.fail(endpoint.broken(), None)
        assert [ask().status for _ in range(3)] == [500] * 3
        double.mend()
        assert ask().status == 200
        assert len(double.wait_asked(13)) == 14

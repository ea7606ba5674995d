"""The double of AWS's signatures: what AWS has published is right, and what is anyhow else is refused."""

from datetime import datetime, timezone

import pytest

from lib.doubles.sigv4 import Credentials, Refused, Verifier, presign

# github.com/awslabs/aws-c-auth, tests/aws-signing-test-suite/v4: the requests, and the signatures in query and header.
AT = datetime(2015, 8, 30, 12, 36, tzinfo=timezone.utc).timestamp()
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
PLAIN, SESSION = Credentials("AKIDEXAMPLE", SECRET), Credentials("AKIDEXAMPLE", SECRET, TOKEN)
UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BY_QUERY = {
    "get-vanilla": ("/", PLAIN, "e93c787ed7f371d5c6b165c1b38ede9550f4dce4144713e844b25b7192d3865d"),
    "get-vanilla-with-session-token": (
        "/", SESSION, "7ff2b50b376cb4d151970630573d6291dc128cc5c2a12ffb237f73cc53f67b6c"),
    "get-vanilla-empty-query-key": (
        "/?Param1=value1", PLAIN, "49096700cbbaa5753443850f40df10f904fc2fdb544dc9512203cc77c471a9de"),
    "get-vanilla-query-order-encoded": (
        "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1", PLAIN,
        "c5f1848ceec943ac2ca68ee720460c23aaae30a2300586597ada94c4a65e4787"),
    "get-vanilla-query-order-key-case": (
        "/?Param2=value2&Param1=value1", PLAIN, "86012e2c9ad4d77369f5d81c11f75158aae4f895a085212cc6d3f923d300bed5"),
    "get-vanilla-query-unreserved": (
        f"/?{UNRESERVED}={UNRESERVED}", PLAIN, "8e76a88a7433637b12778d5592799b29ad21ecd6cf6325051c21d86f0acda2bf"),
    "get-unreserved": (
        f"/{UNRESERVED}", PLAIN, "95968482db1b9e0fadef6efc1bd24689f77c77d9ef56919c96a28cc92e0d6005"),
}
BY_HEADER = {
    "get-vanilla": (
        "GET", "/", [], b"", PLAIN, "host;x-amz-date",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "get-vanilla-with-session-token": (
        "GET", "/", [("X-Amz-Security-Token", TOKEN)], b"", SESSION, "host;x-amz-date;x-amz-security-token",
        "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
    "get-header-value-trim": (
        "GET", "/", [("My-Header1", " value1"), ("My-Header2", ' "a   b   c"')], b"", PLAIN,
        "host;my-header1;my-header2;x-amz-date", "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
    "post-x-www-form-urlencoded": (
        "POST", "/",
        [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", "13"),
         ("x-amz-content-sha256", "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e")],
        b"Param1=value1", PLAIN, "content-length;content-type;host;x-amz-content-sha256;x-amz-date",
        "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"),
}
HOST = "https://example.amazonaws.com"


def _verifier(*credentials, at=AT + 60):
    return Verifier(*credentials, clock=lambda: at)


def _url(credentials=PLAIN, target="/?Action=connect", expires=900, service="service", region="us-east-1"):
    return presign(HOST + target, credentials, service, region, expires, AT)


def _check(url, verifier=None, most=900, **more):
    return (verifier or _verifier(PLAIN)).presigned(url, "service", "us-east-1", most, **more)


def _refused(url, code, words, **options):
    with pytest.raises(Refused, match=words) as refused:
        _check(url, **options)
    assert refused.value.code == code


@pytest.mark.parametrize("name", BY_QUERY)
def test_published_queries_are_signed_and_accepted(name):
    target, credentials, wanted = BY_QUERY[name]
    url = _url(credentials, target, 3600)
    assert url.endswith(f"&X-Amz-Signature={wanted}")
    assert _check(url, _verifier(credentials), 3600) == (credentials, AT + 3600)


@pytest.mark.parametrize("name", BY_HEADER)
def test_published_headers_are_accepted_and_another_signature_is_not(name):
    method, target, more, body, credentials, signed, wanted = BY_HEADER[name]

    def check(made, body=body):
        headers = [("Host", "example.amazonaws.com"), ("X-Amz-Date", "20150830T123600Z"), *more,
                   ("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
                    f" SignedHeaders={signed}, Signature={made}")]
        return _verifier(credentials).signed(method, target, headers, body, "service", "us-east-1")

    assert check(wanted) == credentials
    with pytest.raises(Refused, match="does not match"):
        check(wanted[:-1] + ("0" if wanted[-1] != "0" else "1"))
    with pytest.raises(Refused):
        check(wanted, body + b"!")


def test_the_order_of_parameters_does_not_matter_and_their_case_and_encoding_do():
    head, query = _url(target="/?Action=kafka-cluster%3AConnect").split("?")
    assert _check(head + "?" + "&".join(reversed(query.split("&"))))
    assert _check(f"{head}?{query}".replace("%3A", ":"))  # the same value
    _refused(f"{head}?{query}".replace("kafka", "Kafka"), "SignatureDoesNotMatch", "does not match")
    _refused(f"{head}?{query}&Action=other", "InvalidParameterValue", "twice")
    _refused(f"{head}?{query}&more=1", "SignatureDoesNotMatch", "does not match")
    assert _check(f"{head}?{query}&User-Agent=walpost", beside=["User-Agent"])


@pytest.mark.parametrize("change, code, words", [
    (("example.", "other."), "SignatureDoesNotMatch", "does not match"),
    (("AKIDEXAMPLE", "AKIDSTRANGER"), "InvalidClientTokenId", "security token"),
    (("us-east-1", "eu-west-1"), "SignatureDoesNotMatch", "valid region"),
    (("%2Fservice", "%2Fother"), "SignatureDoesNotMatch", "correct service"),
    (("aws4_request", "aws5_request"), "IncompleteSignature", "five parts"),
    (("Expires=900", "Expires=901"), "AuthorizationQueryParametersError", "between 1 and 900"),
    (("Expires=900", "Expires=600"), "SignatureDoesNotMatch", "does not match"),
    (("Expires=900", "Expires=-1"), "AuthorizationQueryParametersError", "between"),
    (("SHA256&", "SHA512&"), "IncompleteSignature", "Algorithm"),
    (("SignedHeaders=host", "SignedHeaders=date"), "SignatureDoesNotMatch", "Host"),
    (("Date=20150830T", "Date=2015-08-30T"), "IncompleteSignature", "ISO-8601"),
    (("Date=20150830T", "Date=20150829T"), "SignatureDoesNotMatch", "scope"),
    (("&X-Amz-Date=20150830T123600Z", ""), "MissingAuthenticationToken", "X-Amz-Date"),
])
def test_what_is_changed_afterwards_is_refused(change, code, words):
    url = _url().replace(*change)
    assert url != _url()
    _refused(url, code, words)


def test_it_ends_when_it_said_and_may_not_come_from_the_future():
    assert _check(_url(), _verifier(PLAIN, at=AT + 899))
    _refused(_url(), "SignatureDoesNotMatch", "expired", verifier=_verifier(PLAIN, at=AT + 900))
    assert _check(_url(), _verifier(PLAIN, at=AT - 299))
    _refused(_url(), "SignatureDoesNotMatch", "not yet", verifier=_verifier(PLAIN, at=AT - 301))


def test_a_session_is_known_by_its_token():
    assert _check(_url(SESSION), _verifier(SESSION))
    _refused(_url(PLAIN), "InvalidClientTokenId", "security token", verifier=_verifier(SESSION))
    _refused(_url(SESSION), "InvalidClientTokenId", "security token", verifier=_verifier(PLAIN))
    ending = _verifier()
    ending.add(SESSION, AT + 100)
    assert _check(_url(SESSION), ending) == (SESSION, AT + 100)
    ending.add(SESSION, AT + 60)
    _refused(_url(SESSION), "ExpiredToken", "is expired", verifier=ending)
    forgetful = _verifier(SESSION)
    forgetful.forget("AKIDEXAMPLE")
    _refused(_url(SESSION), "InvalidClientTokenId", "security token", verifier=forgetful)
    _refused(_url(Credentials("AKIDEXAMPLE", "another")), "SignatureDoesNotMatch", "does not match")

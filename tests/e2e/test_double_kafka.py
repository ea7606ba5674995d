"""The doubles of Kafka's doors: what each provider's broker takes, and a client that is none of ours logs in."""

import time

import confluent_kafka
import pytest

from lib.doubles import checkers
from lib.doubles.clouds import Oidc, new_credentials
from lib.doubles.checkers import Denied, google_token
from lib.doubles.sigv4 import Credentials, Verifier, presign
from lib.doubles.tokens import Key, b64
from lib.oauth_kafka import FrontedKafka, OauthKafka
from lib.waiting import wait_until

REGION = "eu-central-1"
URL = f"https://kafka.{REGION}.amazonaws.com/?Action=kafka-cluster%3AConnect"
MINE = new_credentials()


def _msk_token(url=URL, agent="&User-Agent=walpost", credentials=MINE, region=REGION, **options):
    return b64((presign(url, credentials, "kafka-cluster", region, **options) + agent).encode())


def _denied(check, token, words):
    with pytest.raises(Denied) as denied:
        check(token, {})
    assert words in denied.value.why
    return denied.value


def test_msk_takes_a_presigned_url_and_nothing_like_it():
    check, now = checkers.msk(Verifier(MINE), REGION), time.time()
    who, end = check(_msk_token(), {})
    assert who == MINE.name and now + 895 < end <= now + 905
    for token, words in (
            (_msk_token(agent=""), "User-Agent is missing"), (_msk_token() + "=", "base64url"),
            (_msk_token(URL.replace("https", "http")), "it is for http:"),
            (_msk_token(URL.replace("kafka.", "sts.")), "it is for"),
            (_msk_token(URL.replace("Connect", "Write")), "action"), (_msk_token(expires=901), "900 seconds"),
            (_msk_token(region="us-east-1"), "valid region"), (_msk_token(at=now - 901), "expired"),
            (_msk_token(credentials=new_credentials()), "security token"),
            (_msk_token(credentials=Credentials(MINE.key_id, "other", MINE.token)), "does not match"),
            (b64(b"https://[what"), "no address")):
        assert "Access denied" in str(_denied(check, token, words))


def test_event_hubs_takes_a_token_for_its_host():
    key, now = Key(), int(time.time())
    check = checkers.azure_event_hubs(key, "hub.servicebus.windows.net")
    right = {"aud": "https://hub.servicebus.windows.net", "sub": "walpost", "exp": now + 60}
    assert check(key.jwt(**right), {}) == ("walpost", now + 60)
    _denied(check, key.jwt(**{**right, "aud": "https://other.servicebus.windows.net"}), "not for")
    _denied(check, key.jwt(**{**right, "exp": now - 1}), "expired")
    _denied(check, Key().jwt(**right), "no key")


def test_google_takes_three_parts_of_which_the_last_is_the_access_token():
    end = time.time() + 60
    check = checkers.google({"ya29.x": ("me@x", end), "ya29.old": ("me@x", time.time() - 1)})
    assert check(google_token("ya29.x", "me@x", end), {}) == ("me@x", end)
    for token, words in ((google_token("ya29.y", "me@x", end), "unknown"), ("ya29.x", "three parts"),
                         (google_token("ya29.x", "you@x", end), "claims"), (google_token("ya29.old", "me@x", end),
                                                                             "expired"),
                         (google_token("ya29.x", "me@x", end + 3600), "times"), ("a.b.c", "not what it should")):
        assert str(_denied(check, token, words)) == '{"status": "invalid_token"}'


# --- a node


class Client:
    """librdkafka of the Python client, which logs in with what `token` returns."""

    def __init__(self, config, token):
        self.errors = errors = []
        names = {name.removeprefix("kafka."): str(value) for name, value in config.items()}
        self.producer = confluent_kafka.Producer({
            **names, "sasl.mechanism": "OAUTHBEARER", "oauth_cb": lambda _: token(), "reconnect.backoff.max.ms": 200,
            "error_cb": lambda error: errors.append(str(error)), "log_level": 0, "message.timeout.ms": 30_000,
        })

    def send(self, topic, text):
        """Until it is there."""
        heard = []
        self.producer.produce(topic, text, on_delivery=lambda error, _: heard.append(error))
        self._wait(lambda: heard, 40, "it is sent")
        assert heard == [None]

    def wait_refused(self, words):
        self._wait(lambda: any(words in error for error in self.errors), 20, f"{words!r} is heard")

    def _wait(self, condition, deadline, what):
        def check():
            self.producer.poll(0.05)
            return condition()
        wait_until(check, deadline, what, lambda: str(self.errors))


@pytest.fixture(scope="module")
def fronted(tmp_path_factory):
    kafka = FrontedKafka(tmp_path_factory.mktemp("fronted") / "kafka").start()
    kafka.create_topic("t", 1)
    yield kafka
    kafka.end()


@pytest.fixture
def node(fronted):
    """Its front as new."""
    fronted.front.logins.clear()
    fronted.front.refuse(None)
    fronted.front.session_ms = None
    fronted.front.check = checkers.msk(Verifier(MINE), REGION)
    fronted.front.cut()
    return fronted


def _token(lifetime=900, **options):
    return lambda: (_msk_token(expires=lifetime, **options), time.time() + lifetime, "walpost", {})


def test_a_client_with_the_right_token_reaches_the_node(node):
    client = Client(node.relay_config(), _token())
    before = len(node.read("t"))
    for n in range(3):
        client.send("t", f"{n}")
    assert [m.value for m in node.read("t")[before:]] == [b"0", b"1", b"2"]
    assert node.front.good and not node.front.bad and {login.who for login in node.front.good} == {MINE.name}
    logins = len(node.front.good)
    node.front.cut()
    client.send("t", "4")
    assert len(node.front.good) > logins


def test_a_client_with_a_wrong_token_is_told_and_comes_in_once_it_is_right(node):
    wrong = [True]
    client = Client(node.relay_config(), lambda: _token(credentials=new_credentials() if wrong[0] else MINE)())
    client.wait_refused("Access denied")
    assert "InvalidClientTokenId" in node.front.bad[0].why and not node.front.good


def test_rfc_7628s_refusal_is_heard_too(node):
    node.front.check = checkers.google({})
    client = Client(node.relay_config(), _token())
    client.wait_refused("invalid_token")


def test_a_client_that_does_not_log_in_reaches_nothing(node):
    config = {name.removeprefix("kafka."): str(value) for name, value in node.relay_config().items()}
    for more in ({"security.protocol": "SSL"}, {"sasl.mechanism": "PLAIN", "sasl.username": "a",
                                                "sasl.password": "b"}):
        client = confluent_kafka.Producer({**config, **more, "log_level": 0})
        with pytest.raises(confluent_kafka.KafkaException):
            client.list_topics(timeout=2)
    assert not node.front.good and "PLAIN" in node.front.bad[0].why


def test_a_session_ends_with_its_token_unless_the_client_logs_in_again(node):
    node.front.session_ms = 10_000
    client = Client(node.relay_config(), _token())
    end = time.monotonic() + 22
    while time.monotonic() < end:
        client.send("t", "x")
        client.producer.poll(0.3)
    assert [login for login in node.front.good if login.again] and node.front.expired == 0


def test_it_refuses_when_it_is_told_to(node):
    node.front.refuse(Denied("not today", "as told", direct=True))
    client = Client(node.relay_config(), _token())
    client.wait_refused("not today")
    node.front.refuse(None)
    client.send("t", "y")


# --- a broker that looks itself


def test_kafka_validates_tokens_by_the_keys_of_an_issuer(tmp_path):
    with Oidc() as issuer:
        kafka = OauthKafka(tmp_path / "kafka", issuer).start()
        try:
            kafka.create_topic("t", 1)
            good = Client(kafka.relay_config(), lambda: (issuer.token(), time.time() + 3600, "walpost", {}))
            good.send("t", "1")
            assert [m.value for m in kafka.read("t")] == [b"1"]
            for changes in ({"aud": "other"}, {"exp": int(time.time()) - 5}, {"iss": "https://other"}):
                bad = Client(kafka.relay_config(), lambda changes=changes: (
                    issuer.token(**changes), time.time() + 3600, "walpost", {}))
                bad.wait_refused("invalid_token")
            stranger = Key()
            issuer.key, key = stranger, issuer.key
            forged = issuer.token()
            issuer.key = key
            Client(kafka.relay_config(), lambda: (forged, time.time() + 3600, "x", {})).wait_refused("invalid_token")
            assert any(asked.path == "/jwks" for asked in issuer.asked)
        finally:
            kafka.end()

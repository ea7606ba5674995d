"""Passwords and certificates of Kafka that are rotated while we run: taken up without a signal and in good order."""

import pytest

from lib.checker import check_all, check_once
from lib.guarded import PLAIN, GuardedKafka
from lib.secrets import Mounted, put
from lib.waiting import holds_for
from lib.writer import Writer

USER, OLD, NEW = "relay", "the first password", "another  one's \\ password"


@pytest.fixture
def own_kafka(folder):
    """A broker whose own certificates this test may replace."""
    kafka = GuardedKafka(folder / "own-kafka").start()
    yield kafka
    kafka.end()


def _texts(authority, name):
    """What a client of that name needs, by the names of Kubernetes."""
    client = authority.issue(name)
    return {"tls_crt": client.certificate.read_text(), "tls_key": client.key.read_text(),
            "ca_crt": authority.certificate.read_text()}


def _mutual(kafka, mounted):
    return kafka.by_certificate(mounted.path("ca.crt"), mounted.path("tls.crt"), mounted.path("tls.key"))


def _restart(kafka):
    """So that all must log in anew."""
    kafka.stop()
    kafka.start()


def _goes_on(stage, relay):
    stage.insert_many(100, "a{0}")
    stage.wait_all_confirmed(60, relay)
    assert relay.is_alive()
    assert OLD not in relay.log_text() and NEW not in relay.log_text()
    check_all(stage.read(), stage.truth.events())


def _only(user, stage, kafka):
    """What comes from now on has come by this name."""
    kafka.reserve(user, stage.topic())


# --- certificates


def test_a_certificate_that_is_swapped_under_load_is_taken_up_and_nothing_is_sent_twice(
        stage_of_kafka, mortal_kafka, folder):
    stage = stage_of_kafka
    mounted = Mounted(folder / "mounted").update(**_texts(mortal_kafka.authority, "before"))
    relay = stage.relay(_mutual(mortal_kafka, mounted))
    with Writer(stage, threads=2, pause=0.005):
        stage.insert()
        stage.wait_all_confirmed(30, relay)
        mounted.update(**_texts(mortal_kafka.authority, "after"))
        relay.wait_log("event=kafka_secrets_reread", 40)
    stage.wait_all_confirmed(60, relay)
    check_once(stage.read())
    _only("CN=after", stage, mortal_kafka)
    _goes_on(stage, relay)
    (said,) = relay.log("kafka_secrets_reread")
    for name, file in (("certificate", "tls.crt"), ("key", "tls.key"), ("ca", "ca.crt")):
        assert f"ssl.{name}.location ({mounted.path(file)})" in said["files"]
    assert not relay.log("sink_broken") and not relay.log("kafka_secrets_unusable")
    check_once(stage.read())
    relay.stop()


def test_half_of_a_pair_is_not_taken_up_and_the_old_one_stays_in_use(stage_of_kafka, mortal_kafka, folder):
    stage = stage_of_kafka
    before = mortal_kafka.authority.issue("before")
    after = mortal_kafka.authority.issue("after")
    mounted = Mounted(folder / "mounted").update(**_texts(mortal_kafka.authority, "unused"))
    own = folder / "own"
    own.mkdir()
    certificate = put(own / "client.crt", before.certificate.read_text())
    key = put(own / "client.key", before.key.read_text())
    relay = stage.relay({**_mutual(mortal_kafka, mounted), "kafka.ssl.certificate.location": certificate,
                         "kafka.ssl.key.location": key})
    stage.insert()
    stage.wait_all_confirmed(30, relay)

    put(certificate, after.certificate.read_text())
    relay.wait_log("event=kafka_secrets_unusable", 40)
    _goes_on(stage, relay)
    key.write_text("")
    relay.wait_log(f"{key} is empty", 40)
    _goes_on(stage, relay)
    key.unlink()
    relay.wait_log(f"{key} is gone", 40)
    _goes_on(stage, relay)
    assert all(said["level"] == "warn" for said in relay.log("kafka_secrets_unusable"))
    assert not relay.log("kafka_secrets_reread")

    put(key, after.key.read_text())
    relay.wait_log("event=kafka_secrets_reread", 40)
    _only("CN=after", stage, mortal_kafka)
    _goes_on(stage, relay)
    check_once(stage.read())


def test_a_certificate_that_the_broker_does_not_trust_yet_waits_beside_the_old_one(
        stage_of_kafka, mortal_kafka, folder):
    """The files may come before the broker has the new authority: what works goes on working."""
    stage = stage_of_kafka
    texts = _texts(mortal_kafka.authority, "before")
    mounted = Mounted(folder / "mounted").update(**texts)
    relay = stage.relay(_mutual(mortal_kafka, mounted))
    stage.insert()
    stage.wait_all_confirmed(30, relay)
    mounted.update(**{**_texts(mortal_kafka.stranger, "foreign"), "ca_crt": texts["ca_crt"]})
    relay.wait_log("event=kafka_secrets_unusable", 40)
    (said,) = relay.log("kafka_secrets_unusable")
    assert "ssl.certificate.location" in said["reason"]
    _goes_on(stage, relay)
    mounted.update(**_texts(mortal_kafka.authority, "after"))
    relay.wait_log("event=kafka_secrets_reread", 40)
    _goes_on(stage, relay)
    check_once(stage.read())


def test_a_broker_that_was_given_another_authority_first_is_waited_for_until_the_files_follow(
        make_stage, own_kafka, folder):
    stage = make_stage(kafka=own_kafka)
    stage.create_topic(partitions=2)
    mounted = Mounted(folder / "mounted").update(**_texts(own_kafka.authority, "client"))
    relay = stage.relay(_mutual(own_kafka, mounted))
    stage.insert()
    stage.wait_all_confirmed(30, relay)

    own_kafka.stop()
    stage.insert_many(500, "a{0}")  # on their way when nothing lets them through
    own_kafka.renew(own_kafka.stranger)
    own_kafka.start()
    relay.wait_log("certificate verify failed", 60)
    holds_for(lambda: relay.is_alive() and stage.confirmed() < stage.truth.events()[1].end_lsn, 3, "it waits")
    mounted.update(**_texts(own_kafka.stranger, "client"))
    _goes_on(stage, relay)
    assert relay.log("kafka_secrets_reread")


def test_keys_and_certificates_in_files_of_our_own_variables_are_taken_up(stage_of_kafka, mortal_kafka, folder):
    stage = stage_of_kafka
    texts = _texts(mortal_kafka.authority, "before")
    mounted = Mounted(folder / "mounted").update(**texts)
    relay = stage.relay(
        {**_mutual(mortal_kafka, mounted), "kafka.ssl.certificate.location": None, "kafka.ssl.key.location": None},
        environment={"WALPOST__KAFKA__SSL_KEY_PEM_FILE": str(mounted.path("tls.key")),
                     "WALPOST__KAFKA__SSL_CERTIFICATE_PEM_FILE": str(mounted.path("tls.crt"))})
    stage.insert()
    stage.wait_all_confirmed(30, relay)
    mounted.update(**_texts(mortal_kafka.authority, "after"))
    relay.wait_log("event=kafka_secrets_reread", 40)
    (said,) = relay.log("kafka_secrets_reread")
    assert f"ssl.key.pem ({mounted.path('tls.key')})" in said["files"]
    _only("CN=after", stage, mortal_kafka)
    _goes_on(stage, relay)


# --- passwords


@pytest.mark.parametrize("first", ["broker", "file"])
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_password_that_was_rotated_is_used_at_the_next_login(
        stage_of_kafka, mortal_kafka, newer, folder, mechanism, first):
    stage = stage_of_kafka
    mortal_kafka.set_password(USER, OLD, mechanism)
    file = put(folder / "password", OLD + "\n")
    relay = stage.relay(mortal_kafka.by_password(mechanism, USER),
                        environment={**newer, "WALPOST__KAFKA__SASL_PASSWORD_FILE": str(file)})
    stage.insert()
    stage.wait_all_confirmed(30, relay)

    change = {"broker": lambda: mortal_kafka.set_password(USER, NEW, mechanism), "file": lambda: put(file, NEW)}
    change.pop(first)()
    if first == "file":
        relay.wait_log("event=kafka_secrets_reread", 40)
    _restart(mortal_kafka)
    stage.insert_many(50, "a{0}")
    relay.wait_log("uthentication failed", 60)
    holds_for(lambda: relay.is_alive() and stage.confirmed() < stage.truth.events()[1].end_lsn, 2, "it waits")
    change.popitem()[1]()
    _goes_on(stage, relay)
    (said,) = relay.log("kafka_secrets_reread")
    assert said["files"] == f"sasl.password ({file})"
    assert not relay.log("sink_broken")  # the same client went on
    check_once(stage.read())


def test_user_and_password_in_files_change_together(stage_of_kafka, mortal_kafka, folder):
    """As keys of an API do. By PLAIN, which the oldest librdkafka speaks too."""
    stage = stage_of_kafka
    user, password = put(folder / "user", "plain\n"), put(folder / "password", PLAIN["plain"] + "\n")
    relay = stage.relay({**mortal_kafka.by_password("PLAIN", USER), "kafka.sasl.username": None}, environment={
        "WALPOST__KAFKA__SASL_USERNAME_FILE": str(user), "WALPOST__KAFKA__SASL_PASSWORD_FILE": str(password)})
    stage.insert()
    stage.wait_all_confirmed(30, relay)
    put(user, "admin\n")
    put(password, PLAIN["admin"] + "\n")
    relay.wait_log("event=kafka_secrets_reread", 40)
    _only("admin", stage, mortal_kafka)
    _restart(mortal_kafka)
    _goes_on(stage, relay)


def test_without_the_right_password_at_the_start_it_ends_as_ever(stage_of_kafka, mortal_kafka, folder):
    stage = stage_of_kafka
    file = put(folder / "password", "wrong")
    relay = stage.new_relay({**mortal_kafka.by_password("PLAIN", USER), "kafka.sasl.username": "plain"},
                            environment={"WALPOST__KAFKA__SASL_PASSWORD_FILE": str(file)}).start()
    stage.insert()
    assert relay.wait_exit(40) == 2
    assert stage.read() == []

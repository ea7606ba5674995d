"""Kafka nodes whose clients log in by OAUTHBEARER: one that looks itself, one whose door is a front of lib/doubles."""

from pathlib import Path

from lib.certificates import Authority
from lib.doubles.kafka_front import IPV4, KafkaFront
from lib.kafka import Kafka
from lib.ports import take_port

_OAUTH = """
listeners=PLAINTEXT://127.0.0.1:{{port}},OAUTH://127.0.0.1:{oauth},CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},OAUTH://localhost:{oauth}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OAUTH:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.oauth.ssl.keystore.type=PEM
listener.name.oauth.ssl.keystore.location={certificate}
listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.oauth.oauthbearer.connections.max.reauth.ms={session_ms}
listener.name.oauth.oauthbearer.sasl.server.callback.handler.class=\
org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler
listener.name.oauth.oauthbearer.sasl.oauthbearer.jwks.endpoint.url={jwks}
listener.name.oauth.oauthbearer.sasl.oauthbearer.expected.audience={audience}
listener.name.oauth.oauthbearer.sasl.oauthbearer.expected.issuer={issuer}
listener.name.oauth.oauthbearer.sasl.oauthbearer.clock.skew.seconds=0
listener.name.oauth.oauthbearer.sasl.jaas.config=\
org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;
"""

_FRONTED = """
listeners=PLAINTEXT://127.0.0.1:{{port}},FRONTED://127.0.0.1:{behind},CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},FRONTED://localhost:{front}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,FRONTED:PLAINTEXT,CONTROLLER:PLAINTEXT
"""


def _files(folder):
    files = Path(folder).with_name(Path(folder).name + "-certificates")
    files.mkdir(parents=True)
    files.chmod(0o755)
    return files


class OauthKafka(Kafka):
    """Validates tokens by the keys of `issuer`, an Oidc of lib/doubles/clouds.py."""

    def __init__(self, folder, issuer, session_ms=3600_000):
        self.authority = Authority(_files(folder), "authority")
        # From 4.0 on a broker asks only where it is told that it may (KIP-1139).
        self.heap = (*Kafka.heap, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.jwks_url}")
        self._oauth = take_port()
        super().__init__(folder, _OAUTH.format(
            oauth=self._oauth, certificate=self.authority.issue("kafka").both, jwks=issuer.jwks_url,
            audience=issuer.audience, issuer=issuer.url, session_ms=session_ms))

    def relay_config(self):
        """Of a relay that comes in here; the login is still to be given."""
        return {"kafka.bootstrap.servers": f"localhost:{self._oauth}", "kafka.security.protocol": "SASL_SSL",
                "kafka.ssl.ca.location": self.authority.certificate, **IPV4}


class FrontedKafka(Kafka):
    """`front` is its door, a KafkaFront, which asks `front.check`; `session_ms` too may be changed at any time."""

    def __init__(self, folder, check=None, session_ms=None):
        self.authority = Authority(_files(folder), "authority")
        behind = take_port()
        self.front = KafkaFront(self.authority.issue("kafka"), behind, check, session_ms)
        super().__init__(folder, _FRONTED.format(behind=behind, front=self.front.port))

    def relay_config(self):
        return self.front.relay_config(self.authority)

    def end(self):
        super().end()
        self.front.end()

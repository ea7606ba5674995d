"""Servers that look who comes. The broker has several doors, some of which no one should enter."""

import itertools
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding, AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType,
    ScramCredentialInfo, ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion,
)

from lib.certificates import LOCAL, Authority
from lib.kafka import Kafka
from lib.line import Line
from lib.ports import take_port
from lib.postgres import Postgres
from lib.waiting import wait_until

_iterations = itertools.count(4096)  # nobody tells a password: these tell one from the next

_DOORS = """
listeners=PLAINTEXT://127.0.0.1:{{port}},SLOW://127.0.0.1:{behind_line},MUTUAL://127.0.0.1:{mutual},\
PASSWORD://127.0.0.1:{password},EXPIRED://127.0.0.1:{expired},ELSEWHERE://127.0.0.1:{elsewhere},\
CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},SLOW://127.0.0.1:{line},MUTUAL://localhost:{mutual},\
PASSWORD://localhost:{password},EXPIRED://localhost:{expired},ELSEWHERE://localhost:{elsewhere}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SLOW:PLAINTEXT,MUTUAL:SSL,PASSWORD:SASL_SSL,EXPIRED:SSL,\
ELSEWHERE:SSL,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512,PLAIN
listener.name.password.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_plain="plain's password" user_admin="admin's password";
listener.name.password.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.password.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.truststore.type=PEM
ssl.truststore.location={authority}
ssl.keystore.type=PEM
ssl.keystore.location={right}
listener.name.mutual.ssl.client.auth=required
listener.name.expired.ssl.keystore.type=PEM
listener.name.expired.ssl.keystore.location={old}
listener.name.elsewhere.ssl.keystore.type=PEM
listener.name.elsewhere.ssl.keystore.location={other}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:admin
allow.everyone.if.no.acl.found=true
"""

# Whom the door "password" lets in without having been told: users of the mechanism PLAIN.
PLAIN = {"plain": "plain's password", "admin": "admin's password"}
SCRAM = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


class GuardedKafka(Kafka):
    """Who comes in by the open door may do all; who has a certificate or a password, what no ACL forbids."""

    def __init__(self, folder, more=""):
        files = Path(folder).with_name(Path(folder).name + "-certificates")
        files.mkdir(parents=True)
        files.chmod(0o755)
        self.authority = Authority(files, "authority")
        self.stranger = Authority(files, "stranger")
        self._doors = {name: take_port() for name in ("mutual", "password", "expired", "elsewhere")}
        behind_line = take_port()
        self.line = Line(behind_line)
        self._trusted, self._right = files / "trusted.crt", files / "right.pem"
        self.renew(self.authority)
        super().__init__(folder, more + _DOORS.format(
            **self._doors, behind_line=behind_line, line=self.line.port, authority=self._trusted,
            right=self._right, old=self.authority.issue("old", expired=True).both,
            other=self.authority.issue("other", names="DNS:elsewhere.example").both,
        ))

    def renew(self, authority):
        """At its next start its certificate is of this one, and only clients' of this one are good."""
        self._trusted.write_text(authority.certificate.read_text())
        self._right.write_text(authority.issue("kafka").both.read_text())

    @property
    def slow_address(self):
        """The door that is at the end of `line`."""
        return f"127.0.0.1:{self.line.port}"

    def door(self, name):
        """The address of mutual, password, expired or elsewhere."""
        return f"localhost:{self._doors[name]}"

    def by_certificate(self, authority, certificate, key):
        """Configuration of a relay that comes in by the door "mutual" with these files."""
        return {
            "kafka.bootstrap.servers": self.door("mutual"),
            "kafka.security.protocol": "SSL",
            "kafka.ssl.ca.location": authority,
            "kafka.ssl.certificate.location": certificate,
            "kafka.ssl.key.location": key,
        }

    def by_password(self, mechanism, user):
        """And by the door "password"; the password itself is still to be given."""
        return {
            "kafka.bootstrap.servers": self.door("password"),
            "kafka.security.protocol": "SASL_SSL",
            "kafka.ssl.ca.location": self.authority.certificate,
            "kafka.sasl.mechanisms": mechanism,
            "kafka.sasl.username": user,
        }

    def set_password(self, user, password, mechanism="SCRAM-SHA-256"):
        """In force when this returns."""
        iterations = next(_iterations)
        info = ScramCredentialInfo(SCRAM[mechanism], iterations)
        self._change_user(UserScramCredentialUpsertion(user, info, password.encode()))
        wait_until(lambda: iterations in self._iterations_of(user), 20, f"the broker knows the password of {user}")

    def _iterations_of(self, user):
        """Of the passwords that the broker knows, which hears of them a moment after the controller."""
        admin = self._admin()
        try:
            told = admin.describe_user_scram_credentials([user])[user].result(20)
        except KafkaException:  # of nobody of that name
            return []
        return [info.iterations for info in told.scram_credential_infos]

    def command_config(self, folder):
        """For Kafka's own tools at the door "password": a super user's properties."""
        file = Path(folder) / "admin.properties"
        file.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PEM\n"
            f"ssl.truststore.location={self.authority.certificate}\n"
            "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="admin" password="{PLAIN["admin"]}";\n')
        return file

    def change_acls(self, *bindings, take_back=False):
        """Makes ACLs, or takes them back; in force when this returns."""
        admin = self._admin()
        filters = [AclBindingFilter(b.restype, b.name, b.resource_pattern_type, b.principal, b.host, b.operation,
                                    b.permission_type) for b in bindings]
        results = admin.delete_acls(filters) if take_back else admin.create_acls(list(bindings))
        for result in results.values():
            result.result(20)

        def is_told():
            """The broker hears of it a moment after the controller."""
            told = [bool(admin.describe_acls(one).result(20)) for one in filters]
            return not any(told) if take_back else all(told)

        wait_until(is_told, 20, "the broker knows the ACLs")

    def forget_password(self, user, mechanism="SCRAM-SHA-256"):
        self._change_user(UserScramCredentialDeletion(user, SCRAM[mechanism]))

    def _change_user(self, change):
        admin = self._admin()
        for result in admin.alter_user_scram_credentials([change]).values():
            result.result(20)

    @staticmethod
    def _denial(user, topic, operation):
        return AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{user}", "*",
                          operation, AclPermissionType.DENY)

    def forbid(self, user, topic, operation=AclOperation.WRITE):
        """`user` may not write to `topic`."""
        self.change_acls(self._denial(user, topic, operation))

    @contextmanager
    def deprived(self, user):
        """`user` may not begin an idempotent producer: that wants WRITE on any topic, or IDEMPOTENT_WRITE."""
        denials = [self._denial(user, "*", AclOperation.WRITE), AclBinding(
            ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL, f"User:{user}", "*",
            AclOperation.IDEMPOTENT_WRITE, AclPermissionType.DENY)]
        self.change_acls(*denials)
        yield
        self.change_acls(*denials, take_back=True)

    def reserve(self, user, topic):
        """Of all that come with a certificate or a password only `user` may write to `topic`."""
        self.change_acls(AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{user}", "*",
                                    AclOperation.ALL, AclPermissionType.ALLOW))

    def allow_again(self, user, topic, operation=AclOperation.WRITE):
        """Takes that back."""
        self.change_acls(self._denial(user, topic, operation), take_back=True)

    def end(self):
        super().end()
        self.line.end()


class GuardedPostgres(Postgres):
    """A server that lets `RELAY` in by TLS only, with a certificate and a password; everybody else as usual."""

    RELAY = "relay"
    PASSWORD = "it's  a\\secret"

    def __init__(self, version, folder):
        super().__init__(version, folder)
        self._files = self.folder / "certificates"
        self._files.mkdir()
        self._files.chmod(0o755)
        self.authority = Authority(self._files, "authority")
        self.stranger = Authority(self._files, "stranger")
        self.client = self.authority.issue(self.RELAY)
        (self.data / "pg_hba.conf").write_text(
            f"hostssl all {self.RELAY} 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n"
            f"host all {self.RELAY} 127.0.0.1/32 reject\n"
            "host all all 127.0.0.1/32 trust\n")

    def start(self, names=LOCAL, expired=False):
        """With a certificate for these names."""
        issued = self._issue(self.authority, names, expired)
        self._trusted = self._files / "trusted.crt"
        self._trusted.write_text(self.authority.certificate.read_text())
        return super().start(ssl="on", ssl_cert_file=issued.certificate, ssl_key_file=issued.key,
                             ssl_ca_file=self._trusted)

    def _issue(self, authority, names=LOCAL, expired=False):
        issued = authority.issue("server", names, expired)
        issued.key.chmod(0o600)
        self.hand_over(issued.key)
        return issued

    def renew(self, authority):
        """From now on its certificate is of this one, and only clients' of this one are good."""
        issued, now = self._issue(authority), self._issue(self.authority)
        for new, old in ((issued.certificate, now.certificate), (issued.key, now.key)):
            old.write_text(new.read_text())
        self._trusted.write_text(authority.certificate.read_text())
        self.reload_conf()

    def admit(self, stage):
        """Makes the role, with what the relay of `stage` needs."""
        stage.sql(f"DROP ROLE IF EXISTS {self.RELAY}")
        stage.sql(f"CREATE ROLE {self.RELAY} LOGIN REPLICATION PASSWORD {self._literal(self.PASSWORD)}")
        stage.sql(f"GRANT USAGE ON SCHEMA walpost TO {self.RELAY};"
                  f"GRANT SELECT, INSERT, UPDATE ON walpost.slot_checkpoint TO {self.RELAY}")

    @staticmethod
    def _literal(text):
        return "'" + text.replace("'", "''") + "'"

    def relay_conninfo(self, stage, **changes):
        """As the relay should connect; None leaves a parameter out."""
        facts = {
            "host": "localhost", "user": self.RELAY, "password": self.PASSWORD, "sslmode": "verify-full",
            "sslrootcert": self.authority.certificate, "sslcert": self.client.certificate,
            "sslkey": self.client.key, **changes,
        }
        return self.conninfo(stage.database, **{name: value for name, value in facts.items() if value is not None})

#include <string.h>

#include "support/check.h"
#include "walpost/kafka/reaction.h"

#define NEW 0x020601ff
#define OLD 0x020002ff

static const char SCRAM[] =
	"SASL authentication error: Authentication failed during authentication "
	"due to invalid credentials with SASL mechanism SCRAM-SHA-256";
static const char GSSAPI[] =
	"Failed to initialize SASL authentication: SASL handshake failed (start (-4)): "
	"SASL(-4): no mechanism available: No worthy mechs found";

static void wrong_credentials_are_about_the_login(void **state)
{
	CHECK(wp_authentication_is_login(RD_KAFKA_RESP_ERR__AUTHENTICATION));
	CHECK(wp_authentication_is_login(RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED));
	CHECK(wp_authentication_is_login(RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM));
	CHECK(!wp_authentication_is_login(RD_KAFKA_RESP_ERR__SSL));
	CHECK(!wp_authentication_is_login(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
}

static void a_connection_lost_to_a_refused_certificate_is_about_tls(void **state)
{
	CHECK(wp_authentication_is_tls(RD_KAFKA_RESP_ERR__SSL, "SSL handshake failed"));
	CHECK(wp_authentication_is_tls(RD_KAFKA_RESP_ERR__TRANSPORT,
				       "Receive failed: sslv3 alert bad certificate"));
	CHECK(wp_authentication_is_tls(RD_KAFKA_RESP_ERR__TRANSPORT, "tlsv1 alert unknown ca"));
	CHECK(!wp_authentication_is_tls(RD_KAFKA_RESP_ERR__TRANSPORT, "Connect failed: refused"));
}

/* librdkafka's and OpenSSL's sentences for it. */
static void a_broker_that_hangs_up_in_the_handshake_may_only_be_starting(void **state)
{
	static const char *const texts[] = {
		"ssl://b:9092/bootstrap: SSL handshake failed: Disconnected: connecting to a "
		"PLAINTEXT broker listener? (after 1ms in state SSL_HANDSHAKE)",
		"ssl://b:9092/bootstrap: SSL handshake failed: error:0A000126:SSL routines::"
		"unexpected eof while reading (after 23ms in state SSL_HANDSHAKE)",
		"ssl://b:9092/bootstrap: Disconnected (after 8ms in state SSL_HANDSHAKE)",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CHECK(wp_authentication_hung_up(texts[i]));
		CHECK(!wp_authentication_is_tls(RD_KAFKA_RESP_ERR__SSL, texts[i]));
	}
	CHECK(!wp_authentication_hung_up("ssl://b:9092/1: Disconnected (after 8ms in state UP)"));
	CHECK(!wp_authentication_hung_up("SSL handshake failed: certificate verify failed"));
}

static void check_cure(rd_kafka_resp_err_t code, const char *text, int version, const char *part)
{
	struct wp_error cure;

	wp_authentication_cure(code, text, version, false, &cure);
	CHECK_HAS(cure.text, part);
}

static void each_trouble_has_its_cure(void **state)
{
	check_cure(RD_KAFKA_RESP_ERR__SSL, "certificate verify failed", NEW, "ssl.ca.location");
	check_cure(RD_KAFKA_RESP_ERR__SSL, "certificate verify failed", NEW, "expired");
	check_cure(RD_KAFKA_RESP_ERR__TRANSPORT, "alert bad certificate", NEW,
		   "ssl.certificate.location");
	check_cure(RD_KAFKA_RESP_ERR__TRANSPORT, "alert certificate expired", NEW,
		   "ssl.certificate.location");
	check_cure(RD_KAFKA_RESP_ERR__TRANSPORT, "alert unknown ca", NEW, "truststore");
	check_cure(RD_KAFKA_RESP_ERR__SSL, "wrong version number", NEW, "security.protocol");
	check_cure(RD_KAFKA_RESP_ERR__AUTHENTICATION, SCRAM, NEW, "sasl.password");
	check_cure(RD_KAFKA_RESP_ERR__AUTHENTICATION, GSSAPI, NEW, "libsasl2-modules-gssapi-mit");
}

static void a_librdkafka_too_old_for_scram_is_named(void **state)
{
	struct wp_error cure;

	check_cure(RD_KAFKA_RESP_ERR__AUTHENTICATION, SCRAM, OLD, "librdkafka 2.0.2");
	check_cure(RD_KAFKA_RESP_ERR__AUTHENTICATION, SCRAM, OLD, "2.6.1");
	wp_authentication_cure(RD_KAFKA_RESP_ERR__AUTHENTICATION, SCRAM, NEW, false, &cure);
	CHECK(strstr(cure.text, "librdkafka") == NULL);
	wp_authentication_cure(RD_KAFKA_RESP_ERR__AUTHENTICATION, "mechanism PLAIN", OLD, false,
			       &cure);
	CHECK(strstr(cure.text, "librdkafka") == NULL);
}

/* Amazon MSK's sentence, and Kafka's own. */
static void with_a_login_it_is_the_token_that_was_refused(void **state)
{
	static const char *const texts[] = {
		"SASL authentication error: [4a2e]: Access denied",
		"SASL authentication error: {\"status\":\"invalid_token\"}",
	};
	struct wp_error cure;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		wp_authentication_cure(RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, texts[i], NEW,
				       true, &cure);
		CHECK_HAS(cure.text, "rejects the token");
		CHECK(strstr(cure.text, "sasl.password") == NULL);
	}
}

int main(void)
{
	return RUN(PLAIN(wrong_credentials_are_about_the_login),
		   PLAIN(a_connection_lost_to_a_refused_certificate_is_about_tls),
		   PLAIN(a_broker_that_hangs_up_in_the_handshake_may_only_be_starting),
		   PLAIN(each_trouble_has_its_cure), PLAIN(a_librdkafka_too_old_for_scram_is_named),
		   PLAIN(with_a_login_it_is_the_token_that_was_refused));
}

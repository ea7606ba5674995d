#include <stddef.h>
#include <string.h>

#include "walpost/kafka/reaction.h"

struct row {
	rd_kafka_resp_err_t code;
	enum wp_reaction reaction;
	bool event_level;
	const char *cure; /* of what only the event's topic can change; or NULL */
};

static const struct row table[] = {
	{ RD_KAFKA_RESP_ERR_NO_ERROR, WP_REACT_NONE, false, NULL },
	/* Our own purge caused these, or the producer broke over another record. */
	{ RD_KAFKA_RESP_ERR__PURGE_QUEUE, WP_REACT_NONE, false, NULL },
	{ RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, WP_REACT_NONE, false, NULL },

	/* One record can cause these, and then its whole batch fails. */
	{ RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, WP_REACT_ISOLATE, true,
	  "raise max.message.bytes of the topic" },
	/* The batch is above segment.bytes; one of innocent events can be, so each goes alone
	 * then. */
	{ RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, WP_REACT_ISOLATE, true,
	  "raise segment.bytes of the topic" },
	{ RD_KAFKA_RESP_ERR_INVALID_RECORD, WP_REACT_ISOLATE, true,
	  "a compacted topic rejects records without a key: change cleanup.policy of the topic, or "
	  "give the event a key" },
	{ RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, WP_REACT_ISOLATE, true,
	  "its timestamp is outside the range that the topic accepts: correct it, or raise "
	  "message.timestamp.before.max.ms or message.timestamp.after.max.ms of the topic" },

	/* A human creates the topic or allows its use, and it flows on. */
	{ RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, WP_REACT_WAIT_TOPIC, false, NULL },

	/* The producer is unusable, or the order of what is in flight is unknown. */
	{ RD_KAFKA_RESP_ERR__FATAL, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, WP_REACT_REWIND, false, NULL },
};

static const struct row *find_reaction(rd_kafka_resp_err_t code)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].code == code)
			return &table[i];
	}
	return NULL;
}

enum wp_reaction wp_kafka_reaction(rd_kafka_resp_err_t code)
{
	const struct row *row = find_reaction(code);

	return row != NULL ? row->reaction : WP_REACT_REWIND;
}

bool wp_kafka_is_event_level(rd_kafka_resp_err_t code)
{
	const struct row *row = find_reaction(code);

	return row != NULL && row->event_level;
}

const char *wp_kafka_cure(rd_kafka_resp_err_t code)
{
	const struct row *row = find_reaction(code);

	return row != NULL ? row->cure : NULL;
}

/* librdkafka's pull request 4895 mended it; Kafka 4 refuses what older ones send. */
#define SCRAM_MENDED 0x020601

static const struct {
	const char *part;
	const char *cure;
} tls_cures[] = {
	/* TLS alerts are sent by the broker. */
	{ "alert bad certificate", "the broker requires a client certificate: correct "
				   "ssl.certificate.location and ssl.key.location in [kafka]" },
	{ "alert certificate", "the broker rejects walpost's certificate: correct "
			       "ssl.certificate.location and ssl.key.location in [kafka]" },
	{ "alert unknown ca", "the broker does not trust walpost's certificate: correct "
			      "ssl.certificate.location in [kafka], or the broker's truststore" },
	{ "certificate verify failed",
	  "the broker's certificate has expired, was issued by another authority than "
	  "ssl.ca.location, or does not match the host names in bootstrap.servers and the broker's "
	  "advertised.listeners: renew it, or correct these" },
	{ "", "correct security.protocol and ssl.* in [kafka]" },
};

bool wp_authentication_is_login(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
	       code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED ||
	       code == RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM ||
	       code == RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE;
}

/* The sentence is that of rd_kafka_oauthbearer_set_token_failure0(). */
bool wp_authentication_lacks_token(const char *text)
{
	return strstr(text, "Failed to acquire SASL OAUTHBEARER token") != NULL;
}

bool wp_authentication_hung_up(const char *text)
{
	bool is_handshake =
		strstr(text, "SSL handshake") != NULL || strstr(text, "SSL_HANDSHAKE") != NULL;

	return is_handshake &&
	       (strstr(text, "Disconnected") != NULL || strstr(text, "unexpected eof") != NULL);
}

bool wp_authentication_is_tls(rd_kafka_resp_err_t code, const char *text)
{
	if (wp_authentication_hung_up(text))
		return false;
	return code == RD_KAFKA_RESP_ERR__SSL || strstr(text, "alert bad certificate") != NULL ||
	       strstr(text, "alert certificate") != NULL ||
	       strstr(text, "alert unknown ca") != NULL;
}

static void cure_login(const char *text, int version, bool by_token, struct wp_error *ret)
{
	int mended = version >> 8; /* the last byte tells release candidates apart */

	if (by_token)
		(void)wp_error_set(ret, WP_CONFIG,
				   "the broker rejects the token: correct kafka.login with its "
				   "region and role, or what kafka.token_command prints; `walpost "
				   "check` shows whom the token stands for, and until when");
	else if (strstr(text, "SCRAM") != NULL && mended < SCRAM_MENDED)
		(void)wp_error_set(
			ret, WP_CONFIG,
			"correct sasl.username and sasl.password in [kafka]; if they are correct: "
			"Kafka 4 rejects the SCRAM implementation of librdkafka %d.%d.%d; use "
			"2.6.1 or newer, or a client certificate",
			mended >> 16, mended >> 8 & 0xff, mended & 0xff);
	else if (strstr(text, "no mechanism available") != NULL) /* sasl_client_start() */
		(void)wp_error_set(
			ret, WP_CONFIG,
			"Cyrus SASL has no module for sasl.mechanisms in [kafka]: install it (for "
			"GSSAPI, Debian's libsasl2-modules-gssapi-mit and krb5-user; the container "
			"image has no Kerberos), or use another mechanism");
	else
		(void)wp_error_set(ret, WP_CONFIG,
				   "correct sasl.mechanisms, sasl.username and sasl.password in "
				   "[kafka]");
}

void wp_authentication_cure(rd_kafka_resp_err_t code, const char *text, int version, bool by_token,
			    struct wp_error *ret)
{
	size_t i = 0;

	if (wp_authentication_is_login(code)) {
		cure_login(text, version, by_token, ret);
		return;
	}
	while (strstr(text, tls_cures[i].part) == NULL)
		i++; /* the last row fits all */
	(void)wp_error_set(ret, WP_CONFIG, "%s", tls_cures[i].cure);
}

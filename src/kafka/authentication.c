#include "walpost/kafka/authentication.h"

#include <stddef.h>
#include <string.h>

/* Its pull request 4895; Kafka 4 refuses what older ones send. */
#define SCRAM_MENDED 0x020601

static const struct {
	const char *part;
	const char *cure;
} tls_cures[] = {
	/* Alerts are the broker's. */
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

static void cure_login(const char *text, int version, struct wp_error *ret)
{
	int mended = version >> 8; /* the last byte tells release candidates apart */

	if (strstr(text, "SCRAM") != NULL && mended < SCRAM_MENDED)
		(void)wp_error_set(
			ret, WP_CONFIG,
			"correct sasl.username and sasl.password in [kafka]; if they are correct: "
			"Kafka 4 rejects the SCRAM implementation of librdkafka %d.%d.%d; use "
			"2.6.1 or newer, or a client certificate",
			mended >> 16, mended >> 8 & 0xff, mended & 0xff);
	else
		(void)wp_error_set(ret, WP_CONFIG,
				   "correct sasl.mechanisms, sasl.username and sasl.password in "
				   "[kafka]");
}

void wp_authentication_cure(rd_kafka_resp_err_t code, const char *text, int version,
			    struct wp_error *ret)
{
	size_t i = 0;

	if (wp_authentication_is_login(code)) {
		cure_login(text, version, ret);
		return;
	}
	while (strstr(text, tls_cures[i].part) == NULL)
		i++; /* the last row fits all */
	(void)wp_error_set(ret, WP_CONFIG, "%s", tls_cures[i].cure);
}

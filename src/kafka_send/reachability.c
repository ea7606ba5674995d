#include "reachability.h"

#include <string.h>

#include "walpost/kafka/reaction.h"

/* A handshake can fail once because a broker restarts; failing this long it is wrong. */
#define TLS_PATIENCE_MS 3000

void wp_reachability_init(struct wp_reachability *r)
{
	*r = (struct wp_reachability){ .tls_failing_since_ms = -1, .probed_at_ms = INT64_MAX };
}

void wp_reachability_opened(struct wp_reachability *r, int64_t now_ms)
{
	r->heard_at_ms = r->probe_at_ms = now_ms;
}

void wp_reachability_sent(struct wp_reachability *r, int64_t now_ms)
{
	r->heard_at_ms = now_ms;
}

void wp_reachability_heard(struct wp_reachability *r, int64_t now_ms)
{
	/* An answer that waited for the end of an outage says nothing of how long they take. */
	if (r->was_reached && !r->is_reachable) {
		r->is_back = true;
		r->probe_at_ms = now_ms;
	}
	r->was_reached = r->is_reachable = true;
	r->heard_at_ms = r->answered_at_ms = now_ms;
	r->tls_failing_since_ms = -1;
	r->is_suspect = r->has_missed = false;
	r->last_error.text[0] = '\0';
}

/* A bootstrap server is called so; the names of the others are those of advertised.listeners. */
static const char *cure_of(const char *text)
{
	if (wp_authentication_hung_up(text))
		return WP_HUNG_UP_CURE;
	if (strstr(text, "Failed to resolve") != NULL && strstr(text, "/bootstrap") == NULL)
		return "; the broker advertises this name: let it resolve where walpost runs, or "
		       "correct advertised.listeners in the broker's server.properties";
	return "";
}

static void lose(struct wp_reachability *r, const char *text)
{
	/* What a broker's connection died of says more than that nobody answered. */
	if (r->last_error.text[0] != '\0')
		text = r->last_error.text;
	(void)wp_error_set(&r->outage, WP_IO, "Kafka does not answer: %s%s", text, cure_of(text));
	r->is_suspect = r->has_missed = r->is_reachable = false;
}

/*
 * One broker less is not an outage. A question just then may have gone to that
 * one, so a second is asked; unless everything was silent before. A broker that throttles us
 * answers later, and one that has answered something else meanwhile is there.
 */
void wp_reachability_unheard(struct wp_reachability *r, const char *text)
{
	bool has_answered_since = r->answered_at_ms > r->probed_at_ms;

	r->probed_at_ms = INT64_MAX;
	if (r->is_reachable && (r->is_throttled || has_answered_since))
		return;
	if (r->is_reachable && r->is_suspect && !r->has_missed)
		r->has_missed = true;
	else
		lose(r, text);
}

/*
 * It is asked at once whether any broker answers. librdkafka's "all brokers down" only counts as
 * one silence: before 2.11.1 it says so when one is (its issues 5126 and 5130).
 */
static void note_trouble(struct wp_reachability *r, rd_kafka_resp_err_t code, const char *text)
{
	if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		r->has_missed = true;
	else
		(void)wp_error_set(&r->last_error, WP_IO, "%s", text);
	if (r->is_reachable)
		r->is_suspect = true;
	else
		lose(r, text);
}

/* librdkafka tells the same error once in 30 s: a failure of TLS is remembered. */
bool wp_reachability_error(struct wp_reachability *r, rd_kafka_resp_err_t code, const char *text,
			   int64_t now_ms)
{
	note_trouble(r, code, text);
	/* Once a broker has let us in, such errors pass. */
	if (r->was_reached)
		return false;
	if (wp_authentication_is_tls(code, text) && r->tls_failing_since_ms < 0) {
		r->tls_failing_since_ms = now_ms;
		(void)wp_error_set(&r->tls_failure, WP_IO, "%s", text);
	}
	return wp_authentication_is_login(code);
}

int64_t wp_reachability_tls_wrong_at(const struct wp_reachability *r)
{
	return r->tls_failing_since_ms < 0 ? INT64_MAX : r->tls_failing_since_ms + TLS_PATIENCE_MS;
}

int64_t wp_reachability_probe_due(const struct wp_reachability *r, bool is_in_flight,
				  int32_t patience_ms)
{
	/* This is when something is in flight and nothing was heard for 3 s, or longer where
	 * answers take long. */
	int64_t silent_at_ms = r->heard_at_ms + patience_ms * 3 / 2;

	if (!r->is_reachable || r->is_suspect || r->is_back)
		return r->probe_at_ms;
	if (!is_in_flight)
		return INT64_MAX;
	return silent_at_ms > r->probe_at_ms ? silent_at_ms : r->probe_at_ms;
}

void wp_reachability_probed(struct wp_reachability *r, int64_t now_ms, int32_t patience_ms)
{
	r->probed_at_ms = now_ms;
	r->probe_at_ms = now_ms + patience_ms;
	r->is_back = false;
}

#include "delivery_reports.h"

#include <string.h>

#include "walpost/base/log.h"
#include "walpost/kafka/reaction.h"
#include "walpost/kafka/statistics.h"

/* So many log lines and errors are read in one go, so that a flood of them holds up nothing. */
#define OTHER_EVENTS_MAX 256
#define LINES_MAX 20
#define LINES_EACH_MS 10000

bool wp_delivery_report_is_answer(rd_kafka_resp_err_t code)
{
	return code > RD_KAFKA_RESP_ERR_NO_ERROR && !wp_authentication_is_login(code);
}

/* ---- a report ---- */

void wp_delivery_report_read(const rd_kafka_message_t *m, struct wp_report *ret)
{
	*ret = (struct wp_report){ .ticket = (wp_ticket)(uintptr_t)m->_private };
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		/* Without an error the record is always persisted, acks being all; the promise
		 * rests on it. */
		if (rd_kafka_message_status(m) == RD_KAFKA_MSG_STATUS_PERSISTED) {
			ret->outcome = WP_CONFIRMED;
			return;
		}
		ret->outcome = WP_REFUSED;
		ret->reaction = WP_REACT_REWIND;
		ret->code = "NOT_PERSISTED";
	} else if (m->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
		   m->err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) {
		ret->outcome = WP_PURGED;
	} else {
		ret->outcome = WP_REFUSED;
		ret->reaction = wp_kafka_reaction(m->err);
		ret->event_level = wp_kafka_is_event_level(m->err);
		ret->code = rd_kafka_err2name(m->err);
		ret->cure = wp_kafka_cure(m->err);
	}
}

/* ---- log lines ---- */

/* What librdkafka or we get over is a warning to us, whatever it calls it. */
static enum wp_log_level log_level_of(int syslog_level, const char *facility)
{
	/* The line announces our own choice (enable.gapless.guarantee) at each start. */
	if (strcmp(facility, "CONFWARN") == 0 || syslog_level >= 7)
		return WP_LOG_DEBUG;
	if (syslog_level >= 5)
		return WP_LOG_INFO;
	/* The error is fatal to this producer: another follows, and what cannot be got over has
	 * lines of its own. */
	if (strcmp(facility, "FATAL") == 0)
		return WP_LOG_WARN;
	return syslog_level >= 3 ? WP_LOG_WARN : WP_LOG_ERROR;
}

/* Returns true if this line may still be written. */
static bool within_limit(struct wp_log_limit *l, int64_t now_ms)
{
	if (now_ms - l->since_ms >= LINES_EACH_MS || l->since_ms == 0) {
		if (l->dropped > 0)
			wp_log(WP_LOG_WARN, "kafka_log_dropped", WP_INT("lines", l->dropped));
		*l = (struct wp_log_limit){ .since_ms = now_ms };
	}
	if (l->lines == LINES_MAX) {
		l->dropped++;
		return false;
	}
	l->lines++;
	return true;
}

static void log_line(struct wp_log_limit *l, rd_kafka_event_t *event, int64_t now_ms)
{
	const char *facility, *text;
	int syslog_level;

	if (rd_kafka_event_log(event, &facility, &text, &syslog_level) != 0)
		return;
	enum wp_log_level level = log_level_of(syslog_level, facility);
	/* `debug` was asked for, so it is not cut short. */
	if (level != WP_LOG_DEBUG && !within_limit(l, now_ms))
		return;
	wp_log(level, "kafka_log", WP_TEXT("facility", facility), WP_TEXT("text", text));
}

/* ---- events ---- */

static void read_fatal(struct wp_delivery_reports *d, const struct wp_client *client,
		       const char *text, struct wp_arrival *ret)
{
	/* The error's code is that of the cause, whatever is fatal. */
	d->fatal[0] = '\0';
	ret->kind = WP_ARRIVAL_FATAL;
	ret->code = rd_kafka_fatal_error(client->rk, d->fatal, sizeof(d->fatal));
	ret->text = d->fatal[0] != '\0' ? d->fatal : text;
}

/* Returns true when it is for others. */
static bool read_other(struct wp_delivery_reports *d, struct wp_client *client, int64_t now_ms,
		       struct wp_arrival *ret)
{
	const char *text;

	switch (rd_kafka_event_type(d->event)) {
	case RD_KAFKA_EVENT_ERROR:
		ret->kind = WP_ARRIVAL_ERROR;
		ret->code = rd_kafka_event_error(d->event);
		ret->text = rd_kafka_event_error_string(d->event);
		if (rd_kafka_event_error_is_fatal(d->event))
			read_fatal(d, client, ret->text, ret);
		return true;
	case RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT:
		ret->kind = WP_ARRIVAL_ANSWER;
		ret->event = d->event;
		return true;
	case RD_KAFKA_EVENT_LOG:
		log_line(&d->log_limit, d->event, now_ms);
		return false;
	case RD_KAFKA_EVENT_STATS:
		text = rd_kafka_event_stats(d->event);
		wp_statistics_read(text, strlen(text), &client->figures);
		return false;
	default:
		return false; /* nothing else was asked for */
	}
}

/* Only now does librdkafka free the room of the messages. */
static void end_event(struct wp_delivery_reports *d)
{
	if (d->event != NULL)
		rd_kafka_event_destroy(d->event);
	d->event = NULL;
	d->has_reports = false;
}

/* Returns true when the event has one more report. */
static bool read_next_report(const struct wp_delivery_reports *d, struct wp_arrival *ret)
{
	if (!d->has_reports)
		return false;
	ret->kind = WP_ARRIVAL_REPORT;
	ret->message = rd_kafka_event_message_next(d->event);
	return ret->message != NULL;
}

void wp_delivery_reports_begin(struct wp_delivery_reports *d)
{
	/* The descriptor tells only that a queue was empty and is not: until all
	 * have been seen empty, there is more. */
	d->has_more = true;
	d->others = 0;
}

bool wp_delivery_reports_next(struct wp_delivery_reports *d, struct wp_clients *clients,
			      int64_t now_ms, struct wp_arrival *ret)
{
	for (;;) {
		if (read_next_report(d, ret))
			return true;
		end_event(d);
		if (d->others >= OTHER_EVENTS_MAX)
			return false;
		d->event = wp_clients_poll(clients);
		if (d->event == NULL) {
			d->has_more = false;
			return false;
		}
		d->has_reports = rd_kafka_event_type(d->event) == RD_KAFKA_EVENT_DR;
		if (d->has_reports)
			continue;
		d->others++;
		if (read_other(d, &clients->list[clients->polled], now_ms, ret))
			return true;
	}
}

bool wp_delivery_reports_are_due(const struct wp_delivery_reports *d)
{
	return d->has_more || d->event != NULL;
}

void wp_delivery_reports_drop(struct wp_delivery_reports *d)
{
	end_event(d);
	d->has_more = false;
}

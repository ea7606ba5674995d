#include "scripted_sink.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct scripted_sink *self(struct wp_sink *s)
{
	return (struct scripted_sink *)s;
}

static void copy(char *to, size_t size, struct wp_span from)
{
	(void)snprintf(to, size, "%.*s", wp_span_is_null(from) ? 6 : (int)from.size,
		       wp_span_is_null(from) ? "(null)" : (const char *)from.data);
}

static void copy_headers(char *to, size_t size, const struct wp_record *r)
{
	size_t at = 0;

	to[0] = '\0';
	for (size_t i = 0; i < r->header_count && at < size; i++) {
		char value[64];
		copy(value, sizeof(value), r->headers[i].value);
		at += (size_t)snprintf(to + at, size - at, "%s%.*s=%s", i == 0 ? "" : " ",
				       (int)r->headers[i].name.size,
				       (const char *)r->headers[i].name.data, value);
	}
}

static enum wp_rc op_send(struct wp_sink *base, wp_ticket ticket, const struct wp_record *record,
			  struct wp_error *error)
{
	struct scripted_sink *s = self(base);

	s->offers++;
	if (s->answer != WP_OK)
		return wp_error_set(error, s->answer, "%s",
				    s->answer_error ? s->answer_error : "scripted");
	if (s->size_max > 0 && wp_record_size(record) > s->size_max)
		return wp_error_set(error, WP_DATA, "larger than %zu", s->size_max);
	if (s->refused_topic != NULL && wp_span_is(record->topic, s->refused_topic))
		return wp_error_set(error, WP_DATA, "topic %s takes nothing", s->refused_topic);
	assert(s->sent_count < SENT_MAX);
	struct sent *sent = &s->sent[s->sent_count++];
	*sent = (struct sent){
		.ticket = ticket,
		.timestamp_ms = record->timestamp_ms,
		.size = wp_record_size(record),
	};
	copy(sent->topic, sizeof(sent->topic), record->topic);
	copy(sent->id, sizeof(sent->id), record->id);
	copy(sent->key, sizeof(sent->key), record->key);
	copy(sent->value, sizeof(sent->value), record->value);
	copy_headers(sent->headers, sizeof(sent->headers), record);
	(void)wp_position_text(&record->position, sent->position);
	s->view.in_flight++;
	return WP_OK;
}

static size_t op_collect(struct wp_sink *base, int64_t now_ms, struct wp_report *reports,
			 size_t max)
{
	struct scripted_sink *s = self(base);
	size_t count = s->report_count < max ? s->report_count : max;

	memcpy(reports, s->reports, count * sizeof(*reports));
	memmove(s->reports, s->reports + count, (s->report_count - count) * sizeof(*reports));
	s->report_count -= count;
	s->view.in_flight -= count < s->view.in_flight ? count : s->view.in_flight;
	return count;
}

static void op_purge(struct wp_sink *base)
{
	struct scripted_sink *s = self(base);

	s->purges++;
	/* The last ones taken, if any, are those that it has not sent. */
	for (size_t i = s->sent_count - s->view.queued; i < s->sent_count; i++)
		scripted_sink_purged(s, s->sent[i].ticket);
	s->view.queued = 0;
}

static void op_restart(struct wp_sink *base, enum wp_batching batching)
{
	struct scripted_sink *s = self(base);

	s->restarts++;
	s->batching = batching;
	s->report_count = 0;
	s->view.in_flight = s->view.queued = 0;
	s->view.state = WP_SINK_STARTING;
}

static void op_topics(struct wp_sink *base, struct wp_topic_list *into)
{
	const struct scripted_sink *s = self(base);

	for (size_t i = 0; i < s->sent_count; i++)
		wp_topic_list_add(into, s->sent[i].topic, strlen(s->sent[i].topic));
}

static void op_ask_topic_ends(struct wp_sink *base, const struct wp_topic_ends_question *question)
{
	struct scripted_sink *s = self(base);

	s->topic_ends_questions++;
	s->topic_ends_question = *question;
	s->view.topic_ends = s->topic_ends_answer;
}

static const struct wp_sink_view *op_view(struct wp_sink *base)
{
	return &self(base)->view;
}

static int op_fd(struct wp_sink *base, short *ret_events)
{
	*ret_events = 0;
	return -1;
}

static int64_t op_due(struct wp_sink *base)
{
	return self(base)->due_ms;
}

static void op_free(struct wp_sink *base, int64_t wait_ms)
{
}

static const struct wp_sink_ops OPS = {
	.send = op_send,
	.collect = op_collect,
	.purge = op_purge,
	.restart = op_restart,
	.topics = op_topics,
	.ask_topic_ends = op_ask_topic_ends,
	.view = op_view,
	.fd = op_fd,
	.due = op_due,
	.free = op_free,
};

void scripted_sink_init(struct scripted_sink *s)
{
	*s = (struct scripted_sink){
		.base = { &OPS },
		.view = { .state = WP_SINK_READY, .reachable = true },
		.due_ms = INT64_MAX,
		.topic_ends_answer = { .state = WP_TOPIC_ENDS_KNOWN },
	};
}

static void report(struct scripted_sink *s, const struct wp_report *r)
{
	assert(s->report_count < SENT_MAX);
	s->reports[s->report_count++] = *r;
}

void scripted_sink_confirm(struct scripted_sink *s, wp_ticket ticket)
{
	report(s, &(struct wp_report){ .ticket = ticket, .outcome = WP_CONFIRMED });
}

void scripted_sink_refuse(struct scripted_sink *s, wp_ticket ticket, enum wp_reaction reaction,
			  bool event_level, const char *code)
{
	report(s, &(struct wp_report){
			  .ticket = ticket,
			  .outcome = WP_REFUSED,
			  .reaction = reaction,
			  .event_level = event_level,
			  .code = code,
		  });
}

void scripted_sink_purged(struct scripted_sink *s, wp_ticket ticket)
{
	report(s, &(struct wp_report){ .ticket = ticket, .outcome = WP_PURGED });
}

const struct sent *scripted_sink_last(const struct scripted_sink *s)
{
	assert(s->sent_count > 0);
	return &s->sent[s->sent_count - 1];
}

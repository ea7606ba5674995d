#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/buffer.h"
#include "walpost/base/log.h"
#include "walpost/base/utf8.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres/connection_plan.h"
#include "walpost/postgres_stream/copy.h"
#include "walpost/postgres_stream/last_slot_checkpoint.h"
#include "walpost/postgres_stream/probe.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres/query.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"
#include "walpost/postgres_stream/stream.h"
#include "walpost/postgres_preflight/stream_facts.h"
#include "walpost/postgres_stream/watch.h"

#define SQL_SIZE_MAX (1024 * 1024)

/* A server that shuts down in smart mode waits for ordinary sessions, so none of ours lives
 * long. */
#define BESIDE_LIFE_S 10.
#define BESIDE_BUSY_S 1. /* it is in use: another look then */

/*
 * libpq's input buffer grows to what it once had to hold and never shrinks; made large before the
 * stream, it takes more of it with each read. The statement looks at no table.
 */
static const char grow_sql[] = "SELECT pg_catalog.repeat('x', 1000000)";

struct stream {
	struct wp_source source; /* first: a wp_source is one */
	struct ev_loop *loop;	 /* borrowed */
	struct wp_stream_setup setup;
	struct wp_source_view view;
	/*
	 * A walsender decodes old rows by what its caches hold of tables: SQL that looked at the
	 * outbox there before would have it decode by the columns of today, and crash or send
	 * nonsense when they were others. So none is run on one that decodes.
	 */
	struct wp_connection *connection;
	struct wp_connection *beside; /* for SQL, until the stream starts; NULL: none now */
	ev_timer beside_life;
	void (*with_beside)(struct stream *s); /* what it is opened for */
	struct wp_stream_facts *facts;	       /* while they are asked for */
	struct wp_query *query;		       /* while starting: slot checkpoint, buffer */
	struct wp_copy *copy;		       /* from START_REPLICATION on */
	struct wp_probe_question *probe;
	struct wp_watch *watch; /* while streaming, once it was asked for */
	struct wp_last_slot_checkpoint *last_slot_checkpoint; /* after the stream */
	struct wp_source_facts begun;			      /* as the last stream began */
	/* The slot does not stand beyond this by us. It is where the slot stood as the last
	 * stream began, and each flush since; 0 when no stream has begun, or another may have
	 * had the slot since. */
	wp_lsn told;
	char topics[WP_SLOT_CHECKPOINT_TOPICS_SIZE];
	char trouble[WP_SLOT_CHECKPOINT_TROUBLE_SIZE]; /* "": none */
	ev_tstamp trouble_began;
	bool may_write;		       /* the slot checkpoint row, as far as is known */
	struct wp_walsender self;      /* this connection's */
	struct wp_walsender streaming; /* that which streamed last, perhaps not ended yet */
	bool slot_checkpoint_warned;
	bool wants_others; /* outboxes than the slot checkpoint was told of last */
	bool was_ready;
	wp_lsn start_at;
	enum wp_transfer transfer;
	/*
	 * The server looks publications up as of each place in the log. Whether that of walpost.reissue
	 * existed at the one where a stream begins, only the server can tell: so it is asked for,
	 * and what begins before this is read without it once the server has refused.
	 */
	wp_lsn reissue_not_before;
	bool reads_reissue;   /* the stream */
	bool reissue_refused; /* until it is known how far the log is */
};

static struct stream *stream_of(struct wp_source *s)
{
	return (struct stream *)s;
}

static void wake_relay(struct stream *s)
{
	s->setup.wake.call(s->setup.wake.arg);
}

static void enter(struct stream *s, enum wp_source_state state)
{
	s->view.state = state;
	wake_relay(s);
}

static void fail_stream(struct stream *s, const struct wp_source_failure *failure)
{
	s->view.failure = *failure;
	enter(s, WP_SOURCE_FAILED);
}

static void fail_with(struct stream *s, enum wp_rc rc, const struct wp_error *error)
{
	struct wp_source_failure f = { .error = *error };
	f.reaction = rc == WP_CONFIG ? WP_REACT_STOP_CONFIG : WP_REACT_RECONNECT;
	fail_stream(s, &f);
}

/* The facts, which stand on it, go too; no query does. */
static void drop_beside(struct stream *s)
{
	wp_stream_facts_free(s->facts);
	s->facts = NULL;
	ev_timer_stop(s->loop, &s->beside_life);
	wp_connection_free(s->beside);
	s->beside = NULL;
}

/* They go in the order in which they stand on each other. */
static void drop_connection(struct stream *s)
{
	wp_watch_free(s->watch);
	s->watch = NULL;
	wp_last_slot_checkpoint_free(s->last_slot_checkpoint);
	s->last_slot_checkpoint = NULL;
	wp_copy_free(s->copy);
	s->copy = NULL;
	wp_query_free(s->query);
	s->query = NULL;
	drop_beside(s);
	wp_connection_free(s->connection);
	s->connection = NULL;
}

static PGconn *stream_pg(const struct stream *s)
{
	return s->connection ? wp_connection_pg(s->connection) : NULL;
}

static PGconn *beside_of(const struct stream *s)
{
	return s->beside ? wp_connection_pg(s->beside) : NULL;
}

/* ---- until READY ---- */

/* It warns once: it stays so until a human acts. What preflight sees of it, preflight warns of. */
static void warn_of_slot_checkpoint(struct stream *s, const char *error)
{
	if (s->slot_checkpoint_warned || !*error)
		return;
	s->slot_checkpoint_warned = true;
	wp_log(WP_LOG_WARN, "checkpoint_unreadable", WP_TEXT("reason", error),
	       WP_TEXT("means", "cannot detect whether the slot was moved or recreated, or taken "
				"over by another walpost"),
	       WP_TEXT("cure", "end the session that locks walpost.slot_checkpoint; or drop the "
			       "table and run walpost init"));
}

/* What `partitions` held is ours from here on. */
static void take_partitions(struct stream *s, struct wp_partitions *partitions)
{
	wp_partitions_release(&s->view.partitions);
	s->view.partitions = *partitions;
	*partitions = (struct wp_partitions){ 0 };
}

static void on_facts(void *arg, struct wp_stream_facts_answer *answer,
		     const struct wp_source_failure *failure)
{
	struct stream *s = arg;
	s->may_write = failure ? failure->slot_checkpoint_writable
			       : answer->source.slot_checkpoint_writable;
	if (failure) {
		fail_stream(s, failure);
		return;
	}
	s->view.facts = answer->source;
	if (s->reissue_refused)
		s->reissue_not_before = s->view.facts.reissue_lsn;
	s->reissue_refused = false;
	take_partitions(s, &answer->partitions);
	s->self = answer->self;
	if (s->view.facts.slot_active)
		s->told = 0;
	warn_of_slot_checkpoint(s, answer->slot_checkpoint_error.text);
	s->was_ready = true;
	enter(s, WP_SOURCE_READY);
}

static void ask_stream_facts(struct stream *s, enum wp_asking asking)
{
	struct wp_stream_facts_setup setup = {
		.options = s->setup.options,
		.wanted = &s->setup.wanted,
		.old = s->streaming,
		.asking = asking,
	};
	struct wp_error error;
	wp_stream_facts_free(s->facts);
	s->facts = NULL;
	enum wp_rc rc = wp_stream_facts_new(s->loop, stream_pg(s), beside_of(s), &setup, on_facts,
					    s, &s->facts, &error);
	if (rc != WP_OK)
		fail_with(s, rc, &error);
}

static void on_beside_life(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events; /* one timer, always for its end */
	struct stream *s = timer->data;
	if (s->view.state != WP_SOURCE_READY) {
		ev_timer_set(timer, BESIDE_BUSY_S, 0.);
		ev_timer_start(loop, timer);
		return;
	}
	drop_beside(s);
}

static void on_connected_beside(void *arg)
{
	struct stream *s = arg;
	if (!beside_of(s)) {
		fail_stream(s, wp_connection_failure(s->beside));
		return;
	}
	ev_timer_set(&s->beside_life, BESIDE_LIFE_S, 0.);
	ev_timer_start(s->loop, &s->beside_life);
	s->with_beside(s);
}

/* Calls `then` when there is a connection for SQL; at once, when there is one already. */
static void open_beside(struct stream *s, void (*then)(struct stream *s))
{
	if (s->beside) {
		then(s);
		return;
	}
	s->with_beside = then;
	struct wp_connection_setup setup = {
		.options = s->setup.options,
		.kind = WP_CONNECTION_QUESTIONS,
		.done = on_connected_beside,
		.arg = s,
		.same_as = stream_pg(s),
	};
	struct wp_error error;
	enum wp_rc rc = wp_connection_new(s->loop, &setup, &s->beside, &error);
	if (rc != WP_OK)
		fail_with(s, rc, &error);
}

static void ask_all_facts(struct stream *s)
{
	ask_stream_facts(s, s->was_ready ? WP_ASK_ALL : WP_ASK_FIRST);
}

static void ask_again(struct stream *s)
{
	ask_stream_facts(s, WP_ASK_AGAIN);
}

static void on_stream_connected(void *arg)
{
	struct stream *s = arg;
	if (stream_pg(s))
		open_beside(s, ask_all_facts);
	else
		fail_stream(s, wp_connection_failure(s->connection));
}

static void stream_connect(struct wp_source *source)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_CLOSED || s->view.state == WP_SOURCE_FINISHED ||
	       s->view.state == WP_SOURCE_FAILED);
	drop_connection(s);
	s->view.failure = (struct wp_source_failure){ 0 };
	struct wp_connection_setup setup = {
		.options = s->setup.options,
		.kind = WP_CONNECTION_REPLICATION,
		.done = on_stream_connected,
		.arg = s,
	};
	struct wp_error error;
	enum wp_rc rc = wp_connection_new(s->loop, &setup, &s->connection, &error);
	if (rc == WP_OK)
		enter(s, WP_SOURCE_CONNECTING);
	else
		fail_with(s, rc, &error);
}

static void stream_want(struct wp_source *source, const struct wp_requirements *wanted)
{
	stream_of(source)->setup.wanted = *wanted;
	stream_of(source)->wants_others = true;
}

static void stream_refresh(struct wp_source *source)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_READY);
	s->view.state = WP_SOURCE_REFRESHING;
	open_beside(s, ask_again);
}

/* ---- from READY to STREAMING and to the end ---- */

static struct wp_slot_checkpoint_row slot_checkpoint_row(const struct stream *s)
{
	return (struct wp_slot_checkpoint_row){
		.slot = s->setup.options->slot,
		.owner = s->setup.owner,
		.before = s->begun.slot_checkpoint_version,
		.system_id = s->begun.system_id,
		.timeline = s->begun.timelines.current,
		.epoch = s->setup.epoch,
		.unclaimed = s->view.unclaimed,
		.publication = s->setup.options->publication,
		.sent = &s->setup.wanted,
		.removes_dropped = s->setup.removes_dropped,
		.prints = s->setup.prints,
		.anew = s->wants_others,
		.trouble = s->trouble[0] != '\0' ? s->trouble : NULL,
		.trouble_ms = (int64_t)((ev_now(s->loop) - s->trouble_began) * 1e3),
	};
}

static void on_last_slot_checkpoint(void *arg, const struct wp_error *error)
{
	struct stream *s = arg;
	if (error)
		wp_log(WP_LOG_WARN, "checkpoint_not_written", WP_TEXT("reason", error->text));
	wp_last_slot_checkpoint_free(s->last_slot_checkpoint);
	s->last_slot_checkpoint = NULL;
	enter(s, WP_SOURCE_FINISHED);
}

/* Returns NULL when there is nothing to write, or it cannot be written. */
static struct wp_last_slot_checkpoint *new_last_slot_checkpoint(struct stream *s)
{
	bool may = s->told != 0 ? s->begun.slot_checkpoint_writable
				: s->may_write && s->trouble[0] != '\0';
	if (!may)
		return NULL;
	struct wp_last_slot_checkpoint *f = NULL;
	struct wp_last_slot_checkpoint_setup setup = {
		.options = s->setup.options,
		.same_as = stream_pg(s),
		.row = slot_checkpoint_row(s),
		.confirmed = s->told,
		.done = on_last_slot_checkpoint,
		.arg = s,
	};
	struct wp_error error;
	setup.row.topics = s->topics;
	(void)snprintf(setup.walsender, sizeof(setup.walsender), "%s",
		       *s->streaming.pid ? s->streaming.pid : "0");
	if (wp_last_slot_checkpoint_new(s->loop, &setup, &f, &error) != WP_OK)
		wp_log(WP_LOG_WARN, "checkpoint_not_written", WP_TEXT("reason", error.text));
	return f;
}

static void on_copy(void *arg)
{
	static const enum wp_source_state states[] = {
		[WP_COPY_STARTING] = WP_SOURCE_STARTING,   [WP_COPY_RUNNING] = WP_SOURCE_STREAMING,
		[WP_COPY_FINISHING] = WP_SOURCE_FINISHING, [WP_COPY_FINISHED] = WP_SOURCE_FINISHED,
		[WP_COPY_FAILED] = WP_SOURCE_FAILED,
	};
	struct stream *s = arg;
	enum wp_copy_state state = wp_copy_state(s->copy);
	if (state == WP_COPY_FINISHED && s->view.state == WP_SOURCE_FINISHING) {
		s->last_slot_checkpoint = new_last_slot_checkpoint(s);
		if (s->last_slot_checkpoint)
			return;
	}
	if (state == WP_COPY_RUNNING) {
		s->streaming = s->self;
		s->told = wp_lsn_max(s->told, s->begun.slot_confirmed);
	}
	if (state == WP_COPY_FAILED) {
		s->view.failure = *wp_copy_failure(s->copy);
		s->reissue_refused = s->view.failure.reissue_missing;
	}
	enter(s, states[state]);
}

/* The configured publication may be it: then it is asked for by that name. */
static bool adds_reissue(const struct stream *s)
{
	return strcmp(s->setup.options->publication, WP_REISSUE_PUBLICATION) != 0;
}

static void start_copy(struct stream *s)
{
	bool exists = s->view.facts.reissue_lsn != 0 && adds_reissue(s);
	struct wp_copy_setup setup = {
		.slot = s->setup.options->slot,
		.publication = s->setup.options->publication,
		.reissue = exists && s->start_at >= s->reissue_not_before,
		.at = s->start_at,
		.transfer = s->transfer,
		.wake = { on_copy, s },
	};
	struct wp_error error;
	s->reads_reissue = setup.reissue;
	s->view.reissue_from = exists && !setup.reissue ? s->reissue_not_before : 0;
	enum wp_rc rc = wp_copy_new(s->loop, stream_pg(s), &setup, &s->copy, &error);
	if (rc != WP_OK)
		fail_with(s, rc, &error);
}

static void query_server(struct stream *s, PGconn *to, const char *sql, wp_query_done done)
{
	struct wp_error error;
	wp_query_free(s->query);
	s->query = NULL;
	enum wp_rc rc = wp_query_new(s->loop, to, sql, done, s, &s->query, &error);
	if (rc != WP_OK)
		fail_with(s, rc, &error);
}

static void on_grown(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	(void)result; /* its size was all we wanted */
	struct stream *s = arg;
	if (failure)
		fail_stream(s, failure);
	else
		start_copy(s);
}

static void grow_receive_buffer(struct stream *s)
{
	drop_beside(s);
	query_server(s, stream_pg(s), grow_sql, on_grown);
}

static void on_slot_checkpoint_written(void *arg, const PGresult *result,
				       const struct wp_source_failure *failure)
{
	struct stream *s = arg;
	if (failure && !*failure->sqlstate) {
		fail_stream(s, failure);
		return;
	}
	if (failure)
		wp_log(WP_LOG_WARN, "checkpoint_not_written",
		       WP_TEXT("reason", failure->error.text));
	else if (strcmp(PQcmdTuples((PGresult *)result), "0") != 0)
		s->wants_others =
			false;	 /* no row: the slot is in use, and START_REPLICATION will say so */
	wp_query_free(s->query); /* before its connection */
	s->query = NULL;
	grow_receive_buffer(s);
}

static void write_slot_checkpoint(struct stream *s)
{
	struct wp_slot_checkpoint_row row = slot_checkpoint_row(s);
	struct wp_error error;
	struct wp_buffer sql;
	wp_buffer_init(&sql, SQL_SIZE_MAX);
	enum wp_rc rc = wp_slot_checkpoint_write_sql(beside_of(s), &row, s->begun.slot_confirmed,
						     &sql, &error);
	if (rc == WP_OK)
		query_server(s, beside_of(s), (const char *)sql.data, on_slot_checkpoint_written);
	else
		fail_with(s, rc, &error);
	wp_buffer_release(&sql);
}

static void stream_start(struct wp_source *source, wp_lsn at, enum wp_transfer transfer,
			 enum wp_slot_checkpoint slot_checkpoint)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_READY);
	s->start_at = at;
	s->transfer = transfer;
	s->begun = s->view.facts;
	s->told = 0; /* the row is written before it is known who gets the slot */
	s->view.slot_state = (struct wp_slot_state){ 0 };
	/* The row is unclaimed until our walsender has written it: before it has the slot,
	 * another may write as well. */
	s->view.unclaimed = s->view.facts.slot_checkpoint_writable;
	s->view.claimed = 0;
	s->view.state = WP_SOURCE_STARTING;
	if (slot_checkpoint == WP_SLOT_CHECKPOINT_WRITE && s->view.facts.slot_checkpoint_writable)
		open_beside(s, write_slot_checkpoint);
	else
		grow_receive_buffer(s);
}

static enum wp_rc stream_next(struct wp_source *source, struct wp_span *ret)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_STREAMING);
	return wp_copy_next(s->copy, ret);
}

static void stream_reading(struct wp_source *source, enum wp_reading reading)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_STREAMING);
	wp_copy_reading(s->copy, reading);
}

static enum wp_rc stream_status(struct wp_source *source, const struct wp_status *status)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_STREAMING);
	s->told = wp_lsn_max(s->told, status->flush);
	return wp_copy_status(s->copy, status);
}

static void stream_finish(struct wp_source *source, const char *topics)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_STREAMING);
	(void)snprintf(s->topics, sizeof(s->topics), "%s", topics);
	s->view.state = WP_SOURCE_FINISHING;
	wp_copy_finish(s->copy);
}

/* ---- questions beside the stream ---- */

static void on_probed(void *arg)
{
	struct stream *s = arg;
	s->view.probe = wp_probe_answer(s->probe);
	wp_probe_free(s->probe);
	s->probe = NULL;
	wake_relay(s);
}

static void stream_probe(struct wp_source *source)
{
	struct stream *s = stream_of(source);
	struct wp_probe_setup setup = {
		.options = s->setup.options,
		.same_as = stream_pg(s),
		.done = on_probed,
		.arg = s,
	};
	struct wp_error error;
	wp_probe_free(s->probe);
	s->probe = NULL;
	enum wp_rc rc = wp_probe_new(s->loop, &setup, &s->probe, &error);
	s->view.probe = rc == WP_OK ? WP_PROBE_RUNNING : WP_PROBE_UNREACHABLE;
	if (rc != WP_OK)
		wake_relay(s);
}

static void on_watched(void *arg)
{
	struct stream *s = arg;
	s->view.slot_state = *wp_watch_slot_state(s->watch);
	if (!s->reads_reissue && s->view.reissue_from == 0 && adds_reissue(s))
		s->view.reissue_from = s->view.slot_state.reissue_lsn;
	wake_relay(s);
}

static void on_written_down(void *arg, const char *slot, bool was_anothers)
{
	struct stream *s = arg;
	if (s->view.unclaimed && wp_lsn_parse(wp_span_of(slot), &s->view.claimed) != WP_OK)
		s->view.claimed = 0;
	s->view.claimed_from_other = was_anothers;
	s->view.unclaimed = false;
	wake_relay(s);
}

static void on_partitions_answer(void *arg, struct wp_partitions *answer)
{
	struct stream *s = arg;
	if (answer)
		take_partitions(s, answer);
	s->view.partitions_asked = answer ? WP_ASKED_ANSWERED : WP_ASKED_FAILED;
	wake_relay(s);
}

/* Returns NULL when out of memory, for now. */
static struct wp_watch *watch_of(struct stream *s)
{
	struct wp_watch_setup setup = {
		.options = s->setup.options,
		.wanted = &s->setup.wanted,
		.same_as = stream_pg(s),
		.done = on_watched,
		.written = on_written_down,
		.partitions = on_partitions_answer,
		.arg = s,
	};
	if (!s->watch)
		s->watch = wp_watch_new(s->loop, &setup);
	return s->watch;
}

static void stream_ask_partitions(struct wp_source *source)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_STREAMING);
	s->view.partitions_asked = WP_ASKED_OPEN;
	if (watch_of(s))
		wp_watch_ask_partitions(s->watch);
	else
		on_partitions_answer(s, NULL);
}

static void stream_watch(struct wp_source *source)
{
	struct stream *s = stream_of(source);
	assert(s->view.state == WP_SOURCE_STREAMING);
	if (!watch_of(s))
		return;
	wp_watch_ask(s->watch);
	s->view.slot_state.asking = wp_watch_slot_state(s->watch)->asking;
}

static void stream_write_down(struct wp_source *source, wp_lsn confirmed, const char *topics)
{
	struct stream *s = stream_of(source);
	struct wp_slot_checkpoint_row row = slot_checkpoint_row(s);
	row.topics = topics;
	assert(s->view.state == WP_SOURCE_STREAMING);
	if (s->view.facts.slot_checkpoint_writable && watch_of(s))
		wp_watch_write_down(s->watch, &row, s->self.pid, confirmed);
}

static void stream_trouble(struct wp_source *source, const char *what, int64_t for_ms)
{
	struct stream *s = stream_of(source);
	(void)snprintf(s->trouble, sizeof(s->trouble), "%s", what);
	wp_utf8_cut(s->trouble, strlen(s->trouble));
	s->trouble_began = ev_now(s->loop) - (double)for_ms / 1e3;
}

/* All questions are dropped: who closes asks anew. */
static void stream_close(struct wp_source *source)
{
	struct stream *s = stream_of(source);
	if (s->last_slot_checkpoint)
		wp_log(WP_LOG_WARN, "checkpoint_not_written",
		       WP_TEXT("reason", "the server did not answer in time"));
	wp_probe_free(s->probe);
	s->probe = NULL;
	s->view.probe = WP_PROBE_NONE;
	drop_connection(s);
	wp_partitions_release(&s->view.partitions);
	s->view.partitions_asked = WP_ASKED_NOTHING;
	s->view.slot_state = (struct wp_slot_state){ 0 };
	enter(s, WP_SOURCE_CLOSED);
}

/* The last slot checkpoint is written where the stream was. */
static void stream_part(struct wp_source *source, const char *topics)
{
	struct stream *s = stream_of(source);
	(void)snprintf(s->topics, sizeof(s->topics), "%s", topics);
	struct wp_last_slot_checkpoint *last_slot_checkpoint = new_last_slot_checkpoint(s);
	stream_close(source);
	s->last_slot_checkpoint = last_slot_checkpoint;
	if (last_slot_checkpoint)
		enter(s, WP_SOURCE_FINISHING);
}

static const struct wp_source_view *stream_view(struct wp_source *source)
{
	return &stream_of(source)->view;
}

static const struct wp_source_ops ops = {
	.connect = stream_connect,
	.want = stream_want,
	.refresh = stream_refresh,
	.start = stream_start,
	.next = stream_next,
	.reading = stream_reading,
	.status = stream_status,
	.finish = stream_finish,
	.part = stream_part,
	.close = stream_close,
	.probe = stream_probe,
	.ask_partitions = stream_ask_partitions,
	.watch = stream_watch,
	.write_down = stream_write_down,
	.trouble = stream_trouble,
	.view = stream_view,
};

enum wp_rc wp_stream_new(struct ev_loop *loop, const struct wp_stream_setup *setup,
			 struct wp_source **ret, struct wp_error *error)
{
	assert(strlen(setup->owner) < WP_OWNER_SIZE);
	struct wp_connection_facts facts;
	enum wp_rc rc = wp_connection_facts(setup->options, &facts, error);
	if (rc != WP_OK)
		return rc;
	struct stream *s = calloc(1, sizeof(*s));
	if (!s)
		return wp_error_set(error, WP_NOMEM, "out of memory for a stream");
	s->source.ops = &ops;
	s->loop = loop;
	ev_timer_init(&s->beside_life, on_beside_life, 0., 0.);
	s->beside_life.data = s;
	s->setup = *setup;
	*ret = &s->source;
	return WP_OK;
}

void wp_stream_free(struct wp_source *source)
{
	if (!source)
		return;
	struct stream *s = stream_of(source);
	wp_probe_free(s->probe);
	drop_connection(s);
	wp_partitions_release(&s->view.partitions);
	free(s);
}

const PGconn *wp_stream_connection(const struct wp_source *source)
{
	return stream_pg((const struct stream *)source);
}

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

static struct fake_source *self(struct wp_source *s)
{
	return (struct fake_source *)s;
}

static void fail(struct fake_source *s, enum wp_reaction reaction, const char *sqlstate,
		 const char *text)
{
	s->view.failure = (struct wp_source_failure){
		.reaction = reaction,
	};
	snprintf(s->view.failure.sqlstate, sizeof(s->view.failure.sqlstate), "%s", sqlstate);
	(void)wp_error_set(&s->view.failure.error, WP_IO, "%s", text);
	s->view.state = WP_SOURCE_FAILED;
	s->world->wake[s->relay] = true;
}

static struct link *link_of(struct fake_source *s)
{
	return s->link >= 0 ? &s->world->server.links[s->link] : NULL;
}

static void drop_link(struct fake_source *s)
{
	struct link *l = link_of(s);

	if (l == NULL)
		return;
	/* The server sees the end of a connection at once, unless it is cut. */
	if (!l->cut) {
		link_break(s->world, s->link);
		l->used = false;
	} else if (!l->streaming) {
		l->used = false;
	}
	s->link = -1;
}

static void op_connect(struct wp_source *base)
{
	struct fake_source *s = self(base);

	assert(s->view.state == WP_SOURCE_CLOSED || s->view.state == WP_SOURCE_FAILED ||
	       s->view.state == WP_SOURCE_FINISHED);
	drop_link(s);
	s->view.state = WP_SOURCE_CONNECTING;
	s->ready_ms = s->world->now_ms + 1 + (int64_t)any(s->world, 20);
}

static void op_refresh(struct wp_source *base)
{
	struct fake_source *s = self(base);

	assert(s->view.state == WP_SOURCE_READY);
	s->view.state = WP_SOURCE_REFRESHING;
	s->ready_ms = s->world->now_ms + 1 + (int64_t)any(s->world, 10);
}

static void write_slot_checkpoint(struct fake_source *s, wp_lsn confirmed, bool stopped)
{
	struct server *server = &s->world->server;

	server->slot_checkpoint_version++;
	server->slot_checkpoint_confirmed = confirmed;
	server->slot_checkpoint_stopped = stopped;
	snprintf(server->slot_checkpoint_topics, sizeof(server->slot_checkpoint_topics), "%s",
		 s->topics);
	server->slot_checkpoint_decoded = server->decoded;
	server->slot_checkpoint_life = server->life;
	server->slot_checkpoint_timeline = server->timelines.current;
}

/* Another has written the row since we looked at it. */
static bool is_anothers(const struct fake_source *s)
{
	const struct server *server = &s->world->server;

	return strcmp(server->slot_checkpoint_owner, s->owner) != 0 &&
	       server->slot_checkpoint_version != s->version;
}

static bool is_taken(const struct server *s)
{
	return s->holder != -1 || s->thief_until_ms != 0;
}

/* The row says that we take the slot, unless somebody has it; who gets it is known later. */
static void take_slot_checkpoint(struct fake_source *s)
{
	struct server *server = &s->world->server;
	bool says_so = strcmp(server->slot_checkpoint_owner, s->owner) == 0 &&
		       !server->slot_checkpoint_stopped &&
		       server->slot_checkpoint_life == server->life;

	if (server->state != SERVER_UP || is_taken(server) || says_so || is_anothers(s))
		return;
	if (strcmp(server->slot_checkpoint_owner, s->owner) != 0)
		server->slot_checkpoint_at = s->view.facts.slot_confirmed;
	snprintf(server->slot_checkpoint_owner, sizeof(server->slot_checkpoint_owner), "%s",
		 s->owner);
	write_slot_checkpoint(s, s->view.facts.slot_confirmed, false);
}

static void op_start(struct wp_source *base, wp_lsn at, enum wp_transfer transfer,
		     enum wp_slot_checkpoint slot_checkpoint)
{
	struct fake_source *s = self(base);

	assert(s->view.state == WP_SOURCE_READY);
	s->view.state = WP_SOURCE_STARTING;
	s->start_at = at;
	s->told = 0;
	s->view.unclaimed = true;
	s->view.claimed = 0;
	if (slot_checkpoint == WP_SLOT_CHECKPOINT_WRITE)
		take_slot_checkpoint(s);
	s->ready_ms = s->world->now_ms + 1 + (int64_t)any(s->world, 10);
}

static enum wp_rc op_next(struct wp_source *base, struct wp_span *ret)
{
	struct fake_source *s = self(base);
	struct link *l = link_of(s);

	assert(s->view.state == WP_SOURCE_STREAMING && s->reading);
	if (l->frame_count > 0 && l->frames[l->frame_first].arrives_ms <= s->world->now_ms &&
	    !l->cut) {
		s->current = l->frames[l->frame_first];
		l->frame_first = (l->frame_first + 1) % PIPE_FRAMES;
		l->frame_count--;
		*ret = (struct wp_span){ s->current.bytes, s->current.size };
		return WP_OK;
	}
	if (l->ended && l->frame_count == 0) {
		s->view.state = WP_SOURCE_FINISHED;
		return WP_IO;
	}
	if (l->broken && l->frame_count == 0) {
		fail(s, WP_REACT_RECONNECT, "", "the connection is gone");
		return WP_IO;
	}
	return WP_AGAIN;
}

static void op_reading(struct wp_source *base, enum wp_reading reading)
{
	struct fake_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING);
	s->reading = reading == WP_READING_ON;
	if (reading == WP_READING_LAST_WORD)
		fail(s, WP_REACT_RECONNECT, "", "the slot is in use by another stream");
	if (s->reading)
		s->world->wake[s->relay] = true;
}

static enum wp_rc op_status(struct wp_source *base, const struct wp_status *status)
{
	struct fake_source *s = self(base);
	struct link *l = link_of(s);

	assert(s->view.state == WP_SOURCE_STREAMING);
	if (l->broken) {
		fail(s, WP_REACT_RECONNECT, "", "the connection is gone");
		return WP_IO;
	}
	l->status_flush = status->flush;
	s->told = wp_lsn_max(s->told, status->flush);
	if (!l->status_waits)
		l->status_arrives_ms = s->world->now_ms + 1 + (int64_t)any(s->world, 4);
	l->status_waits = true;
	return WP_OK;
}

/* What was sent arrives before the end of the connection. */
static void deliver_status(struct fake_source *s)
{
	struct link *l = link_of(s);

	if (l == NULL || !l->status_waits || l->broken || l->cut || !l->streaming)
		return;
	l->status_waits = false;
	server_take_status(s->world, s->link, l->status_flush);
}

static void op_finish(struct wp_source *base, const char *topics)
{
	struct fake_source *s = self(base);
	struct link *l = link_of(s);

	assert(s->view.state == WP_SOURCE_STREAMING);
	snprintf(s->topics, sizeof(s->topics), "%s", topics);
	s->view.state = WP_SOURCE_FINISHING;
	s->ready_ms = s->world->now_ms + 2 + (int64_t)any(s->world, 8);
	deliver_status(s);
	l->done_by_client = true;
}

static void op_part(struct wp_source *base, const char *topics)
{
	struct fake_source *s = self(base);

	base->ops->close(base);
	if (s->told == 0)
		return;
	snprintf(s->topics, sizeof(s->topics), "%s", topics);
	s->view.state = WP_SOURCE_FINISHING;
	s->ready_ms = s->world->now_ms + 5;
}

static void op_close(struct wp_source *base)
{
	struct fake_source *s = self(base);

	deliver_status(s);
	drop_link(s);
	s->writes = false;
	s->view.slot_state = (struct wp_slot_state){ 0 };
	s->view.state = WP_SOURCE_CLOSED;
}

static void op_probe(struct wp_source *base)
{
	struct fake_source *s = self(base);

	s->view.probe = WP_PROBE_RUNNING;
	s->probe_ms = s->world->now_ms + 1 + (int64_t)any(s->world, 20);
}

static void op_ask_partitions(struct wp_source *base)
{
	struct fake_source *s = self(base);
	struct wp_source_view *view = &s->view;

	assert(view->state == WP_SOURCE_STREAMING);
	view->partitions = (struct wp_partitions){ .known = true, .xmin = 2000, .xmax = 2000 };
	view->partitions_asked = WP_ASKED_ANSWERED;
	s->world->wake[s->relay] = true;
}

static void op_watch(struct wp_source *base)
{
	struct fake_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING && !s->view.slot_state.asking);
	s->view.slot_state.asking = true;
	s->watch_ms = s->world->now_ms + 15;
}

static void op_write_down(struct wp_source *base, wp_lsn confirmed, const char *topics)
{
	struct fake_source *s = self(base);

	assert(s->view.state == WP_SOURCE_STREAMING);
	snprintf(s->topics, sizeof(s->topics), "%s", topics);
	s->writes = true;
	s->writes_confirmed = confirmed;
	s->writes_ms = s->world->now_ms + 10;
}

static void finish_write_down(struct fake_source *s)
{
	struct server *server = &s->world->server;
	bool was_anothers = is_anothers(s);
	wp_lsn taken_at = server->slot_checkpoint_at;

	s->writes = false;
	if (server->state != SERVER_UP || !link_holds_slot(s->world, s->link))
		return;
	if (strcmp(server->slot_checkpoint_owner, s->owner) != 0)
		server->slot_checkpoint_at = server->confirmed;
	snprintf(server->slot_checkpoint_owner, sizeof(server->slot_checkpoint_owner), "%s",
		 s->owner);
	write_slot_checkpoint(s, s->writes_confirmed, false);
	if (s->view.unclaimed) {
		s->view.claimed = server->confirmed > taken_at ? server->confirmed : 0;
		s->view.claimed_from_other = was_anothers;
	}
	s->view.unclaimed = false;
	s->world->wake[s->relay] = true;
}

static void op_trouble(struct wp_source *base, const char *what, int64_t for_ms)
{
	(void)base, (void)what, (void)for_ms; /* for people: no relay reads it */
}

static const struct wp_source_view *op_view(struct wp_source *base)
{
	return &self(base)->view;
}

static void op_want(struct wp_source *base, const struct wp_requirements *wanted)
{
	self(base)->wanted = wanted;
}

static const struct wp_source_ops OPS = {
	.connect = op_connect,
	.want = op_want,
	.refresh = op_refresh,
	.start = op_start,
	.next = op_next,
	.reading = op_reading,
	.status = op_status,
	.finish = op_finish,
	.part = op_part,
	.close = op_close,
	.probe = op_probe,
	.ask_partitions = op_ask_partitions,
	.watch = op_watch,
	.write_down = op_write_down,
	.trouble = op_trouble,
	.view = op_view,
};

void fake_source_init(struct fake_source *s, struct world *w, int relay, const char *owner)
{
	*s = (struct fake_source){ .base = { &OPS }, .world = w, .relay = relay, .link = -1 };
	snprintf(s->owner, sizeof(s->owner), "%s", owner);
}

static void read_facts(struct fake_source *s)
{
	const struct server *server = &s->world->server;
	struct wp_source_facts *f = &s->view.facts;

	*f = (struct wp_source_facts){
		.system_id = 77,
		.encoding = "UTF8",
		.timelines = server->timelines,
		.server_lsn = server->wal,
		.slot_confirmed = server->confirmed,
		.slot_active = is_taken(server),
		.holder_is_walpost = server->thief_until_ms == 0 || server->thief_is_walpost,
		.wal_sender_timeout_ms = server->wal_sender_timeout_ms,
		.slot_checkpoint_readable = true,
		.slot_checkpoint_taken_at = server->slot_checkpoint_at,
		.slot_checkpoint_system_id = server->slot_checkpoint_owner[0] ? 77 : 0,
		.slot_checkpoint_writable = true,
		.slot_checkpoint_timeline = server->slot_checkpoint_timeline,
		.slot_checkpoint_stopped = server->slot_checkpoint_stopped,
		.slot_checkpoint_confirmed = server->slot_checkpoint_confirmed,
		.slot_checkpoint_transactions = server->slot_checkpoint_life == server->life
							? (int64_t)server->slot_checkpoint_decoded
							: -1,
		.slot_transactions = (int64_t)server->decoded,
	};
	if (f->slot_active)
		snprintf(f->holder, sizeof(f->holder), "%s",
			 f->holder_is_walpost ? "process 1 (walpost)" : "process 2 (thief)");
	snprintf(f->slot_checkpoint_owner, sizeof(f->slot_checkpoint_owner), "%s",
		 server->slot_checkpoint_owner);
	snprintf(f->slot_checkpoint_topics, sizeof(f->slot_checkpoint_topics), "%s",
		 server->slot_checkpoint_topics);
	s->version = server->slot_checkpoint_version;
	if (f->slot_active)
		s->told = 0;
	s->view.state = WP_SOURCE_READY;
	s->world->wake[s->relay] = true;
}

static const char unique = 0;
const struct wp_requirements *const refused_wanted = (const void *)&unique;

static void finish_connect(struct fake_source *s)
{
	enum server_state state = s->world->server.state;

	if (state != SERVER_UP) {
		fail(s, WP_REACT_RECONNECT, state == SERVER_DOWN ? "" : "57P03", "no connection");
		return;
	}
	if (s->world->server.broken) { /* preflight */
		fail(s, WP_REACT_STOP_HUMAN, "", "the publication is broken");
		return;
	}
	if (s->wanted == refused_wanted) {
		fail(s, WP_REACT_STOP_CONFIG, "", "a column is missing");
		return;
	}
	s->link = link_open(s->world, s->relay);
	if (s->link < 0)
		fail(s, WP_REACT_RECONNECT, "53300", "too many connections");
	else
		read_facts(s);
}

static void finish_start(struct fake_source *s)
{
	struct server *server = &s->world->server;

	if (is_taken(server)) {
		fail(s, WP_REACT_STANDBY, "55006", "the slot is active");
		return;
	}
	server_accept_move(s->world, s->owner, &s->view.facts);
	s->told = server->confirmed;
	s->view.slot_state = (struct wp_slot_state){ 0 };
	server_start_stream(s->world, s->link, s->start_at);
	s->reading = true;
	s->view.state = WP_SOURCE_STREAMING;
	s->world->wake[s->relay] = true;
}

static void end_stream(struct fake_source *s)
{
	struct server *server = &s->world->server;
	bool by_another =
		server->thief_until_ms != 0 || (server->holder != -1 && server->holder != s->link);
	bool is_ours = strcmp(server->slot_checkpoint_owner, s->owner) == 0;
	bool by_us = s->view.unclaimed && server->confirmed > server->slot_checkpoint_at &&
		     server->confirmed <= s->told;

	s->view.state = WP_SOURCE_FINISHED;
	if (server->state != SERVER_UP || by_another || !(is_ours || by_us))
		return;
	snprintf(server->slot_checkpoint_owner, sizeof(server->slot_checkpoint_owner), "%s",
		 s->owner);
	write_slot_checkpoint(s, s->told, true);
}

static void finish_finishing(struct fake_source *s)
{
	const struct link *l = link_of(s);

	if (l != NULL && l->broken)
		fail(s, WP_REACT_RECONNECT, "", "the connection is gone");
	else if (l == NULL || l->ended)
		end_stream(s);
	s->world->wake[s->relay] = true;
}

static void finish_operation(struct fake_source *s)
{
	const struct link *l = link_of(s);
	bool lost = l != NULL && l->broken && s->view.state != WP_SOURCE_FINISHING;

	if (lost && (s->view.state == WP_SOURCE_REFRESHING || s->view.state == WP_SOURCE_STARTING ||
		     s->view.state == WP_SOURCE_READY)) {
		fail(s, WP_REACT_RECONNECT, "", "the connection is gone");
		return;
	}
	switch (s->view.state) {
	case WP_SOURCE_CONNECTING:
		finish_connect(s);
		break;
	case WP_SOURCE_REFRESHING:
		read_facts(s);
		break;
	case WP_SOURCE_STARTING:
		finish_start(s);
		break;
	case WP_SOURCE_FINISHING:
		finish_finishing(s);
		break;
	default:
		break;
	}
}

static void finish_watch(struct fake_source *s)
{
	const struct server *server = &s->world->server;
	const struct link *l = link_of(s);
	struct wp_slot_state *slot = &s->view.slot_state;

	slot->asking = false;
	s->world->wake[s->relay] = true;
	slot->unanswered = server->state != SERVER_UP || l == NULL || l->cut;
	if (slot->unanswered)
		return;
	slot->answers++;
	slot->server_lsn = server->wal;
	slot->keeping = WP_KEEPING_RESERVED;
	slot->loss = (struct wp_error){ .text = "" };
	s->drain = server->drain;
	slot->drains[0] = '\0';
	if (s->drain != 0)
		snprintf(slot->drains, sizeof(slot->drains), "9%u %u", (unsigned)s->drain,
			 (unsigned)s->drain);
	if (server->broken)
		(void)wp_error_set(&slot->loss, WP_OK, "the publication is broken");
}

void fake_source_tick(struct fake_source *s)
{
	struct world *w = s->world;
	const struct link *l = link_of(s);

	if (s->view.slot_state.asking && w->now_ms >= s->watch_ms)
		finish_watch(s);
	if (s->writes && w->now_ms >= s->writes_ms)
		finish_write_down(s);

	if (s->view.probe == WP_PROBE_RUNNING && w->now_ms >= s->probe_ms) {
		s->view.probe = w->server.state == SERVER_UP	     ? WP_PROBE_ALIVE
				: w->server.state == SERVER_STOPPING ? WP_PROBE_STOPPING
								     : WP_PROBE_UNREACHABLE;
		w->wake[s->relay] = true;
	}
	if (w->now_ms >= s->ready_ms)
		finish_operation(s);
	if (s->view.state == WP_SOURCE_STREAMING && s->reading && l != NULL && l->frame_count > 0 &&
	    l->frames[l->frame_first].arrives_ms <= w->now_ms && !l->cut)
		w->wake[s->relay] = true;
	if (s->view.state == WP_SOURCE_STREAMING && s->reading && l != NULL &&
	    (l->broken || l->ended))
		w->wake[s->relay] = true;
}

/* kill -9: the kernel closes what the process had. */
void fake_source_die(struct fake_source *s)
{
	drop_link(s);
}

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/relay/behind_check.h"

/* -- judging -------------------------------------------------------------- */

static enum wp_behind judge_past(const struct wp_position *delivered, const struct wp_timelines *t,
				 wp_lsn *ret_end)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->past[i].timeline != delivered->timeline)
			continue;
		*ret_end = t->past[i].ends_at;
		return delivered->commit_lsn >= *ret_end ? WP_BEHIND_PROMOTED : WP_BEHIND_NOT;
	}
	/* It is older than all that are remembered: what the server has of it, it has for long. */
	if (t->count == WP_TIMELINES_MAX && delivered->timeline < t->past[0].timeline) {
		*ret_end = t->past[0].ends_at;
		return delivered->commit_lsn >= *ret_end ? WP_BEHIND_PROMOTED : WP_BEHIND_NOT;
	}
	*ret_end = 0;
	return WP_BEHIND_NEWER;
}

enum wp_behind wp_behind_judge(const struct wp_position *delivered,
			       const struct wp_timelines *timelines, wp_lsn server_lsn,
			       wp_lsn *ret_end)
{
	*ret_end = server_lsn;
	if (delivered->timeline == timelines->current)
		return delivered->commit_lsn >= server_lsn ? WP_BEHIND_LOST : WP_BEHIND_NOT;
	/* Without its history a promoted server can be judged by its end only. */
	if (delivered->timeline < timelines->current && timelines->count == 0)
		return delivered->commit_lsn >= server_lsn ? WP_BEHIND_PROMOTED : WP_BEHIND_NOT;
	if (delivered->timeline < timelines->current)
		return judge_past(delivered, timelines, ret_end);
	*ret_end = 0;
	return WP_BEHIND_NEWER;
}

bool wp_behind_is(const struct wp_position *p, const struct wp_source_facts *f)
{
	wp_lsn end = 0;

	return wp_behind_judge(p, &f->timelines, f->server_lsn, &end) != WP_BEHIND_NOT;
}

/* -- words ---------------------------------------------------------------- */

static const char *order_of_new(const struct wp_position *p, const struct wp_timelines *t)
{
	return p->timeline >= t->current
		       ? "New events would get positions below it, and consumers that drop "
			 "duplicates by walpost-position would drop them"
		       : "New events sort above it";
}

static void say_what_happened(enum wp_behind behind, const struct wp_position *p,
			      const struct wp_source_facts *f, wp_lsn end, char *text, size_t size)
{
	char commit[WP_LSN_TEXT_SIZE];
	char ends_at[WP_LSN_TEXT_SIZE];
	uint32_t current = f->timelines.current;

	(void)wp_lsn_text(p->commit_lsn, commit);
	(void)wp_lsn_text(end, ends_at);
	switch (behind) {
	case WP_BEHIND_PROMOTED:
		(void)snprintf(text, size,
			       "it was committed at %s of timeline %" PRIu32
			       ", which this server, now on timeline %" PRIu32
			       ", left at %s: it was promoted before it had that transaction",
			       commit, p->timeline, current, ends_at);
		break;
	case WP_BEHIND_NEWER:
		(void)snprintf(text, size,
			       "it was committed at %s of timeline %" PRIu32
			       ", which is not in the history of this server, on timeline %" PRIu32
			       ": it is an older primary, or a copy restored from an earlier state",
			       commit, p->timeline, current);
		break;
	default:
		(void)snprintf(text, size,
			       "it was committed at %s of timeline %" PRIu32
			       ", where the WAL of this server ends at %s: it was restored from an "
			       "earlier state, or is damaged",
			       commit, p->timeline, ends_at);
		break;
	}
}

void wp_behind_say(const struct wp_position *p, const struct wp_source_facts *f, const char *where,
		   const char *hint, struct wp_error *ret)
{
	char position[WP_POSITION_TEXT_SIZE];
	char happened[400];
	wp_lsn end = 0;
	enum wp_behind behind = wp_behind_judge(p, &f->timelines, f->server_lsn, &end);

	say_what_happened(behind, p, f, end, happened, sizeof(happened));
	(void)wp_error_set(ret, WP_CONFIG,
			   "the database is behind the events delivered from it. An event with "
			   "walpost-position %s %s; %s. So consumers have events that this "
			   "database does not have. %s. To continue from this server nevertheless, "
			   "set relay.epoch = %u, send the rows that Kafka does not have with "
			   "`walpost backfill --missing --force`, and start again%s",
			   wp_position_text(p, position), where, happened,
			   order_of_new(p, &f->timelines), (unsigned)p->epoch + 1, hint);
}

/* -- asking --------------------------------------------------------------- */

const char *wp_behind_check_reason(const struct wp_behind_known *known,
				   const struct wp_source_facts *f)
{
	uint32_t timeline = known->started ? known->timeline : f->slot_checkpoint_timeline;
	wp_lsn lsn = known->started ? known->confirmed_lsn : f->slot_checkpoint_taken_at;

	if (!known->started &&
	    (!f->slot_checkpoint_readable || f->slot_checkpoint_owner[0] == '\0'))
		return NULL; /* nothing tells what this database delivered, and where to */
	if (timeline != f->timelines.current)
		return "the server is on another timeline than at the last use of the slot";
	if (f->server_lsn < lsn)
		return "the server's WAL ends before the recorded position of the slot";
	if (!known->started &&
	    f->slot_checkpoint_transactions < 0) /* it may be an older copy of itself */
		return "the server was restarted, or walpost slot skip moved the slot, since the "
		       "last use of the slot";
	return NULL;
}

bool wp_behind_check_asks(struct wp_behind_check *c, uint64_t moves)
{
	if (c->asked && c->moves == moves)
		return false;
	c->asked = true;
	c->refreshed = false;
	c->moves = moves;
	return true;
}

/* -- the answer ----------------------------------------------------------- */

static enum wp_behind_check_answer judge_known(struct wp_behind_check *c,
					       const struct wp_topic_ends *ends,
					       const struct wp_source_facts *f)
{
	bool is_behind = ends->found && wp_behind_is(&ends->highest, f);

	if (is_behind && !c->refreshed) {
		c->refreshed = true;
		return WP_BEHIND_CHECK_REFRESH;
	}
	c->asked = false;
	if (is_behind)
		return WP_BEHIND_CHECK_STOP;
	return ends->error.text[0] != '\0' ? WP_BEHIND_CHECK_NOT_READ : WP_BEHIND_CHECK_GOES_ON;
}

enum wp_behind_check_answer wp_behind_check_step(struct wp_behind_check *c,
						 const struct wp_topic_ends *ends,
						 const struct wp_source_facts *f)
{
	switch (ends->state) {
	case WP_TOPIC_ENDS_NONE:
	case WP_TOPIC_ENDS_ASKING:
		return WP_BEHIND_CHECK_AWAITED;
	case WP_TOPIC_ENDS_UNREACHABLE:
		c->asked = false;
		return WP_BEHIND_CHECK_RETRY;
	case WP_TOPIC_ENDS_UNKNOWN:
		c->asked = false;
		return WP_BEHIND_CHECK_NOT_KNOWN;
	case WP_TOPIC_ENDS_KNOWN:
		break;
	}
	return judge_known(c, ends, f);
}

void wp_behind_check_forget(struct wp_behind_check *c)
{
	c->asked = false;
}

/* -- what this process delivered -------------------------------------------- */

void wp_behind_check_sent(struct wp_behind_check *c, const struct wp_position *position)
{
	if (wp_position_compare(position, &c->delivered) > 0)
		c->delivered = *position;
}

/* The dead letters' topic is often that of several databases, whose positions do not compare. */
const char *wp_behind_check_topics(struct wp_behind_check *c, struct wp_sink *sink,
				   const char *dead_letter_topic)
{
	struct wp_topic_list now = { .text = "" };

	if (dead_letter_topic != NULL && dead_letter_topic[0] != '\0')
		wp_topic_list_add(&now, dead_letter_topic, strlen(dead_letter_topic));
	size_t skipped = strlen(now.text);
	sink->ops->topics(sink, &now);
	wp_topic_list_merge(&c->topics, now.text + skipped);
	return c->topics.text;
}

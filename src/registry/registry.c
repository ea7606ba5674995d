#include <stdlib.h>
#include <string.h>

#include <ev.h>

#include "question.h"
#include "walpost/base/clock.h"
#include "walpost/base/log.h"
#include "walpost/base/worker.h"
#include "walpost/outbox/route.h"
#include "walpost/outbox/shape.h"
#include "walpost/registry/registry.h"

enum { BATCH_MAX = 32, IDLE_ENDS_MS = 500 };

#define TICK_S 1.

struct queue {
	struct wp_registry_question *first;
	struct wp_registry_question **last;
};

/* These are asked one after the other, over one connection; they are the worker's while they are
 * asked. */
struct batch {
	struct wp_registry *registry; /* of `done` only */
	struct wp_registry_question *questions;
	struct wp_http_connection connection;
};

struct wp_registry {
	struct ev_loop *loop; /* borrowed */
	struct wp_wake wake;
	struct wp_subjects subjects;
	struct wp_worker *worker; /* owned; NULL: nothing was asked yet */
	ev_io answered;
	ev_timer tick;
	struct queue urgent; /* for which events may wait */
	struct queue again;  /* of subjects that are known */
	struct batch *idle;  /* owned; NULL: it is being asked, or none was made yet */
	bool is_asking;
	bool is_starting;
	bool is_down; /* it did not answer last */
	bool is_refused;
	struct wp_error refusal;
	uint64_t answers;
	uint64_t failures;
};

/* ---- questions ---- */

static void push(struct queue *q, struct wp_registry_question *question)
{
	if (q->first == NULL)
		q->last = &q->first;
	question->next = NULL;
	*q->last = question;
	q->last = &question->next;
}

static struct wp_registry_question *pop(struct queue *q)
{
	struct wp_registry_question *question = q->first;

	if (question != NULL)
		q->first = question->next;
	return question;
}

static void free_all(struct wp_registry_question *question)
{
	while (question != NULL) {
		struct wp_registry_question *next = question->next;
		wp_registry_question_free(question);
		question = next;
	}
}

static void free_batch(void *arg)
{
	struct batch *b = arg;

	if (b == NULL)
		return;
	free_all(b->questions);
	wp_http_connection_release(&b->connection);
	free(b);
}

/* This runs on the worker. What does not answer one question is not asked the next. */
static void ask_all(void *arg)
{
	struct batch *b = arg;
	const struct wp_registry_question *failed = NULL;

	for (struct wp_registry_question *q = b->questions; q != NULL; q = q->next) {
		if (failed != NULL && strcmp(failed->url, q->url) == 0) {
			q->rc = WP_IO;
			q->error = failed->error;
			continue;
		}
		wp_registry_question_ask(q, &b->connection);
		if (q->rc == WP_IO)
			failed = q;
	}
}

/* ---- answers ---- */

static void note_answered(struct wp_registry *r)
{
	r->answers++;
	if (r->is_down)
		wp_log(WP_LOG_INFO, "schema_registry_reachable",
		       WP_INT("subjects_known", (int64_t)r->subjects.known));
	r->is_down = false;
}

static void note_failed(struct wp_registry *r, const struct wp_registry_question *q, bool is_new)
{
	r->failures++;
	if (q->rc == WP_IO && !r->is_down)
		wp_log(WP_LOG_WARN, "schema_registry_unreachable", WP_TEXT("reason", q->error.text),
		       WP_INT("subjects_known", (int64_t)r->subjects.known));
	r->is_down = q->rc == WP_IO;
	if (q->rc != WP_IO && is_new)
		wp_log(WP_LOG_WARN, "schema_refused", WP_TEXT("reason", q->error.text));
}

static void note_changed(const struct wp_registry_question *q)
{
	const struct wp_subject *s = q->subject;

	if (s->is_known && s->schema.id != q->schema.id)
		wp_log(WP_LOG_INFO, "schema_changed", WP_TEXT("subject", s->name),
		       WP_INT("id", q->schema.id), WP_INT("version", q->schema.version));
}

static void take(struct wp_registry *r, const struct wp_registry_question *q)
{
	if (q->rc == WP_OK) {
		note_answered(r);
		note_changed(q);
		wp_subjects_answer(&r->subjects, q->subject, &q->schema, q->refresh_ms);
		return;
	}
	if (q->rc == WP_CONFIG && q->is_first && !r->is_refused) {
		r->is_refused = true;
		r->refusal = q->error;
	}
	note_failed(r, q, wp_subjects_fail(&r->subjects, q->subject, q->rc, &q->error));
}

static void ask_next(struct wp_registry *r);

static void keep_time(struct wp_registry *r)
{
	r->subjects.now_ms = wp_clock_us() / 1000;
}

static void done(void *arg)
{
	struct batch *b = arg;
	struct wp_registry *r = b->registry;

	keep_time(r);
	for (const struct wp_registry_question *q = b->questions; q != NULL; q = q->next)
		take(r, q);
	free_all(b->questions);
	b->questions = NULL;
	r->idle = b;
	r->is_asking = false;
	ask_next(r);
	r->wake.call(r->wake.arg);
}

/* ---- asking ---- */

static void answered_cb(struct ev_loop *loop, ev_io *w, int events)
{
	struct wp_registry *r = w->data;

	wp_worker_collect(r->worker);
}

/* What waits for a subject asks again when that is due. */
static void tick_cb(struct ev_loop *loop, ev_timer *w, int events)
{
	struct wp_registry *r = w->data;

	keep_time(r);
	ask_next(r);
	if (r->subjects.unknown > 0)
		r->wake.call(r->wake.arg);
}

/* Returns false when there are no memory or threads; the tick tries again. */
static bool has_worker(struct wp_registry *r)
{
	struct wp_error error;

	if (r->worker != NULL)
		return true;
	if (wp_worker_new(&r->worker, &error) != WP_OK) {
		r->worker = NULL;
		return false;
	}
	ev_io_init(&r->answered, answered_cb, wp_worker_fd(r->worker), EV_READ);
	r->answered.data = r;
	ev_io_start(r->loop, &r->answered);
	return true;
}

static bool fill(struct wp_registry *r, struct batch *b)
{
	struct queue taken = { 0 };
	struct wp_registry_question *q;

	for (int i = 0; i < BATCH_MAX; i++) {
		q = pop(&r->urgent);
		if (q == NULL)
			q = pop(&r->again);
		if (q == NULL)
			break;
		push(&taken, q);
	}
	b->questions = taken.first;
	return taken.first != NULL;
}

static void unfill(struct wp_registry *r, struct batch *b)
{
	struct wp_registry_question *next;

	for (struct wp_registry_question *q = b->questions; q != NULL; q = next) {
		next = q->next;
		push(q->subject->is_known ? &r->again : &r->urgent, q);
	}
	b->questions = NULL;
}

static void ask_next(struct wp_registry *r)
{
	uint64_t id;

	if (r->is_asking || (r->urgent.first == NULL && r->again.first == NULL) || !has_worker(r))
		return;
	if (r->idle == NULL)
		r->idle = calloc(1, sizeof(*r->idle));
	if (r->idle == NULL || !fill(r, r->idle))
		return;
	r->idle->registry = r;
	const struct wp_job job = { ask_all, done, free_batch, r->idle };
	if (wp_worker_submit(r->worker, &job, &id) != WP_OK) {
		unfill(r, r->idle);
		return;
	}
	r->idle = NULL;
	r->is_asking = true;
}

static enum wp_rc ask(void *arg, struct wp_subject *subject,
		      const struct wp_registry_options *options)
{
	struct wp_registry *r = arg;
	struct wp_registry_question *q = wp_registry_question_new(subject, options);

	if (q == NULL)
		return WP_NOMEM;
	q->is_first = r->is_starting;
	push(subject->is_known ? &r->again : &r->urgent, q);
	if (!ev_is_active(&r->tick)) {
		ev_timer_set(&r->tick, TICK_S, TICK_S);
		ev_timer_start(r->loop, &r->tick);
	}
	ask_next(r);
	return WP_AGAIN;
}

/* ---- life ---- */

struct wp_registry *wp_registry_new(struct ev_loop *loop, struct wp_wake wake)
{
	struct wp_registry *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->loop = loop;
	r->wake = wake;
	wp_subjects_init(&r->subjects, WP_SUBJECTS_WAIT, ask, r);
	keep_time(r);
	ev_timer_init(&r->tick, tick_cb, TICK_S, TICK_S);
	r->tick.data = r;
	return r;
}

bool wp_registry_free(struct wp_registry *r)
{
	bool has_ended = true;

	if (r == NULL)
		return true;
	ev_timer_stop(r->loop, &r->tick);
	if (r->worker != NULL) {
		ev_io_stop(r->loop, &r->answered);
		/* When idle, the worker ends at once; an answer is not waited for. */
		has_ended = wp_worker_free(r->worker, r->is_asking ? 0 : IDLE_ENDS_MS);
	}
	free_all(r->urgent.first);
	free_all(r->again.first);
	free_batch(r->idle);
	wp_subjects_release(&r->subjects);
	free(r);
	return has_ended;
}

struct wp_subjects *wp_registry_subjects(struct wp_registry *r)
{
	return &r->subjects;
}

/* Asks for the subject that is known before an event comes, if any is. */
static enum wp_rc expect(struct wp_subjects *subjects, const struct wp_outbox_options *options)
{
	struct wp_span topic = wp_span_of(options->topic_replacement);
	const struct wp_subject *subject;
	struct wp_shape *shape;
	struct wp_error error;

	enum wp_rc rc = wp_shape_new(options, 1024, &shape, &error);
	if (rc != WP_OK)
		return rc;
	wp_shape_use_subjects(shape, subjects);
	if (!wp_topic_is_fixed(options->topic_replacement))
		topic = (struct wp_span){ 0 };
	rc = wp_shape_find_subject(shape, topic, (struct wp_span){ 0 }, &subject, &error);
	wp_shape_free(shape);
	return rc;
}

void wp_registry_expect(struct wp_registry *r, const struct wp_outboxes *outboxes)
{
	keep_time(r);
	r->is_starting = true;
	for (size_t i = 0; i < outboxes->count; i++) {
		const struct wp_outbox_options *o = &outboxes->items[i];
		if (o->registry.url[0] != '\0')
			(void)!expect(&r->subjects, o);
	}
	r->is_starting = false;
}

const struct wp_error *wp_registry_refusal(const struct wp_registry *r)
{
	return r->is_refused ? &r->refusal : NULL;
}

void wp_registry_figures(const struct wp_registry *r, struct wp_registry_figures *ret)
{
	*ret = (struct wp_registry_figures){
		.is_used = r->subjects.count > 0,
		.is_reachable = r->answers > 0 && !r->is_down,
		.subjects = r->subjects.known,
		.answers = r->answers,
		.failures = r->failures,
	};
}

/* ---- for commands ---- */

static enum wp_rc ask_now(void *arg, struct wp_subject *subject,
			  const struct wp_registry_options *options)
{
	struct wp_registry_session *s = arg;
	struct wp_registry_question *q = wp_registry_question_new(subject, options);

	if (q == NULL)
		return WP_NOMEM;
	s->subjects.now_ms = wp_clock_us() / 1000;
	wp_registry_question_ask(q, &s->connection);
	/* A command sees one state of things: there is no refresh, and no second try. */
	if (q->rc == WP_OK)
		wp_subjects_answer(&s->subjects, subject, &q->schema, INT32_MAX);
	else
		(void)wp_subjects_fail(&s->subjects, subject, q->rc, &q->error);
	wp_registry_question_free(q);
	return WP_AGAIN;
}

void wp_registry_session_init(struct wp_registry_session *s)
{
	*s = (struct wp_registry_session){ 0 };
	wp_subjects_init(&s->subjects, WP_SUBJECTS_FAIL, ask_now, s);
}

void wp_registry_session_release(struct wp_registry_session *s)
{
	wp_subjects_release(&s->subjects);
	wp_http_connection_release(&s->connection);
}

#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "walpost/kafka/tail.h"

#define TAIL_MS 15000

/* Owned by the job. */
struct tail_job {
	const struct wp_kafka_options *options; /* borrowed: outlives the worker's jobs */
	struct wp_tail_question question;
	char *source; /* the question's: the asker's may go before the answer comes; owned */
	struct wp_tail answer;
	struct wp_producer *asker; /* touched by `done` only */
};

static void drop_job(void *arg)
{
	struct tail_job *j = arg;

	free(j->source);
	free(j);
}

static void run_job(void *arg)
{
	struct tail_job *j = arg;

	wp_tail_read(j->options, &j->question, TAIL_MS, &j->answer);
}

static void end_job(void *arg)
{
	struct tail_job *j = arg;
	struct wp_producer *p = j->asker;

	p->is_asking_tail = false;
	p->view.tail = j->answer;
	drop_job(j);
	wp_life_wake(p);
}

static enum wp_rc submit(struct wp_producer *p, const struct wp_tail_question *question)
{
	struct tail_job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return WP_NOMEM;
	j->options = p->options;
	j->question = *question;
	j->question.source = j->source = strdup(question->source);
	j->asker = p;
	struct wp_job job = { .run = run_job, .done = end_job, .drop = drop_job, .arg = j };
	enum wp_rc rc =
		j->source == NULL ? WP_NOMEM : wp_worker_submit(p->worker, &job, &p->tail_job);
	if (rc != WP_OK)
		drop_job(j);
	return rc;
}

void wp_tail_ask(struct wp_producer *p, const struct wp_tail_question *question)
{
	wp_tail_drop(p);
	p->view.tail = (struct wp_tail){ .state = WP_TAIL_ASKING };
	if (submit(p, question) == WP_OK) {
		p->is_asking_tail = true;
		return;
	}
	/* Asked again later, as when nobody answers. */
	p->view.tail.state = WP_TAIL_UNREACHABLE;
	(void)wp_error_set(&p->view.tail.error, WP_FULL, "the worker has no room for the question");
}

void wp_tail_drop(struct wp_producer *p)
{
	if (p->is_asking_tail)
		wp_worker_abandon(p->worker, p->tail_job);
	p->is_asking_tail = false;
}

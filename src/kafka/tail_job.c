#include <stdlib.h>
#include <string.h>

#include "walpost/kafka/tail.h"

#define TAIL_MS 15000

/* Owned by the job. */
struct asking {
	const struct wp_kafka_options *options; /* borrowed: outlives the worker's jobs */
	struct wp_tail_question question;
	char *source; /* the question's: the asker's may go before the answer comes; owned */
	struct wp_tail answer;
	struct wp_tail_job *asker; /* touched by `done` only */
};

static void drop(void *arg)
{
	struct asking *a = arg;

	free(a->source);
	free(a);
}

static void run(void *arg)
{
	struct asking *a = arg;

	wp_tail_read(a->options, &a->question, TAIL_MS, &a->answer);
}

static void done(void *arg)
{
	struct asking *a = arg;
	struct wp_tail_job *j = a->asker;

	j->is_asking = false;
	j->has_answer = true;
	j->answer = a->answer;
	drop(a);
	j->wake.call(j->wake.arg);
}

static enum wp_rc submit(struct wp_tail_job *j, const struct wp_tail_question *question)
{
	struct asking *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return WP_NOMEM;
	a->options = j->options;
	a->question = *question;
	a->question.source = a->source = strdup(question->source);
	a->asker = j;
	struct wp_job job = { .run = run, .done = done, .drop = drop, .arg = a };
	enum wp_rc rc = a->source == NULL ? WP_NOMEM : wp_worker_submit(j->worker, &job, &j->job);
	if (rc != WP_OK)
		drop(a);
	return rc;
}

void wp_tail_job_ask(struct wp_tail_job *j, const struct wp_tail_question *question)
{
	wp_tail_job_drop(j);
	j->has_answer = true;
	j->answer = (struct wp_tail){ .state = WP_TAIL_ASKING };
	if (submit(j, question) == WP_OK) {
		j->is_asking = true;
		return;
	}
	/* Asked again later, as when nobody answers. */
	j->answer.state = WP_TAIL_UNREACHABLE;
	(void)wp_error_set(&j->answer.error, WP_FULL, "the worker accepts no more jobs");
}

bool wp_tail_job_take(struct wp_tail_job *j, struct wp_tail *ret)
{
	if (!j->has_answer)
		return false;
	j->has_answer = false;
	*ret = j->answer;
	return true;
}

void wp_tail_job_drop(struct wp_tail_job *j)
{
	if (j->is_asking)
		wp_worker_abandon(j->worker, j->job);
	j->is_asking = false;
}

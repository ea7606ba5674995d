/* Reads the ends of topics on the worker, one question at a time. */
#include <stdlib.h>
#include <string.h>

#include "walpost/kafka_inspect/topic_ends.h"

#define TOPIC_ENDS_MS 15000

/* The job owns this. */
struct asking {
	const struct wp_kafka_options *options; /* borrowed: outlives the worker's jobs */
	struct wp_topic_ends_question question;
	char *source; /* the question's: the asker's may go before the answer comes; owned */
	struct wp_topic_ends answer;
	struct wp_topic_ends_job *asker; /* touched by `done` only */
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

	wp_topic_ends_read(a->options, &a->question, TOPIC_ENDS_MS, &a->answer);
}

static void done(void *arg)
{
	struct asking *a = arg;
	struct wp_topic_ends_job *j = a->asker;

	j->is_asking = false;
	j->has_answer = true;
	j->answer = a->answer;
	drop(a);
	j->wake.call(j->wake.arg);
}

static enum wp_rc submit(struct wp_topic_ends_job *j, const struct wp_topic_ends_question *question)
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

void wp_topic_ends_job_ask(struct wp_topic_ends_job *j,
			   const struct wp_topic_ends_question *question)
{
	wp_topic_ends_job_drop(j);
	j->has_answer = true;
	j->answer = (struct wp_topic_ends){ .state = WP_TOPIC_ENDS_ASKING };
	if (submit(j, question) == WP_OK) {
		j->is_asking = true;
		return;
	}
	/* It is asked again later, as when nobody answers. */
	j->answer.state = WP_TOPIC_ENDS_UNREACHABLE;
	(void)wp_error_set(&j->answer.error, WP_FULL, "the worker accepts no more jobs");
}

bool wp_topic_ends_job_take(struct wp_topic_ends_job *j, struct wp_topic_ends *ret)
{
	if (!j->has_answer)
		return false;
	j->has_answer = false;
	*ret = j->answer;
	return true;
}

void wp_topic_ends_job_drop(struct wp_topic_ends_job *j)
{
	if (j->is_asking)
		wp_worker_abandon(j->worker, j->job);
	j->is_asking = false;
}

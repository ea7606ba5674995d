#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "walpost/base/worker.h"

#define WAITING_MAX 64

struct entry {
	struct wp_job job;
	uint64_t id;
	bool abandoned;
	struct entry *next;
};

struct queue {
	struct entry *first;
	struct entry *last;
	size_t count;
};

/*
 * A job goes from `waiting` to `running` to `finished` and leaves by
 * collect(); once abandoned it goes to `dropping` instead and leaves by the
 * thread. Whoever holds the worker last frees it: the caller of free(), or the
 * thread if it was orphaned.
 */
struct wp_worker {
	pthread_t thread;
	pthread_mutex_t lock;	/* guards all below */
	pthread_cond_t changed; /* a job came, or an end is wanted or reached */
	struct queue waiting;
	struct queue finished;
	struct queue dropping;
	struct entry *running;
	uint64_t last_id;
	int fd;
	bool stopping;
	bool ended;
	bool orphaned;
};

static void push(struct queue *q, struct entry *e)
{
	e->next = NULL;
	if (q->last == NULL)
		q->first = e;
	else
		q->last->next = e;
	q->last = e;
	q->count++;
}

static struct entry *pop(struct queue *q)
{
	struct entry *e = q->first;

	if (e == NULL)
		return NULL;
	q->first = e->next;
	if (q->first == NULL)
		q->last = NULL;
	q->count--;
	return e;
}

static struct entry *find(const struct queue *q, uint64_t id)
{
	struct entry *e = q->first;

	while (e != NULL && e->id != id)
		e = e->next;
	return e;
}

/* Moves one out of the middle and keeps the order. */
static void move(struct queue *from, struct entry *wanted, struct queue *to)
{
	struct queue kept = { 0 };
	struct entry *e;

	while ((e = pop(from)) != NULL)
		push(e == wanted ? to : &kept, e);
	*from = kept;
}

static void destroy(struct wp_worker *w)
{
	(void)pthread_cond_destroy(&w->changed);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Called with the lock held, which it gives up while the job runs. */
static void run_one(struct wp_worker *w, struct entry *e)
{
	w->running = e;
	(void)pthread_mutex_unlock(&w->lock);
	e->job.run(e->job.arg);
	(void)pthread_mutex_lock(&w->lock);
	w->running = NULL;
	if (e->abandoned) {
		push(&w->dropping, e);
		return;
	}
	push(&w->finished, e);
	uint64_t one = 1;
	(void)!write(w->fd, &one, sizeof(one)); /* would fail only at 2^64 - 1 of them */
}

static void drop_one(struct wp_worker *w, struct entry *e)
{
	(void)pthread_mutex_unlock(&w->lock);
	if (e->job.drop != NULL)
		e->job.drop(e->job.arg);
	free(e);
	(void)pthread_mutex_lock(&w->lock);
}

/* Called with the lock held; false when there is nothing to do now. */
static bool work_once(struct wp_worker *w)
{
	struct entry *e = pop(&w->dropping);

	if (e != NULL) {
		drop_one(w, e);
		return true;
	}
	e = pop(&w->waiting);
	if (e != NULL) {
		run_one(w, e);
		return true;
	}
	return false;
}

static void *work(void *arg)
{
	struct wp_worker *w = arg;

	(void)pthread_mutex_lock(&w->lock);
	while (work_once(w) || !w->stopping) {
		while (w->dropping.count + w->waiting.count == 0 && !w->stopping)
			(void)pthread_cond_wait(&w->changed, &w->lock);
	}
	bool orphaned = w->orphaned;
	w->ended = true;
	(void)pthread_cond_broadcast(&w->changed);
	(void)pthread_mutex_unlock(&w->lock);
	if (orphaned)
		destroy(w);
	return NULL;
}

/* Signals are the loop's: the thread is started with all of them blocked. */
static int start_thread(struct wp_worker *w)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int errnum = pthread_create(&w->thread, NULL, work, w);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum;
}

static void init_lock(struct wp_worker *w)
{
	pthread_condattr_t monotonic;

	/* None of these can fail on Linux. */
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w->changed, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

enum wp_rc wp_worker_new(struct wp_worker **ret, struct wp_error *error)
{
	struct wp_worker *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a worker thread");
	w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->fd < 0) {
		int errnum = errno;
		free(w);
		return wp_error_set(error, WP_NOMEM, "no eventfd for a worker thread: %s",
				    strerror(errnum));
	}
	init_lock(w);
	int errnum = start_thread(w);
	if (errnum != 0) {
		(void)close(w->fd);
		destroy(w);
		return wp_error_set(error, WP_NOMEM, "cannot start a worker thread: %s",
				    strerror(errnum));
	}
	*ret = w;
	return WP_OK;
}

static struct timespec deadline_in(int64_t wait_ms)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)(wait_ms / 1000);
	t.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* Called with the lock held: from here on nothing calls `done`, and nothing wakes the loop. */
static void abandon_all(struct wp_worker *w)
{
	struct entry *e;

	while ((e = pop(&w->finished)) != NULL)
		push(&w->dropping, e);
	for (e = w->waiting.first; e != NULL; e = e->next)
		e->abandoned = true;
	if (w->running != NULL)
		w->running->abandoned = true;
}

bool wp_worker_free(struct wp_worker *w, int64_t wait_ms)
{
	if (w == NULL)
		return true;
	assert(wait_ms >= 0);
	struct timespec deadline = deadline_in(wait_ms);

	(void)pthread_mutex_lock(&w->lock);
	abandon_all(w);
	(void)close(w->fd);
	w->stopping = true;
	(void)pthread_cond_broadcast(&w->changed);
	int errnum = 0;
	while (!w->ended && errnum == 0)
		errnum = pthread_cond_timedwait(&w->changed, &w->lock, &deadline);
	bool ended = w->ended;
	pthread_t thread = w->thread;
	w->orphaned = !ended;
	(void)pthread_mutex_unlock(&w->lock);

	/* The thread may end and free the worker at any time now. */
	if (!ended) {
		(void)pthread_detach(thread);
		return false;
	}
	(void)pthread_join(thread, NULL);
	destroy(w);
	return true;
}

enum wp_rc wp_worker_submit(struct wp_worker *w, const struct wp_job *job, uint64_t *ret_id)
{
	enum wp_rc rc = WP_OK;

	assert(job->run != NULL);
	struct entry *e = calloc(1, sizeof(*e));
	if (e == NULL)
		return WP_NOMEM;
	e->job = *job;

	(void)pthread_mutex_lock(&w->lock);
	/* What waits to be collected counts too: else the queue would have no bound. */
	if (w->waiting.count + w->finished.count >= WAITING_MAX) {
		rc = WP_FULL;
	} else {
		*ret_id = e->id = ++w->last_id;
		push(&w->waiting, e);
		(void)pthread_cond_broadcast(&w->changed);
		e = NULL;
	}
	(void)pthread_mutex_unlock(&w->lock);
	free(e);
	return rc;
}

void wp_worker_abandon(struct wp_worker *w, uint64_t id)
{
	(void)pthread_mutex_lock(&w->lock);
	struct entry *finished = find(&w->finished, id);
	struct entry *waiting = find(&w->waiting, id);

	if (finished != NULL) {
		move(&w->finished, finished, &w->dropping);
		(void)pthread_cond_broadcast(&w->changed);
	} else if (waiting != NULL) {
		waiting->abandoned = true;
	} else if (w->running != NULL && w->running->id == id) {
		w->running->abandoned = true;
	}
	/* Otherwise it was collected already. */
	(void)pthread_mutex_unlock(&w->lock);
}

int wp_worker_fd(const struct wp_worker *w)
{
	return w->fd;
}

void wp_worker_collect(struct wp_worker *w)
{
	uint64_t count;

	/* The counter is emptied first: what finishes from here on makes it readable again. */
	(void)!read(w->fd, &count, sizeof(count));
	/* So many can be there now; what `done` starts anew comes next time. */
	for (size_t i = 0; i <= WAITING_MAX; i++) {
		(void)pthread_mutex_lock(&w->lock);
		struct entry *e = pop(&w->finished);
		(void)pthread_mutex_unlock(&w->lock);
		if (e == NULL)
			break;
		struct wp_job job = e->job;
		free(e);
		if (job.done != NULL)
			job.done(job.arg);
	}
}

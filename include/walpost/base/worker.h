/*
 * Has one worker thread for what blocks: name resolution, rd_kafka_destroy. Jobs
 * run in order, one at a time per worker; several workers may exist (a resolver that
 * never answers must not hold back anything else: give it its own).
 *
 * A job's `run` is called on the worker thread, `done` on the thread that calls
 * wp_worker_collect(), the loop's, when wp_worker_fd() is readable. An
 * abandoned job's `done` is never called; instead `drop` is, on the worker
 * thread after `run`, to free what the job owns.
 *
 * A job once submitted always runs, and ends with exactly one of the two. `done`
 * may submit and abandon, but not free the worker.
 *
 * Bounded: 64 jobs waiting to run or to be collected; then WP_FULL.
 */
#ifndef WALPOST_BASE_WORKER_H
#define WALPOST_BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/base/error.h"

struct wp_worker;

struct wp_job {
	void (*run)(void *arg);
	void (*done)(void *arg); /* may be NULL */
	void (*drop)(void *arg); /* may be NULL */
	void *arg;
};

/* Returns WP_NOMEM when memory, descriptors or threads have run out. */
enum wp_rc wp_worker_new(struct wp_worker **ret, struct wp_error *error) WP_MUST_CHECK;
/*
 * Abandons all jobs and waits at most `wait_ms` for them; if one still runs then, the thread is detached and
 * frees the worker when the last job has ended, and it returns false. The fd is closed at once. NULL is fine.
 */
bool wp_worker_free(struct wp_worker *w, int64_t wait_ms);
/* `ret_id` names the job for wp_worker_abandon(). */
enum wp_rc wp_worker_submit(struct wp_worker *w, const struct wp_job *job,
			    uint64_t *ret_id) WP_MUST_CHECK;
void wp_worker_abandon(struct wp_worker *w, uint64_t id);
/* The descriptor is readable (eventfd) when wp_worker_collect() has something to call. */
int wp_worker_fd(const struct wp_worker *w);
void wp_worker_collect(struct wp_worker *w);

#endif

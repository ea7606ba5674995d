#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/check.h"
#include "walpost/base/worker.h"

#define WAIT_MS 20000 /* a test that hangs ends, and is red */

static bool no_memory, no_descriptors, no_threads;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return no_memory ? NULL : __real_calloc(count, size);
}

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags)
{
	errno = EMFILE;
	return no_descriptors ? -1 : __real_eventfd(value, flags);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(thread, attributes, start, arg);
}

/* A job that tells by a pipe when it starts and, if gated, runs until let go. */
struct probe {
	bool gated;
	int gate[2];
	int told[2]; /* 's' started, 'd' dropped */
	int order;   /* among all that ran */
	bool ran, was_done, was_dropped;
	pthread_t ran_on, done_on, dropped_on;
	sigset_t blocked;
};

static int ran_count;

static void tell(struct probe *p, char what)
{
	CHECK_EQ(write(p->told[1], &what, 1), 1);
}

static void run(void *arg)
{
	struct probe *p = arg;
	char byte;

	p->ran_on = pthread_self();
	(void)pthread_sigmask(SIG_BLOCK, NULL, &p->blocked);
	tell(p, 's');
	if (p->gated)
		CHECK_EQ(read(p->gate[0], &byte, 1), 1);
	p->order = ++ran_count;
	p->ran = true;
}

static void done(void *arg)
{
	struct probe *p = arg;

	p->was_done = true;
	p->done_on = pthread_self();
}

static void drop(void *arg)
{
	struct probe *p = arg;

	CHECK(p->ran);
	p->was_dropped = true;
	p->dropped_on = pthread_self();
	tell(p, 'd');
}

static void init_probe(struct probe *p, bool gated)
{
	*p = (struct probe){ .gated = gated };
	CHECK_EQ(pipe(p->gate), 0);
	CHECK_EQ(pipe(p->told), 0);
}

static void release_probe(struct probe *p)
{
	close(p->gate[0]);
	close(p->gate[1]);
	close(p->told[0]);
	close(p->told[1]);
}

static void let_go(struct probe *p)
{
	CHECK_EQ(write(p->gate[1], "x", 1), 1);
}

static void await(struct probe *p, char wanted)
{
	struct pollfd told = { .fd = p->told[0], .events = POLLIN };
	char byte = 0;

	while (byte != wanted) {
		CHECK_EQ(poll(&told, 1, WAIT_MS), 1);
		CHECK_EQ(read(p->told[0], &byte, 1), 1);
	}
}

static struct wp_worker *new_worker(void)
{
	struct wp_worker *w;
	struct wp_error error;

	CHECK_EQ(wp_worker_new(&w, &error), WP_OK);
	return w;
}

static uint64_t submit(struct wp_worker *w, struct probe *p)
{
	struct wp_job job = { .run = run, .done = done, .drop = drop, .arg = p };
	uint64_t id;

	CHECK_EQ(wp_worker_submit(w, &job, &id), WP_OK);
	return id;
}

static bool is_readable(const struct wp_worker *w, int wait_ms)
{
	struct pollfd fd = { .fd = wp_worker_fd(w), .events = POLLIN };

	return poll(&fd, 1, wait_ms) == 1;
}

static void collect_until(struct wp_worker *w, const bool *reached)
{
	while (!*reached) {
		CHECK(is_readable(w, WAIT_MS));
		wp_worker_collect(w);
	}
}

static void a_job_runs_on_the_worker_and_is_done_on_ours(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe p;

	init_probe(&p, false);
	(void)submit(w, &p);
	collect_until(w, &p.was_done);
	CHECK(!pthread_equal(p.ran_on, pthread_self()));
	CHECK(pthread_equal(p.done_on, pthread_self()));
	wp_worker_free(w, WAIT_MS);
	CHECK(!p.was_dropped);
	release_probe(&p);
}

static void the_fd_is_readable_only_when_something_is_to_be_collected(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe p;

	init_probe(&p, true);
	(void)submit(w, &p);
	await(&p, 's');
	CHECK(!is_readable(w, 0));
	let_go(&p);
	CHECK(is_readable(w, WAIT_MS));
	CHECK(!p.was_done);
	wp_worker_collect(w);
	CHECK(p.was_done);
	CHECK(!is_readable(w, 0));
	wp_worker_collect(w);
	wp_worker_free(w, WAIT_MS);
	release_probe(&p);
}

static void jobs_run_in_order(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe probes[5];

	ran_count = 0;
	for (int i = 0; i < 5; i++) {
		init_probe(&probes[i], i == 0);
		(void)submit(w, &probes[i]);
	}
	let_go(&probes[0]);
	collect_until(w, &probes[4].was_done);
	for (int i = 0; i < 5; i++) {
		CHECK(probes[i].was_done);
		CHECK_EQ(probes[i].order, i + 1);
		release_probe(&probes[i]);
	}
	wp_worker_free(w, WAIT_MS);
}

static void signals_are_left_to_the_loop(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe p;
	sigset_t ours;

	init_probe(&p, false);
	(void)submit(w, &p);
	collect_until(w, &p.was_done);
	CHECK_EQ(sigismember(&p.blocked, SIGTERM), 1);
	CHECK_EQ(sigismember(&p.blocked, SIGHUP), 1);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &ours);
	CHECK_EQ(sigismember(&ours, SIGTERM), 0);
	wp_worker_free(w, WAIT_MS);
	release_probe(&p);
}

static void nothing(void *arg)
{
}

/* Submits until told otherwise; gives how many were taken. */
static int fill(struct wp_worker *w)
{
	struct wp_job job = { .run = nothing };
	enum wp_rc rc;
	uint64_t id;
	int count = 0;

	while ((rc = wp_worker_submit(w, &job, &id)) == WP_OK)
		count++;
	CHECK_EQ(rc, WP_FULL);
	return count;
}

static void sixty_four_jobs_may_wait(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe p;

	init_probe(&p, true);
	(void)submit(w, &p);
	await(&p, 's');
	CHECK_EQ(fill(w), 64);
	let_go(&p);
	collect_until(w, &p.was_done);
	wp_worker_free(w, WAIT_MS);
	release_probe(&p);
}

static void what_nobody_collects_counts_as_waiting(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe first, second;

	init_probe(&first, false);
	init_probe(&second, true);
	(void)submit(w, &first);
	(void)submit(w, &second);
	await(&second, 's');
	CHECK_EQ(fill(w), 63);
	wp_worker_collect(w);
	CHECK_EQ(fill(w), 1);
	let_go(&second);
	wp_worker_free(w, WAIT_MS);
	release_probe(&first);
	release_probe(&second);
}

static void an_abandoned_job_that_runs_is_dropped_by_the_thread(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe p;

	init_probe(&p, true);
	uint64_t id = submit(w, &p);
	await(&p, 's');
	wp_worker_abandon(w, id);
	let_go(&p);
	await(&p, 'd');
	wp_worker_collect(w);
	CHECK(!p.was_done);
	CHECK(pthread_equal(p.dropped_on, p.ran_on));
	wp_worker_free(w, WAIT_MS);
	release_probe(&p);
}

static void an_abandoned_job_that_waits_still_runs(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe first, second, third;

	init_probe(&first, true);
	init_probe(&second, false);
	init_probe(&third, false);
	(void)submit(w, &first);
	wp_worker_abandon(w, submit(w, &second));
	(void)submit(w, &third);
	let_go(&first);
	collect_until(w, &third.was_done);
	CHECK(first.was_done);
	CHECK(second.ran && second.was_dropped && !second.was_done);
	wp_worker_free(w, WAIT_MS);
	release_probe(&first);
	release_probe(&second);
	release_probe(&third);
}

static void a_job_abandoned_between_its_end_and_collecting_is_dropped(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe first, second, third;

	init_probe(&first, false);
	init_probe(&second, false);
	init_probe(&third, false);
	(void)submit(w, &first);
	uint64_t id = submit(w, &second);
	(void)submit(w, &third);
	await(&third, 's'); /* so the two before it have ended */
	wp_worker_abandon(w, id);
	await(&second, 'd');
	collect_until(w, &third.was_done);
	CHECK(first.was_done);
	CHECK(!second.was_done);
	CHECK(!pthread_equal(second.dropped_on, pthread_self()));
	wp_worker_free(w, WAIT_MS);
	release_probe(&first);
	release_probe(&second);
	release_probe(&third);
}

static void abandoning_what_was_collected_does_nothing(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe p;

	init_probe(&p, false);
	uint64_t id = submit(w, &p);
	collect_until(w, &p.was_done);
	wp_worker_abandon(w, id);
	wp_worker_abandon(w, 12345);
	wp_worker_free(w, WAIT_MS);
	CHECK(!p.was_dropped);
	release_probe(&p);
}

struct chain {
	struct wp_worker *worker;
	struct probe next;
	bool was_done;
};

static void submit_next(void *arg)
{
	struct chain *c = arg;

	(void)submit(c->worker, &c->next);
	c->was_done = true;
}

static void done_may_submit_the_next_job(void **state)
{
	struct chain c = { .worker = new_worker() };
	struct wp_job job = { .run = nothing, .done = submit_next, .arg = &c };
	uint64_t id;

	init_probe(&c.next, false);
	CHECK_EQ(wp_worker_submit(c.worker, &job, &id), WP_OK);
	collect_until(c.worker, &c.next.was_done);
	CHECK(c.was_done);
	wp_worker_free(c.worker, WAIT_MS);
	release_probe(&c.next);
}

static void freeing_nothing_is_fine(void **state)
{
	CHECK(wp_worker_free(NULL, 0));
	wp_worker_free(new_worker(), WAIT_MS);
	wp_worker_free(new_worker(), 0);
}

static void freeing_waits_for_the_running_job_and_drops_all(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe ended, running, waiting;

	init_probe(&ended, false);
	init_probe(&running, true);
	init_probe(&waiting, false);
	(void)submit(w, &ended);
	(void)submit(w, &running);
	(void)submit(w, &waiting);
	await(&running, 's');
	let_go(&running);
	CHECK(wp_worker_free(w, WAIT_MS));
	CHECK(ended.was_dropped && running.was_dropped && waiting.was_dropped);
	CHECK(!ended.was_done && !running.was_done && !waiting.was_done);
	CHECK(waiting.ran);
	release_probe(&ended);
	release_probe(&running);
	release_probe(&waiting);
}

static void freeing_does_not_wait_for_a_job_that_never_ends(void **state)
{
	struct wp_worker *w = new_worker();
	struct probe never, waiting;

	init_probe(&never, true);
	init_probe(&waiting, false);
	(void)submit(w, &never);
	(void)submit(w, &waiting);
	await(&never, 's');
	CHECK(!wp_worker_free(w, 5));
	CHECK(!never.ran);

	/* If it ends after all, it and the worker are freed by the thread. */
	let_go(&never);
	await(&never, 'd');
	await(&waiting, 'd');
	CHECK(!never.was_done && !waiting.was_done);
	release_probe(&never);
	release_probe(&waiting);
}

static void several_workers_do_not_hold_each_other_back(void **state)
{
	struct wp_worker *stuck = new_worker();
	struct wp_worker *w = new_worker();
	struct probe never, p;

	init_probe(&never, true);
	init_probe(&p, false);
	(void)submit(stuck, &never);
	await(&never, 's');
	(void)submit(w, &p);
	collect_until(w, &p.was_done);
	wp_worker_free(w, WAIT_MS);
	let_go(&never);
	wp_worker_free(stuck, WAIT_MS);
	release_probe(&never);
	release_probe(&p);
}

static void what_has_run_out_is_named(void **state)
{
	struct wp_worker *w;
	struct wp_error error;

	no_memory = true;
	CHECK_EQ(wp_worker_new(&w, &error), WP_NOMEM);
	no_memory = false;
	CHECK_HAS(error.text, "memory");
	no_descriptors = true;
	CHECK_EQ(wp_worker_new(&w, &error), WP_NOMEM);
	no_descriptors = false;
	CHECK_HAS(error.text, strerror(EMFILE));
	no_threads = true;
	CHECK_EQ(wp_worker_new(&w, &error), WP_NOMEM);
	no_threads = false;
	CHECK_HAS(error.text, strerror(EAGAIN));
}

static void without_memory_a_job_is_not_taken(void **state)
{
	struct wp_worker *w = new_worker();
	struct wp_job job = { .run = nothing };
	uint64_t id;

	no_memory = true;
	CHECK_EQ(wp_worker_submit(w, &job, &id), WP_NOMEM);
	no_memory = false;
	wp_worker_free(w, WAIT_MS);
}

int main(void)
{
	return RUN(PLAIN(a_job_runs_on_the_worker_and_is_done_on_ours),
		   PLAIN(the_fd_is_readable_only_when_something_is_to_be_collected),
		   PLAIN(jobs_run_in_order), PLAIN(signals_are_left_to_the_loop),
		   PLAIN(sixty_four_jobs_may_wait), PLAIN(what_nobody_collects_counts_as_waiting),
		   PLAIN(an_abandoned_job_that_runs_is_dropped_by_the_thread),
		   PLAIN(an_abandoned_job_that_waits_still_runs),
		   PLAIN(a_job_abandoned_between_its_end_and_collecting_is_dropped),
		   PLAIN(abandoning_what_was_collected_does_nothing),
		   PLAIN(done_may_submit_the_next_job), PLAIN(freeing_nothing_is_fine),
		   PLAIN(freeing_waits_for_the_running_job_and_drops_all),
		   PLAIN(freeing_does_not_wait_for_a_job_that_never_ends),
		   PLAIN(several_workers_do_not_hold_each_other_back),
		   PLAIN(what_has_run_out_is_named), PLAIN(without_memory_a_job_is_not_taken));
}

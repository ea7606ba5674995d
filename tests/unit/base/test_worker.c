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
	uint64_t id;
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

/* Each test's: tear_down() frees the worker and closes the pipes. */
static struct wp_worker *w;
static struct probe probes[5];
static size_t probe_count;

static struct probe *submit(bool gated)
{
	struct probe *p = &probes[probe_count++];
	struct wp_job job = { .run = run, .done = done, .drop = drop, .arg = p };

	*p = (struct probe){ .gated = gated };
	CHECK_EQ(pipe(p->gate), 0);
	CHECK_EQ(pipe(p->told), 0);
	CHECK_EQ(wp_worker_submit(w, &job, &p->id), WP_OK);
	return p;
}

static struct wp_worker *new_worker(void)
{
	struct wp_worker *ret;
	struct wp_error error;

	CHECK_EQ(wp_worker_new(&ret, &error), WP_OK);
	return ret;
}

static bool free_worker(int64_t wait_ms)
{
	bool freed = wp_worker_free(w, wait_ms);

	w = NULL;
	return freed;
}

static int set_up(void **state)
{
	w = new_worker();
	return 0;
}

static int tear_down(void **state)
{
	(void)free_worker(WAIT_MS);
	for (; probe_count > 0; probe_count--) {
		struct probe *p = &probes[probe_count - 1];
		close(p->gate[0]);
		close(p->gate[1]);
		close(p->told[0]);
		close(p->told[1]);
	}
	return 0;
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

static bool is_readable(int wait_ms)
{
	struct pollfd fd = { .fd = wp_worker_fd(w), .events = POLLIN };

	return poll(&fd, 1, wait_ms) == 1;
}

static void collect_until(const bool *reached)
{
	while (!*reached) {
		CHECK(is_readable(WAIT_MS));
		wp_worker_collect(w);
	}
}

static void a_job_runs_on_the_worker_and_is_done_on_ours(void **state)
{
	struct probe *p = submit(false);

	collect_until(&p->was_done);
	CHECK(!pthread_equal(p->ran_on, pthread_self()));
	CHECK(pthread_equal(p->done_on, pthread_self()));
	(void)free_worker(WAIT_MS);
	CHECK(!p->was_dropped);
}

static void the_fd_is_readable_only_when_something_is_to_be_collected(void **state)
{
	struct probe *p = submit(true);

	await(p, 's');
	CHECK(!is_readable(0));
	let_go(p);
	CHECK(is_readable(WAIT_MS));
	CHECK(!p->was_done);
	wp_worker_collect(w);
	CHECK(p->was_done);
	CHECK(!is_readable(0));
	wp_worker_collect(w);
}

static void jobs_run_in_order(void **state)
{
	ran_count = 0;
	for (int i = 0; i < 5; i++)
		(void)submit(i == 0);
	let_go(&probes[0]);
	collect_until(&probes[4].was_done);
	for (int i = 0; i < 5; i++) {
		CHECK(probes[i].was_done);
		CHECK_EQ(probes[i].order, i + 1);
	}
}

static void signals_are_left_to_the_loop(void **state)
{
	sigset_t ours;
	struct probe *p = submit(false);

	collect_until(&p->was_done);
	CHECK_EQ(sigismember(&p->blocked, SIGTERM), 1);
	CHECK_EQ(sigismember(&p->blocked, SIGHUP), 1);
	(void)pthread_sigmask(SIG_BLOCK, NULL, &ours);
	CHECK_EQ(sigismember(&ours, SIGTERM), 0);
}

static void nothing(void *arg)
{
}

/* Submits until told otherwise; gives how many were taken. */
static int fill(void)
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
	struct probe *p = submit(true);

	await(p, 's');
	CHECK_EQ(fill(), 64);
	let_go(p);
	collect_until(&p->was_done);
}

static void what_nobody_collects_counts_as_waiting(void **state)
{
	(void)submit(false);
	struct probe *second = submit(true);

	await(second, 's');
	CHECK_EQ(fill(), 63);
	wp_worker_collect(w);
	CHECK_EQ(fill(), 1);
	let_go(second);
}

static void an_abandoned_job_that_runs_is_dropped_by_the_thread(void **state)
{
	struct probe *p = submit(true);

	await(p, 's');
	wp_worker_abandon(w, p->id);
	let_go(p);
	await(p, 'd');
	wp_worker_collect(w);
	CHECK(!p->was_done);
	CHECK(pthread_equal(p->dropped_on, p->ran_on));
}

static void an_abandoned_job_that_waits_still_runs(void **state)
{
	struct probe *first = submit(true);
	struct probe *second = submit(false);
	struct probe *third = submit(false);

	wp_worker_abandon(w, second->id);
	let_go(first);
	collect_until(&third->was_done);
	CHECK(first->was_done);
	CHECK(second->ran && second->was_dropped && !second->was_done);
}

static void a_job_abandoned_between_its_end_and_collecting_is_dropped(void **state)
{
	struct probe *first = submit(false);
	struct probe *second = submit(false);
	struct probe *third = submit(false);

	await(third, 's'); /* so the two before it have ended */
	wp_worker_abandon(w, second->id);
	await(second, 'd');
	collect_until(&third->was_done);
	CHECK(first->was_done);
	CHECK(!second->was_done);
	CHECK(!pthread_equal(second->dropped_on, pthread_self()));
}

static void abandoning_what_was_collected_does_nothing(void **state)
{
	struct probe *p = submit(false);

	collect_until(&p->was_done);
	wp_worker_abandon(w, p->id);
	wp_worker_abandon(w, 12345);
	(void)free_worker(WAIT_MS);
	CHECK(!p->was_dropped);
}

struct chain {
	struct probe *next;
	bool was_done;
};

static void submit_next(void *arg)
{
	struct chain *c = arg;

	c->next = submit(false);
	c->was_done = true;
}

static void done_may_submit_the_next_job(void **state)
{
	struct chain c = { .was_done = false };
	struct wp_job job = { .run = nothing, .done = submit_next, .arg = &c };
	uint64_t id;

	CHECK_EQ(wp_worker_submit(w, &job, &id), WP_OK);
	collect_until(&c.was_done);
	collect_until(&c.next->was_done);
}

static void freeing_nothing_is_fine(void **state)
{
	CHECK(wp_worker_free(NULL, 0));
	wp_worker_free(new_worker(), WAIT_MS);
	wp_worker_free(new_worker(), 0);
}

static void freeing_waits_for_the_running_job_and_drops_all(void **state)
{
	struct probe *ended = submit(false);
	struct probe *running = submit(true);
	struct probe *waiting = submit(false);

	await(running, 's');
	let_go(running);
	CHECK(free_worker(WAIT_MS));
	CHECK(ended->was_dropped && running->was_dropped && waiting->was_dropped);
	CHECK(!ended->was_done && !running->was_done && !waiting->was_done);
	CHECK(waiting->ran);
}

static void freeing_does_not_wait_for_a_job_that_never_ends(void **state)
{
	struct probe *never = submit(true);
	struct probe *waiting = submit(false);

	await(never, 's');
	CHECK(!free_worker(5));
	CHECK(!never->ran);

	/* If it ends after all, it and the worker are freed by the thread. */
	let_go(never);
	await(never, 'd');
	await(waiting, 'd');
	CHECK(!never->was_done && !waiting->was_done);
}

static void several_workers_do_not_hold_each_other_back(void **state)
{
	struct wp_worker *stuck = w;
	struct probe *never = submit(true);

	await(never, 's');
	w = new_worker();
	collect_until(&submit(false)->was_done);
	(void)free_worker(WAIT_MS);
	let_go(never);
	wp_worker_free(stuck, WAIT_MS);
}

static void what_has_run_out_is_named(void **state)
{
	struct wp_worker *none;
	struct wp_error error;

	no_memory = true;
	CHECK_EQ(wp_worker_new(&none, &error), WP_NOMEM);
	no_memory = false;
	CHECK_HAS(error.text, "memory");
	no_descriptors = true;
	CHECK_EQ(wp_worker_new(&none, &error), WP_NOMEM);
	no_descriptors = false;
	CHECK_HAS(error.text, strerror(EMFILE));
	no_threads = true;
	CHECK_EQ(wp_worker_new(&none, &error), WP_NOMEM);
	no_threads = false;
	CHECK_HAS(error.text, strerror(EAGAIN));
}

static void without_memory_a_job_is_not_taken(void **state)
{
	struct wp_job job = { .run = nothing };
	uint64_t id;

	no_memory = true;
	CHECK_EQ(wp_worker_submit(w, &job, &id), WP_NOMEM);
	no_memory = false;
}

int main(void)
{
	return RUN(TEST(a_job_runs_on_the_worker_and_is_done_on_ours),
		   TEST(the_fd_is_readable_only_when_something_is_to_be_collected),
		   TEST(jobs_run_in_order), TEST(signals_are_left_to_the_loop),
		   TEST(sixty_four_jobs_may_wait), TEST(what_nobody_collects_counts_as_waiting),
		   TEST(an_abandoned_job_that_runs_is_dropped_by_the_thread),
		   TEST(an_abandoned_job_that_waits_still_runs),
		   TEST(a_job_abandoned_between_its_end_and_collecting_is_dropped),
		   TEST(abandoning_what_was_collected_does_nothing),
		   TEST(done_may_submit_the_next_job), PLAIN(freeing_nothing_is_fine),
		   TEST(freeing_waits_for_the_running_job_and_drops_all),
		   TEST(freeing_does_not_wait_for_a_job_that_never_ends),
		   TEST(several_workers_do_not_hold_each_other_back),
		   PLAIN(what_has_run_out_is_named), TEST(without_memory_a_job_is_not_taken));
}

/* Resolves host names, and gets the password of a login, on a thread that may be left behind. */
#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "walpost/base/worker.h"
#include "walpost/login/login.h"
#include "walpost/postgres/connection_plan.h"

/* The thread works on this; it outlives the wp_resolve when that is abandoned. */
struct task {
	bool *finished; /* the wp_resolve's; for `done` only, which an abandoned task never sees */
	struct wp_addresses wanted;
	struct wp_addresses found;
	struct wp_login *login;	 /* held; NULL: none */
	struct wp_address first; /* as the user wrote it, and to whom the password is for */
	char user[256];
	struct wp_token token;
	struct wp_error error; /* of the last name that gave nothing, or of the login */
};

struct wp_resolve {
	struct ev_loop *loop; /* borrowed */
	wp_resolve_done done;
	void *arg;
	struct wp_worker *worker;
	struct task *task; /* the thread's until `finished` */
	bool finished;
	uint64_t job;
	ev_io collectable;
};

/* Each resolution may hold a thread for ever, so they are counted for the whole process. */
static atomic_int running;

static void add(struct wp_addresses *to, const struct wp_address *a)
{
	if (to->count < WP_ADDRESSES_MAX)
		to->list[to->count++] = *a;
}

static void look_up(struct task *t, const struct wp_address *name)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *infos = NULL;
	int rc = getaddrinfo(name->host, NULL, &hints, &infos);
	if (rc != 0) {
		(void)wp_error_set(&t->error, WP_IO, "cannot resolve host name \"%s\": %s",
				   name->host, gai_strerror(rc));
		return;
	}
	for (const struct addrinfo *info = infos; info; info = info->ai_next) {
		struct wp_address a = *name;
		if (getnameinfo(info->ai_addr, info->ai_addrlen, a.hostaddr, sizeof(a.hostaddr),
				NULL, 0, NI_NUMERICHOST) == 0)
			add(&t->found, &a);
	}
	freeaddrinfo(infos);
}

static void fetch(struct task *t)
{
	struct wp_error error;
	const struct wp_login_request request = {
		.host = t->first.host,
		.port = *t->first.port ? t->first.port : "5432",
		.user = t->user,
		.oidc = { "", "", "", "" },
		.ca_file = "",
	};
	enum wp_rc rc = wp_login_get(t->login, &request, &t->token, &error);
	if (rc == WP_OK)
		return;
	(void)wp_error_set(&t->error, rc, "there is no password: %s", error.text);
	t->found.count = 0;
}

static void run(void *arg)
{
	struct task *t = arg;
	for (size_t i = 0; i < t->wanted.count; i++)
		if (wp_address_is_name(&t->wanted.list[i]))
			look_up(t, &t->wanted.list[i]);
		else
			add(&t->found, &t->wanted.list[i]);
	if (t->login && t->found.count > 0)
		fetch(t);
	(void)atomic_fetch_sub(&running, 1);
}

static void free_task(struct task *t)
{
	wp_login_free(t->login);
	wp_token_release(&t->token);
	free(t);
}

static void drop(void *arg)
{
	free_task(arg);
}

static void done(void *arg)
{
	struct task *t = arg;
	*t->finished = true;
}

/* The answer is given after collecting, for it may free the worker. */
static void on_collectable(struct ev_loop *loop, ev_io *w, int events)
{
	(void)events; /* one watcher, always for reading */
	struct wp_resolve *r = w->data;
	wp_worker_collect(r->worker);
	if (!r->finished)
		return;
	ev_io_stop(loop, &r->collectable);
	struct task *t = r->task;
	r->task = NULL;
	const struct wp_resolved resolved = { .addresses = t->found, .password = t->token.text };
	r->done(r->arg, t->found.count ? &resolved : NULL, t->found.count ? NULL : &t->error);
	free_task(t);
}

static enum wp_rc take_place(struct wp_error *error)
{
	if (atomic_fetch_add(&running, 1) < WP_RESOLVE_RUNNING_MAX)
		return WP_OK;
	(void)atomic_fetch_sub(&running, 1);
	return wp_error_set(error, WP_FULL,
			    "%d name resolutions or logins are still pending; check the name "
			    "servers of this host, or write hostaddr into postgres.conninfo",
			    WP_RESOLVE_RUNNING_MAX);
}

static enum wp_rc begin(struct wp_resolve *r, struct wp_error *error)
{
	enum wp_rc rc = wp_worker_new(&r->worker, error);
	if (rc != WP_OK)
		return rc;
	struct wp_job job = { .run = run, .done = done, .drop = drop, .arg = r->task };
	rc = wp_worker_submit(r->worker, &job, &r->job);
	if (rc != WP_OK) {
		(void)wp_worker_free(r->worker, 0);
		return wp_error_set(error, rc, "the name resolution thread accepts no work");
	}
	ev_io_init(&r->collectable, on_collectable, wp_worker_fd(r->worker), EV_READ);
	r->collectable.data = r;
	ev_io_start(r->loop, &r->collectable);
	return WP_OK;
}

enum wp_rc wp_resolve_new(struct ev_loop *loop, const struct wp_addresses *wanted,
			  const struct wp_connection_plan *plan, wp_resolve_done done_, void *arg,
			  struct wp_resolve **ret, struct wp_error *error)
{
	enum wp_rc rc = take_place(error);
	if (rc != WP_OK)
		return rc;
	struct wp_resolve *r = calloc(1, sizeof(*r));
	struct task *t = calloc(1, sizeof(*t));
	if (r && t) {
		*r = (struct wp_resolve){ .loop = loop, .done = done_, .arg = arg, .task = t };
		t->finished = &r->finished;
		t->wanted = *wanted;
		t->first = plan->addresses.list[0];
		(void)snprintf(t->user, sizeof(t->user), "%s", plan->user);
		if (plan->login)
			t->login = wp_login_hold(plan->login);
		rc = begin(r, error);
	} else {
		rc = wp_error_set(error, WP_NOMEM, "out of memory for a name resolution");
	}
	if (rc != WP_OK) {
		(void)atomic_fetch_sub(&running, 1);
		if (t)
			free_task(t);
		free(r);
		return rc;
	}
	*ret = r;
	return WP_OK;
}

void wp_resolve_free(struct wp_resolve *r)
{
	if (!r)
		return;
	ev_io_stop(r->loop, &r->collectable);
	/* A thread without work ends at once; one that still resolves is left behind. */
	int64_t wait_ms = r->task ? 0 : 50;
	if (r->task)
		wp_worker_abandon(r->worker, r->job);
	(void)wp_worker_free(r->worker, wait_ms);
	free(r);
}

#define _GNU_SOURCE /* close_range(), pipe2(), strerrordesc_np() */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "walpost/base/clock.h"
#include "walpost/base/log.h"
#include "walpost/base/secret_buffer.h"
#include "walpost/login/login.h"
#include "walpost/login/words.h"

#define LINE_SIZE_MAX 1000
#define LINES_MAX 20
/* Output may stay open in a child of the program's: this is how often to look whether it itself
 * has ended. */
#define LOOK_EACH_MS 50
#define NOT_FOUND 127 /* as shells say it */

/* This is one run; `output` and `said` are what its pipes brought. */
struct run {
	const struct wp_words *words;
	int64_t deadline_us;
	pid_t pid;
	int output_fd, error_fd; /* -1: at its end */
	struct wp_buffer output;
	bool is_too_long;
	char line[LINE_SIZE_MAX + 1]; /* of standard error, begun */
	size_t line_size;
	unsigned lines;
};

/* ---- all that run ---- */

/* A login runs one at a time, and there are two. */
#define GROUPS_MAX 8

static struct {
	pthread_mutex_t lock; /* also over fork(): whoever is started is seen */
	bool is_over;
	pid_t groups[GROUPS_MAX]; /* 0: free */
} running = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Finds a group, or with 0 a free place; NULL when there is none. */
static pid_t *find_group(pid_t pid)
{
	for (size_t i = 0; i < GROUPS_MAX; i++)
		if (running.groups[i] == pid)
			return &running.groups[i];
	return NULL;
}

/* The program is not yet waited for, so that the number is still its own. */
static void kill_group(pid_t pid)
{
	(void)pthread_mutex_lock(&running.lock);
	pid_t *place = find_group(pid);
	if (place != NULL)
		*place = 0;
	(void)kill(-pid, SIGKILL);
	(void)pthread_mutex_unlock(&running.lock);
}

void wp_login_stop(void)
{
	(void)pthread_mutex_lock(&running.lock);
	running.is_over = true;
	for (size_t i = 0; i < GROUPS_MAX; i++)
		if (running.groups[i] != 0)
			(void)kill(-running.groups[i], SIGKILL);
	(void)pthread_mutex_unlock(&running.lock);
}

/* ---- the child: calls only what is safe after fork() with threads ---- */

static void become_program(char *const *words, int output, int errors)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int signal = 1; signal < NSIG; signal++)
		(void)sigaction(signal, &standard, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	int nothing = open("/dev/null", O_RDONLY);
	if (dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(errors, STDERR_FILENO) < 0)
		_exit(NOT_FOUND);
	(void)close_range(3, ~0U, 0);
	execvp(words[0], words);
	const char *reason = strerrordesc_np(errno);
	(void)!write(STDERR_FILENO, reason, strlen(reason));
	_exit(NOT_FOUND);
}

/* ---- the parent ---- */

static void close_pipe(int ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			(void)close(ends[i]);
}

/* Returns its process id, or -1 with errno. */
static pid_t fork_program(const struct run *r, int output, int errors)
{
	pid_t pid = -1;

	(void)pthread_mutex_lock(&running.lock);
	pid_t *place = find_group(0);
	errno = ECANCELED;
	if (!running.is_over && place != NULL)
		pid = fork();
	if (pid == 0)
		become_program(r->words->list, output, errors);
	if (pid > 0) {
		/* Parent and child both do this: it must be a group before it is killed. */
		(void)setpgid(pid, pid);
		*place = pid;
	}
	(void)pthread_mutex_unlock(&running.lock);
	return pid;
}

static enum wp_rc start(struct run *r, struct wp_error *error)
{
	int output[2] = { -1, -1 };
	int errors[2] = { -1, -1 };

	if (pipe2(output, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0)
		goto failed;
	r->pid = fork_program(r, output[1], errors[1]);
	if (r->pid < 0)
		goto failed;
	(void)close(output[1]);
	(void)close(errors[1]);
	r->output_fd = output[0];
	r->error_fd = errors[0];
	(void)fcntl(r->output_fd, F_SETFL, O_NONBLOCK);
	(void)fcntl(r->error_fd, F_SETFL, O_NONBLOCK);
	return WP_OK;
failed:;
	int errnum = errno;
	close_pipe(output);
	close_pipe(errors);
	return wp_error_set(error, WP_IO, "%s cannot be started: %s", r->words->list[0],
			    strerror(errnum));
}

static void tell_line(struct run *r)
{
	r->line[r->line_size] = '\0';
	if (r->line_size > 0 && r->lines < LINES_MAX)
		wp_log(WP_LOG_WARN, "login_command_stderr", WP_TEXT("command", r->words->list[0]),
		       WP_TEXT("text", r->line));
	if (r->line_size > 0)
		r->lines++;
	r->line_size = 0;
}

static void take_errors(struct run *r, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] == '\n' || r->line_size == LINE_SIZE_MAX)
			tell_line(r);
		if (bytes[i] != '\n')
			r->line[r->line_size++] = bytes[i];
	}
}

static void take_output(struct run *r, const char *bytes, size_t size)
{
	struct wp_span span = { (const uint8_t *)bytes, size };

	/* What is too long is read on, or the program would wait for a reader. */
	if (!r->is_too_long && wp_buffer_append(&r->output, span) != WP_OK)
		r->is_too_long = true;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Takes what is there now. */
static void drain(struct run *r, int *fd, void (*take)(struct run *r, const char *, size_t))
{
	char bytes[4096];

	while (*fd >= 0) {
		ssize_t size = read(*fd, bytes, sizeof(bytes));
		if (size > 0)
			take(r, bytes, (size_t)size);
		else if (size < 0 && errno == EINTR)
			continue;
		else if (size < 0 && errno == EAGAIN)
			break;
		else
			close_fd(fd);
		if (wp_clock_us() >= r->deadline_us)
			break;
	}
	explicit_bzero(bytes, sizeof(bytes));
}

/* Returns true when it has ended; it is not waited for, so that its process group is still its
 * own. */
static bool has_ended(const struct run *r)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	       info.si_pid != 0;
}

/* Reads until it has ended; returns false when its time is over. */
static bool follow(struct run *r)
{
	while (!has_ended(r)) {
		int64_t left_ms = (r->deadline_us - wp_clock_us()) / 1000;
		if (left_ms <= 0)
			return false;
		struct pollfd fds[] = { { r->output_fd, POLLIN, 0 }, { r->error_fd, POLLIN, 0 } };
		(void)poll(fds, 2, (int)(left_ms < LOOK_EACH_MS ? left_ms : LOOK_EACH_MS));
		drain(r, &r->output_fd, take_output);
		drain(r, &r->error_fd, take_errors);
	}
	drain(r, &r->output_fd, take_output);
	drain(r, &r->error_fd, take_errors);
	return true;
}

/* Ends it with all that it has started and left; returns its exit status as waitpid() has it, or
 * -1. */
static int finish(struct run *r)
{
	int status;
	pid_t pid;

	kill_group(r->pid);
	do
		pid = waitpid(r->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	close_fd(&r->output_fd);
	close_fd(&r->error_fd);
	tell_line(r);
	if (r->lines > LINES_MAX)
		wp_log(WP_LOG_WARN, "login_command_stderr", WP_TEXT("command", r->words->list[0]),
		       WP_INT("lines_left_out", r->lines - LINES_MAX));
	return pid == r->pid ? status : -1;
}

static enum wp_rc judge(const struct run *r, bool ended, int status, int64_t timeout_ms,
			struct wp_error *error)
{
	const char *name = r->words->list[0];

	if (!ended)
		return wp_error_set(error, WP_IO, "%s was killed: it had not ended after %lld ms",
				    name, (long long)timeout_ms);
	if (status != -1 && WIFSIGNALED(status))
		return wp_error_set(error, WP_IO, "%s was killed by signal %d", name,
				    WTERMSIG(status));
	if (status == -1 || WEXITSTATUS(status) == NOT_FOUND)
		return wp_error_set(error, WP_IO, "%s cannot be run", name);
	if (WEXITSTATUS(status) != 0)
		return wp_error_set(error, WP_IO,
				    "%s exited with status %d; what it wrote to standard error is "
				    "in the log",
				    name, WEXITSTATUS(status));
	if (r->is_too_long)
		return wp_error_set(error, WP_IO, "%s printed more than %d bytes", name,
				    WP_TOKEN_SIZE_MAX);
	return WP_OK;
}

static enum wp_rc parse(const struct run *r, struct wp_token *ret, struct wp_error *error)
{
	struct wp_error wrong;

	enum wp_rc rc = wp_token_parse(wp_buffer_span(&r->output), wp_clock_wall_ms(), ret, &wrong);
	if (rc == WP_CONFIG)
		return wp_error_set(error, WP_IO, "what %s printed is no token: %s",
				    r->words->list[0], wrong.text);
	return rc == WP_OK ? WP_OK : wp_error_set(error, rc, "out of memory for a token");
}

static enum wp_rc run_words(const struct wp_words *words, int64_t timeout_ms, struct wp_token *ret,
			    struct wp_error *error)
{
	struct run r = {
		.words = words,
		.deadline_us = wp_clock_us() + timeout_ms * 1000,
		.output_fd = -1,
		.error_fd = -1,
	};

	enum wp_rc rc = wp_secret_buffer_init(&r.output, WP_TOKEN_SIZE_MAX, error);
	if (rc == WP_OK)
		rc = start(&r, error);
	if (rc != WP_OK) {
		wp_secret_buffer_release(&r.output);
		return rc;
	}
	bool ended = follow(&r);
	int status = finish(&r);
	rc = judge(&r, ended, status, timeout_ms, error);
	if (rc == WP_OK)
		rc = parse(&r, ret, error);
	wp_secret_buffer_release(&r.output);
	return rc;
}

enum wp_rc wp_login_command(const char *command, int64_t timeout_ms, struct wp_token *ret,
			    struct wp_error *error)
{
	struct wp_words words;
	struct wp_error wrong;

	enum wp_rc rc = wp_words_init(&words, command, &wrong);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "the command cannot be read: %s", wrong.text);
	rc = run_words(&words, timeout_ms, ret, error);
	wp_words_release(&words);
	return rc;
}

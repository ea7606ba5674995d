#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "walpost/cli/output.h"

static void on_gone(struct ev_loop *loop, ev_io *w, int events)
{
	(void)events; /* a pipe that is only written to is never readable: it is broken */
	struct wp_output *o = w->data;
	ev_io_stop(loop, w);
	o->console->interrupted = true;
}

static void on_writable(struct ev_loop *loop, ev_io *w, int events)
{
	(void)events; /* one watcher, always for writing */
	struct wp_output *o = w->data;
	ev_io_stop(loop, w);
	o->may_write = true;
}

void wp_output_init(struct wp_output *o, struct wp_console *console)
{
	struct stat status = { 0 };
	bool known = fstat(STDOUT_FILENO, &status) == 0;
	*o = (struct wp_output){
		.console = console,
		/* poll() promises this of a pipe; a file takes all. */
		.step = known && S_ISREG(status.st_mode) ? SSIZE_MAX : PIPE_BUF,
	};
	(void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN },
			NULL); /* it fails for no signal that there is */
	ev_io_init(&o->gone, on_gone, STDOUT_FILENO, EV_READ);
	ev_io_init(&o->writable, on_writable, STDOUT_FILENO, EV_WRITE);
	o->gone.data = o->writable.data = o;
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	if (known && S_ISFIFO(status.st_mode) && (flags & O_ACCMODE) == O_WRONLY)
		ev_io_start(console->loop, &o->gone);
}

void wp_output_release(struct wp_output *o)
{
	if (o->console) {
		ev_io_stop(o->console->loop, &o->gone);
		ev_io_stop(o->console->loop, &o->writable);
	}
	*o = (struct wp_output){ 0 };
}

static void wait_for_room(struct wp_output *o)
{
	o->may_write = false;
	ev_io_start(o->console->loop, &o->writable);
	while (!o->may_write && !o->console->interrupted)
		(void)ev_run(o->console->loop, EVRUN_ONCE); /* watchers are left: this one */
	ev_io_stop(o->console->loop, &o->writable);
}

enum wp_rc wp_output_write(struct wp_output *o, struct wp_span bytes, struct wp_error *error)
{
	while (bytes.size > 0) {
		wait_for_room(o);
		if (o->console->interrupted)
			return wp_error_set(error, WP_IO, "interrupted");
		ssize_t size = write(STDOUT_FILENO, bytes.data,
				     bytes.size < o->step ? bytes.size : o->step);
		if (size < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (size < 0) {
			o->console->interrupted = errno == EPIPE;
			return wp_error_set(error, WP_IO, "standard output cannot be written: %s",
					    strerror(errno));
		}
		bytes.data += size;
		bytes.size -= (size_t)size;
	}
	return WP_OK;
}

bool wp_terminal_is(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) == 1 && term != NULL && *term != '\0' &&
	       strcmp(term, "dumb") != 0;
}

bool wp_terminal_is_coloured(FILE *out)
{
	const char *no_color = getenv("NO_COLOR");

	return wp_terminal_is(out) && (no_color == NULL || *no_color == '\0');
}

struct wp_terminal_size wp_terminal_size(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
		return (struct wp_terminal_size){ .columns = 80, .rows = 24 };
	return (struct wp_terminal_size){ .columns = size.ws_col, .rows = size.ws_row };
}

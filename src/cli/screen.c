/* Shows a text on the terminal's other screen, and gives the usual one back. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "walpost/cli/output.h"

/* These switch to the other screen, without a cursor, and back. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static void put(const char *text)
{
	(void)fputs(text, stdout);
}

static void leave(struct wp_screen *s)
{
	if (!s->is_shown)
		return;
	s->is_shown = false;
	put(LEAVE);
	(void)fflush(stdout); /* a terminal that is gone needs no restoring */
}

/* Returns how many bytes of the line hold at most `columns` characters. */
static size_t bytes_of(const char *line, size_t size, int columns)
{
	int width = 0;

	for (size_t i = 0; i < size; i++) {
		width += ((unsigned char)line[i] & 0xC0) != 0x80;
		if (width > columns)
			return i;
	}
	return size;
}

static void paint(const struct wp_screen *s)
{
	struct wp_terminal_size size = wp_terminal_size(stdout);
	const char *at = s->text;

	put("\033[H");
	for (int row = 0; row < size.rows && *at != '\0'; row++) {
		size_t length = strcspn(at, "\n");
		(void)fprintf(stdout, "%s%.*s\033[K", row > 0 ? "\r\n" : "",
			      (int)bytes_of(at, length, size.columns), at);
		at += length + (at[length] == '\n');
	}
	put("\033[J");
	(void)fflush(stdout); /* what could not be painted is painted anew soon */
}

static void on_end(struct ev_loop *loop, ev_signal *w, int events)
{
	(void)events; /* a signal watcher, always for its signal */
	struct wp_screen *s = w->data;
	leave(s);
	/* A second signal ends us at once, as with the console. */
	ev_signal_stop(loop, &s->interrupt);
	ev_signal_stop(loop, &s->terminate);
}

static void on_resize(struct ev_loop *loop, ev_signal *w, int events)
{
	(void)loop, (void)events; /* one signal */
	struct wp_screen *s = w->data;
	if (s->is_shown)
		paint(s);
}

/* Stops as by default, but on the usual screen, and is here again when told to go on. */
static void on_stop(struct ev_loop *loop, ev_signal *w, int events)
{
	(void)loop, (void)events; /* one signal */
	struct wp_screen *s = w->data;
	bool was_shown = s->is_shown;
	leave(s);
	(void)raise(SIGSTOP);
	if (was_shown)
		wp_screen_show(s, s->text);
}

static void watch(struct wp_screen *s, ev_signal *w,
		  void (*callback)(struct ev_loop *, ev_signal *, int), int number)
{
	ev_signal_init(w, callback, number);
	w->data = s;
	ev_signal_start(s->console->loop, w);
}

void wp_screen_init(struct wp_screen *s, struct wp_console *console)
{
	*s = (struct wp_screen){ .console = console };
	watch(s, &s->interrupt, on_end, SIGINT);
	watch(s, &s->terminate, on_end, SIGTERM);
	watch(s, &s->resize, on_resize, SIGWINCH);
	watch(s, &s->stop, on_stop, SIGTSTP);
}

void wp_screen_release(struct wp_screen *s)
{
	if (s->console == NULL)
		return;
	leave(s);
	ev_signal_stop(s->console->loop, &s->interrupt);
	ev_signal_stop(s->console->loop, &s->terminate);
	ev_signal_stop(s->console->loop, &s->resize);
	ev_signal_stop(s->console->loop, &s->stop);
	free(s->text);
	*s = (struct wp_screen){ .console = NULL };
}

void wp_screen_show(struct wp_screen *s, const char *text)
{
	char *copy = text == s->text ? s->text : strdup(text);

	if (copy == NULL)
		return; /* the old one stays */
	if (copy != s->text)
		free(s->text);
	s->text = copy;
	if (s->console->interrupted)
		return;
	if (!s->is_shown)
		put(ENTER);
	s->is_shown = true;
	paint(s);
}

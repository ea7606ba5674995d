/* `walpost status --watch` looks again and again until interrupted, and shows rates in between. */
#include "status.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "walpost/base/clock.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/output.h"

struct watch {
	struct wp_slot_status *status;
	double seconds;
	bool json;
	bool on_screen;
	struct wp_screen screen;
	struct wp_output output;
	struct wp_trend trend;
	struct wp_trend_rates rates;
	int64_t asked_ms; /* the question that is not answered yet */
	enum wp_rc failed;
};

static int64_t now_ms(void)
{
	return wp_clock_us() / 1000;
}

/* -- what is shown ------------------------------------------------------------------- */

static void print_heading(FILE *to, const struct watch *w)
{
	char text[32];
	time_t now = time(NULL);
	struct tm local;
	int64_t silent_s = w->asked_ms != 0 ? (now_ms() - w->asked_ms) / 1000 : 0;

	(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&now, &local));
	(void)fprintf(to, "%s", text);
	if (w->on_screen)
		(void)fprintf(to, "  every %g s; Ctrl-C ends it", w->seconds);
	if (silent_s > 0)
		(void)fprintf(to, "  -- the server has not answered for %lld s --",
			      (long long)silent_s);
	(void)fprintf(to, "\n");
}

/* The caller frees the text. Returns NULL if there is no memory. */
static char *block_of(const struct watch *w)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (to == NULL)
		return NULL;
	print_heading(to, w);
	wp_slot_status_print(to, w->status, &w->rates);
	(void)fprintf(to, "\n");
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

static char *json_of(const struct watch *w)
{
	json_t *object = wp_slot_status_json(w->status, &w->rates);
	char *line = object == NULL ? NULL : json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	size_t size = line == NULL ? 0 : strlen(line);
	char *whole = line == NULL ? NULL : realloc(line, size + 2);

	json_decref(object);
	if (whole != NULL)
		memcpy(whole + size, "\n", 2);
	else
		free(line);
	return whole;
}

static enum wp_rc show(struct watch *w, struct wp_error *error)
{
	char *text = w->json ? json_of(w) : block_of(w);
	enum wp_rc rc = WP_OK;

	if (text == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the status");
	if (w->on_screen)
		wp_screen_show(&w->screen, text);
	else
		rc = wp_output_write(&w->output, wp_span_of(text), error);
	free(text);
	return rc;
}

/* On a screen what was seen stays, with a word about how old it is. */
static void on_waiting(void *arg)
{
	struct watch *w = arg;
	struct wp_error error;

	if (w->on_screen && w->status->means.text[0] != '\0')
		(void)show(w, &error); /* a screen does not fail */
}

/* -- looking -------------------------------------------------------------------------- */

static enum wp_rc connect(struct watch *w, struct wp_error *error)
{
	struct wp_slot_status *s = w->status;

	if (s->session.connection != NULL && wp_session_pg(&s->session) != NULL)
		return WP_OK;
	wp_session_release(&s->session);
	return wp_session_open(&s->session, &s->console, &s->config.postgres, WP_CONNECTION_SQL,
			       error);
}

static void look(struct watch *w)
{
	struct wp_slot_status *s = w->status;
	struct wp_error error;

	w->asked_ms = now_ms();
	w->failed = connect(w, &error);
	s->session.waiting = on_waiting;
	s->session.waiting_arg = w;
	s->session.waiting_every_s = 1.;
	if (w->failed == WP_OK)
		w->failed = wp_slot_status_ask(s, &error);
	w->asked_ms = 0;
	if (s->console.interrupted)
		return; /* what was seen last is what counts */
	if (w->failed != WP_OK) {
		wp_slot_status_forget(s, &error);
		wp_session_release(&s->session); /* it is opened anew at the next look */
	}
	struct wp_trend_sample seen = wp_slot_status_trend_sample(s, now_ms());
	w->rates = wp_trend_add(&w->trend, &seen);
}

/* Waits until the next look is due, in the rhythm that was asked for, whatever a look takes. */
static void rest(struct watch *w, int64_t began_ms)
{
	double passed = (double)(now_ms() - began_ms) / 1000.;

	wp_console_wait(&w->status->console, passed < w->seconds ? w->seconds - passed : 0.01);
}

static enum wp_rc watch(struct watch *w, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;
	bool is_first = true;

	while (rc == WP_OK && !w->status->console.interrupted) {
		int64_t began_ms = now_ms();
		look(w);
		/* A server may come back later; that there is none at first is said at once. */
		if (is_first && w->failed != WP_OK)
			return wp_error_set(error, w->failed, "%s", w->status->means.text);
		is_first = false;
		if (!w->status->console.interrupted)
			rc = show(w, error);
		if (rc == WP_OK && !w->status->console.interrupted)
			rest(w, began_ms);
	}
	return w->status->console.interrupted ? WP_OK : rc;
}

/* -- its life -------------------------------------------------------------------------- */

static void begin(struct watch *w)
{
	wp_trend_init(&w->trend);
	w->on_screen = !w->json && wp_terminal_is(stdout);
	if (w->on_screen)
		wp_screen_init(&w->screen, &w->status->console);
	else
		wp_output_init(&w->output, &w->status->console);
}

/* What was seen last stays on the usual screen. */
static void end(struct watch *w)
{
	if (!w->on_screen) {
		wp_output_release(&w->output);
		return;
	}
	wp_screen_release(&w->screen);
	if (w->status->means.text[0] != '\0')
		wp_slot_status_print(stdout, w->status, &w->rates);
}

int wp_slot_status_watch(struct wp_slot_status *s, double seconds, bool json)
{
	struct watch w = { .status = s, .seconds = seconds, .json = json };
	struct wp_error error;

	if (wp_console_init(&s->console, &error) != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "%s", error.text);
	begin(&w);
	enum wp_rc rc = watch(&w, &error);
	end(&w);
	wp_session_release(&s->session);
	wp_console_release(&s->console);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	int exit_code = wp_cli_done();
	return exit_code == WP_EXIT_OK ? wp_slot_status_exit_code(s->state) : exit_code;
}

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "walpost/sink/json.h"
#include "walpost/sink/stdout.h"

/* The sink on one end, the test reads the other. */
static struct wp_sink *sink;
static int ends[2]; /* read, written */
static struct wp_error error;
static struct wp_report reports[8192];

static int set_up(void **state)
{
	(void)signal(SIGPIPE, SIG_IGN); /* as run does */
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(wp_stdout_new(ends[1], &sink, &error), WP_OK);
	return 0;
}

static int tear_down(void **state)
{
	sink->ops->free(sink, 0);
	(void)close(ends[1]);
	if (ends[0] >= 0)
		(void)close(ends[0]);
	return 0;
}

static int open_sockets(void **state)
{
	(void)signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	CHECK_EQ(wp_stdout_new(ends[1], &sink, &error), WP_OK);
	return 0;
}

static struct wp_record record_of(const uint8_t *value, size_t size)
{
	return (struct wp_record){
		.topic = wp_span_of("t"),
		.key = wp_span_of("k"),
		.value = { value, size },
		.timestamp_ms = 1,
		.partition = WP_PARTITION_BY_KEY,
	};
}

static uint8_t letters[3 << 20];

/* A record whose line is this long. */
static struct wp_record line_of(size_t size)
{
	struct wp_buffer line;
	struct wp_record record = record_of(letters, 0);

	memset(letters, 'x', sizeof(letters));
	wp_buffer_init(&line, 1 << 10);
	CHECK_EQ(wp_json_record(&line, &record), WP_OK);
	CHECK(size >= line.size);
	record.value.size = size - line.size;
	wp_buffer_release(&line);
	return record;
}

static enum wp_rc offer(wp_ticket ticket, size_t size)
{
	struct wp_record record = line_of(size);

	return sink->ops->send(sink, ticket, &record, &error);
}

static size_t collect_at(int64_t now_ms)
{
	return sink->ops->collect(sink, now_ms, reports, sizeof(reports) / sizeof(reports[0]));
}

static size_t collect(void)
{
	return collect_at(1000);
}

/* What the reader finds now; the sink is given no turn. */
static size_t read_some(size_t max)
{
	static char trash[1 << 20];
	size_t size = 0;
	struct pollfd ready = { .fd = ends[0], .events = POLLIN };

	while (size < max && poll(&ready, 1, 0) > 0) {
		ssize_t n = read(ends[0], trash,
				 max - size < sizeof(trash) ? max - size : sizeof(trash));
		if (n <= 0)
			break;
		size += (size_t)n;
	}
	return size;
}

static const struct wp_sink_view *view(void)
{
	return sink->ops->view(sink);
}

static short wanted_events(void)
{
	short events;

	(void)sink->ops->fd(sink, &events);
	return events;
}

static void a_record_is_confirmed_when_its_last_byte_is_written(void **state)
{
	CHECK_EQ(offer(7, 200), WP_OK);
	CHECK_EQ(view()->in_flight, 1);
	CHECK_EQ(wanted_events(), POLLOUT);
	CHECK_EQ(collect(), 1);
	CHECK_EQ(reports[0].ticket, 7);
	CHECK_EQ(reports[0].outcome, WP_CONFIRMED);
	CHECK_EQ(view()->in_flight, 0);
	CHECK_EQ(wanted_events(), 0);
	CHECK_EQ(read_some(1000), 200);
}

static void a_line_that_is_written_in_part_is_not_confirmed(void **state)
{
	CHECK_EQ(offer(1, 100000), WP_OK);
	CHECK_EQ(collect(), 0);
	CHECK_EQ(view()->in_flight, 1);
	CHECK(read_some(60000) > 0);
	CHECK_EQ(collect(), 1);
}

static void the_inherited_descriptor_stays_blocking(void **state)
{
	CHECK_EQ(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
	CHECK_EQ(offer(1, 1000000), WP_OK);
	CHECK_EQ(collect(), 0);
	CHECK_EQ(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
}

static void a_full_pipe_never_blocks_and_pending_is_bounded(void **state)
{
	wp_ticket ticket = 1;

	/* Nobody collects, so nothing is written: one MiB fits to the byte. */
	for (; ticket <= 1024; ticket++)
		CHECK_EQ(offer(ticket, 1024), WP_OK);
	CHECK_EQ(offer(ticket, 200), WP_AGAIN);
	CHECK_EQ(offer(ticket, 1024), WP_AGAIN);
	CHECK_EQ(view()->in_flight, 1024);
	size_t confirmed = collect();
	CHECK_EQ(confirmed, 64); /* what a pipe holds */
	CHECK_EQ(collect(), 0);
	CHECK_EQ(offer(ticket, 64 * 1024 + 1), WP_AGAIN);
	CHECK_EQ(offer(ticket, 64 * 1024), WP_OK);
	CHECK_EQ(offer(ticket + 1, 128), WP_AGAIN);
}

static void one_line_larger_than_the_buffer_is_taken_alone(void **state)
{
	CHECK_EQ(offer(1, 3 << 20), WP_OK);
	CHECK_EQ(offer(2, 200), WP_AGAIN);
	size_t confirmed = 0, size = 0;
	while (confirmed == 0) {
		confirmed = collect();
		size += read_some(1 << 20);
	}
	CHECK_EQ(size + read_some(1 << 20), 3 << 20);
	CHECK_EQ(offer(2, 200), WP_OK);
}

static void behind_others_a_huge_line_waits(void **state)
{
	CHECK_EQ(offer(1, 200), WP_OK);
	CHECK_EQ(offer(2, 3 << 20), WP_AGAIN);
	CHECK_EQ(collect(), 1);
	CHECK_EQ(offer(2, 3 << 20), WP_OK);
}

static void reports_that_wait_make_it_due_at_once(void **state)
{
	struct wp_report one;

	CHECK_EQ(sink->ops->due(sink), INT64_MAX);
	CHECK_EQ(offer(1, 200), WP_OK);
	CHECK_EQ(offer(2, 200), WP_OK);
	CHECK_EQ(sink->ops->collect(sink, 1000, &one, 1), 1);
	CHECK_EQ(wanted_events(), 0);
	CHECK_EQ(sink->ops->due(sink), 1000);
	CHECK_EQ(sink->ops->collect(sink, 1001, &one, 1), 1);
	CHECK_EQ(one.ticket, 2);
	CHECK_EQ(sink->ops->due(sink), INT64_MAX);
}

static void a_reader_that_stops_reading_is_not_reachable_after_two_seconds(void **state)
{
	CHECK_EQ(offer(1, 200000), WP_OK);
	(void)collect_at(1000);
	(void)collect_at(1001);
	CHECK(view()->reachable);
	CHECK_EQ(sink->ops->due(sink), 3001);
	(void)collect_at(3000);
	CHECK(view()->reachable);
	(void)collect_at(3001);
	CHECK(!view()->reachable);
	CHECK_HAS(view()->error.text, "does not read");
	CHECK_EQ(view()->state, WP_SINK_READY);
	CHECK(read_some(1 << 20) > 0);
	(void)collect_at(3002);
	CHECK(view()->reachable);
	CHECK_TEXT(view()->error.text, "");
}

static void a_closed_pipe_fails_and_confirms_nothing_unwritten(void **state)
{
	CHECK_EQ(offer(1, 100000), WP_OK);
	CHECK_EQ(collect(), 0);
	(void)close(ends[0]);
	ends[0] = -1;
	CHECK_EQ(collect(), 0);
	CHECK_EQ(view()->state, WP_SINK_FAILED);
	CHECK_EQ(view()->reaction, WP_REACT_STOP_HUMAN);
	CHECK_HAS(view()->error.text, "closed by its reader");
	CHECK_EQ(offer(2, 200), WP_IO);
	CHECK_HAS(error.text, "closed by its reader");
	CHECK_EQ(wanted_events(), 0);
	CHECK_EQ(sink->ops->due(sink), INT64_MAX);
}

static void a_purge_takes_back_what_is_not_begun(void **state)
{
	CHECK_EQ(offer(1, 200), WP_OK);
	CHECK_EQ(offer(2, 100000), WP_OK);
	CHECK_EQ(offer(3, 200), WP_OK);
	CHECK_EQ(offer(4, 200), WP_OK);
	CHECK_EQ(collect(), 1);
	sink->ops->purge(sink);
	CHECK_EQ(collect(), 2);
	CHECK_EQ(reports[0].ticket, 3);
	CHECK_EQ(reports[0].outcome, WP_PURGED);
	CHECK_EQ(reports[1].ticket, 4);
	CHECK_EQ(view()->in_flight, 1);
	CHECK_EQ(offer(5, 200), WP_OK);
	size_t size = read_some(1 << 20);
	CHECK_EQ(collect(), 2);
	CHECK_EQ(reports[0].ticket, 2);
	CHECK_EQ(reports[1].ticket, 5);
	CHECK_EQ(size + read_some(1 << 20), 200 + 100000 + 200);
}

static void a_begun_line_is_written_to_its_end_whatever_was_forgotten(void **state)
{
	CHECK_EQ(offer(1, 100000), WP_OK);
	CHECK_EQ(offer(2, 300), WP_OK);
	CHECK_EQ(collect(), 0);
	sink->ops->restart(sink, WP_BATCHING_NORMAL);
	CHECK_EQ(view()->in_flight, 0);
	CHECK_EQ(view()->state, WP_SINK_READY);
	sink->ops->restart(sink, WP_BATCHING_ONE_BY_ONE);
	sink->ops->purge(sink);
	CHECK_EQ(offer(3, 200), WP_OK);
	size_t size = read_some(1 << 20);
	CHECK_EQ(collect(), 1);
	CHECK_EQ(reports[0].ticket, 3);
	CHECK_EQ(size + read_some(1 << 20), 100000 + 200);
}

static void a_socket_that_is_full_does_not_block(void **state)
{
	CHECK_EQ(offer(1, 3 << 20), WP_OK);
	CHECK_EQ(collect(), 0);
	CHECK_EQ(wanted_events(), POLLOUT);
	size_t size = 0;
	while (collect() == 0)
		size += read_some(1 << 20);
	CHECK_EQ(size + read_some(4 << 20), 3 << 20);
}

static void a_file_is_written_at_the_next_collect(void **state)
{
	char path[] = "/tmp/walpost-stdout-XXXXXX";
	int fd = mkstemp(path);
	struct wp_sink *file;
	struct wp_record record = line_of(200);
	short events;

	CHECK(fd >= 0);
	CHECK_EQ(wp_stdout_new(fd, &file, &error), WP_OK);
	CHECK_EQ(file->ops->send(file, 1, &record, &error), WP_OK);
	(void)file->ops->fd(file, &events);
	CHECK_EQ(events, 0);
	CHECK(file->ops->due(file) != INT64_MAX);
	CHECK_EQ(file->ops->collect(file, 5, reports, 10), 1);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 200);
	CHECK_EQ(file->ops->due(file), INT64_MAX);
	file->ops->free(file, 0);
	(void)close(fd);
	(void)unlink(path);
}

static void a_full_device_fails_with_the_cause(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct wp_sink *full;
	struct wp_record record = line_of(200);

	CHECK(fd >= 0);
	CHECK_EQ(wp_stdout_new(fd, &full, &error), WP_OK);
	CHECK_EQ(full->ops->send(full, 1, &record, &error), WP_OK);
	CHECK_EQ(full->ops->collect(full, 5, reports, 10), 0);
	CHECK_EQ(full->ops->view(full)->state, WP_SINK_FAILED);
	CHECK_HAS(full->ops->view(full)->error.text, "No space left");
	full->ops->free(full, 0);
	(void)close(fd);
}

static void a_descriptor_that_is_not_open_is_refused(void **state)
{
	struct wp_sink *none = NULL;

	CHECK_EQ(wp_stdout_new(9999, &none, &error), WP_CONFIG);
	CHECK_HAS(error.text, "standard output is not open");
	CHECK(none == NULL);
	int fd = open("/dev/null", O_RDONLY);
	CHECK_EQ(wp_stdout_new(fd, &none, &error), WP_CONFIG);
	CHECK_HAS(error.text, "not open for writing");
	(void)close(fd);
}

int main(void)
{
	return RUN(TEST(a_record_is_confirmed_when_its_last_byte_is_written),
		   TEST(a_line_that_is_written_in_part_is_not_confirmed),
		   TEST(the_inherited_descriptor_stays_blocking),
		   TEST(a_full_pipe_never_blocks_and_pending_is_bounded),
		   TEST(one_line_larger_than_the_buffer_is_taken_alone),
		   TEST(behind_others_a_huge_line_waits),
		   TEST(reports_that_wait_make_it_due_at_once),
		   TEST(a_reader_that_stops_reading_is_not_reachable_after_two_seconds),
		   TEST(a_closed_pipe_fails_and_confirms_nothing_unwritten),
		   TEST(a_purge_takes_back_what_is_not_begun),
		   TEST(a_begun_line_is_written_to_its_end_whatever_was_forgotten),
		   cmocka_unit_test_setup_teardown(a_socket_that_is_full_does_not_block,
						   open_sockets, tear_down),
		   PLAIN(a_file_is_written_at_the_next_collect),
		   PLAIN(a_full_device_fails_with_the_cause),
		   PLAIN(a_descriptor_that_is_not_open_is_refused));
}

/*
 * A Kafka broker for trying walpost out: librdkafka's mock cluster with the
 * given topics, in memory, on a free port of this host. librdkafka's clients
 * (kcat, confluent-kafka) can read it; it keeps the last 5 MiB of a partition.
 */
#include <errno.h>
#include <getopt.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TOPICS_MAX 64
#define PARTITIONS_MAX 1024

struct topic {
	char name[250]; /* Kafka allows 249 characters */
	int partitions;
};

struct settings {
	struct topic topics[TOPICS_MAX];
	size_t topic_count;
	const char *port_file; /* borrowed; NULL: none */
	bool ends_with_stdin;
	bool wants_help;
};

static const char help[] =
	"Usage: walpost-embedded-broker --topic NAME:PARTITIONS ... [options]\n"
	"\n"
	"Runs a Kafka broker in memory, for trying walpost out, and prints its address.\n"
	"Readable by librdkafka's clients on this host, such as kcat.\n"
	"\n"
	"  --topic NAME:PARTITIONS  a topic to have; may be repeated (64 at most)\n"
	"  --port-file FILE         write the address (host:port) into FILE when ready\n"
	"  --until-stdin-closes     end when standard input closes; else by SIGTERM\n"
	"  --help                   this\n";

static bool read_topic(const char *text, struct topic *ret)
{
	const char *colon = strrchr(text, ':');
	char *end;

	if (colon == NULL || colon == text || (size_t)(colon - text) >= sizeof(ret->name))
		return false;
	errno = 0;
	long partitions = strtol(colon + 1, &end, 10);
	if (errno != 0 || end == colon + 1 || *end != '\0' || partitions < 1 ||
	    partitions > PARTITIONS_MAX)
		return false;
	memcpy(ret->name, text, (size_t)(colon - text));
	ret->name[colon - text] = '\0';
	ret->partitions = (int)partitions;
	return true;
}

static bool add_topic(struct settings *s, const char *text)
{
	if (s->topic_count == TOPICS_MAX) {
		fprintf(stderr, "walpost-embedded-broker: at most %d topics\n", TOPICS_MAX);
		return false;
	}
	if (read_topic(text, &s->topics[s->topic_count])) {
		s->topic_count++;
		return true;
	}
	fprintf(stderr,
		"walpost-embedded-broker: --topic %s: write it as NAME:PARTITIONS, with 1 to %d "
		"partitions\n",
		text, PARTITIONS_MAX);
	return false;
}

static bool read_arguments(int argc, char **argv, struct settings *s)
{
	static const struct option options[] = {
		{ "topic", required_argument, NULL, 't' },
		{ "port-file", required_argument, NULL, 'p' },
		{ "until-stdin-closes", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 't' && !add_topic(s, optarg))
			return false;
		if (option == 'p')
			s->port_file = optarg;
		s->ends_with_stdin = s->ends_with_stdin || option == 's';
		s->wants_help = s->wants_help || option == 'h';
		if (option == '?')
			return false;
	}
	if (optind < argc)
		fprintf(stderr, "walpost-embedded-broker: unexpected argument: %s\n", argv[optind]);
	return optind == argc;
}

/* Whole or not at all: a reader may be waiting for the file to appear. */
static bool write_port_file(const char *path, const char *address)
{
	char part[4096];

	int size = snprintf(part, sizeof(part), "%s.part", path);
	if (size < 0 || (size_t)size >= sizeof(part))
		return false;
	FILE *file = fopen(part, "w");
	if (file == NULL)
		return false;
	bool written = fprintf(file, "%s\n", address) > 0;
	written = fclose(file) == 0 && written;
	return written && rename(part, path) == 0;
}

static bool create_topics(const struct settings *s, rd_kafka_mock_cluster_t *cluster)
{
	for (size_t i = 0; i < s->topic_count; i++) {
		const struct topic *topic = &s->topics[i];
		rd_kafka_resp_err_t error =
			rd_kafka_mock_topic_create(cluster, topic->name, topic->partitions, 1);
		if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
			fprintf(stderr, "walpost-embedded-broker: topic %s: %s\n", topic->name,
				rd_kafka_err2str(error));
			return false;
		}
	}
	return true;
}

/* The file first: whoever reads the line finds it. */
static bool tell_address(const struct settings *s, const char *address)
{
	if (s->port_file != NULL && !write_port_file(s->port_file, address)) {
		fprintf(stderr, "walpost-embedded-broker: %s cannot be written: %s\n", s->port_file,
			strerror(errno));
		return false;
	}
	if (printf("%s\n", address) < 0 || fflush(stdout) != 0) {
		fprintf(stderr, "walpost-embedded-broker: standard output: %s\n", strerror(errno));
		return false;
	}
	return true;
}

/* What comes on standard input is read and means nothing, only its end does. */
static bool stdin_is_closed(void)
{
	char trash[4096];
	ssize_t size = read(STDIN_FILENO, trash, sizeof(trash));

	return size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN);
}

static void wait_for_end(const struct settings *s, int signals)
{
	struct pollfd fds[2] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = s->ends_with_stdin ? STDIN_FILENO : -1, .events = POLLIN },
	};

	while (true) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents != 0)
			return;
		if (fds[1].revents != 0 && stdin_is_closed())
			return;
	}
}

static int run_cluster(const struct settings *s, rd_kafka_t *host, int signals)
{
	rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(host, 1);
	if (cluster == NULL) {
		fprintf(stderr, "walpost-embedded-broker: the broker does not start\n");
		return EXIT_FAILURE;
	}
	bool ready = create_topics(s, cluster) &&
		     tell_address(s, rd_kafka_mock_cluster_bootstraps(cluster));
	if (ready)
		wait_for_end(s, signals);
	rd_kafka_mock_cluster_destroy(cluster);
	if (ready && s->port_file != NULL)
		(void)unlink(s->port_file); /* it names nothing any more */
	return ready ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Blocked before the first thread is made, so that all of them leave signals to us. */
static int block_signals(void)
{
	sigset_t end;

	(void)sigemptyset(&end);
	(void)sigaddset(&end, SIGTERM);
	(void)sigaddset(&end, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &end, NULL);
	return signalfd(-1, &end, SFD_CLOEXEC);
}

static int run(const struct settings *s)
{
	char error[512];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	int signals = block_signals();
	(void)rd_kafka_conf_set(conf, "log_level", "3", error, sizeof(error));
	/* The cluster needs a client to live in; this one produces nothing. */
	rd_kafka_t *host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error));
	if (host == NULL) {
		fprintf(stderr, "walpost-embedded-broker: %s\n", error);
		rd_kafka_conf_destroy(conf);
		return EXIT_FAILURE;
	}
	int status = run_cluster(s, host, signals);
	rd_kafka_destroy(host);
	if (signals >= 0)
		(void)close(signals);
	return status;
}

int main(int argc, char **argv)
{
	static struct settings settings;

	if (!read_arguments(argc, argv, &settings)) {
		fputs("Try walpost-embedded-broker --help\n", stderr);
		return 2;
	}
	if (settings.wants_help) {
		fputs(help, stdout);
		return EXIT_SUCCESS;
	}
	if (settings.topic_count == 0) {
		fputs("walpost-embedded-broker: name at least one --topic NAME:PARTITIONS\n",
		      stderr);
		return 2;
	}
	return run(&settings);
}

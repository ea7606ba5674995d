#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "walpost/cli/cli.h"
#include "walpost/run/run.h"

static const struct wp_command commands[] = {
	{ "run", wp_command_run, "run the relay in the foreground" },
	{ "init", wp_command_init, "create outbox table, publication and slot, or print SQL" },
	{ "check", wp_command_check, "check every precondition and print cures" },
	{ "diff", wp_command_diff, "compare the outbox tables with the topics" },
	{ "status", wp_command_status, "show slot, lag and retained WAL" },
	{ "tail", wp_command_tail, "show events as they are committed, as JSON lines" },
	{ "dead-letters", wp_command_dead_letters, "list dead letters, send them again" },
	{ "slot", wp_command_slot, "create, drop, list, skip or accept a slot" },
	{ "parked", wp_command_parked, "list, show, retry or discard parked events" },
	{ "replay", wp_command_replay, "send rows of an outbox again, beside the relay" },
	{ "cleanup", wp_command_cleanup, "why rows of the outbox are still there" },
	{ "backfill", wp_command_backfill, "send what Kafka does not have, and make a new slot" },
	{ "drain", wp_command_drain, "stop the relay once all committed so far is confirmed" },
	{ "config", wp_command_config, "option reference, sample file, effective configuration" },
	{ "metrics", wp_command_metrics, "reference of /metrics" },
	{ "version", wp_command_version, "print versions of walpost and its libraries" },
};

/*
 * A standard descriptor that is closed would become a socket of ours, and output go
 * there. Opened for reading, writing to it fails as it did.
 */
static void keep_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", O_RDONLY);
	}
}

int main(int argc, char **argv)
{
	/* A service manager may ask for a reload as soon as the process is there; other commands
	 * end by the signal, as any program on a terminal that hangs up. */
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		wp_run_hold_hangup();
	keep_standard_descriptors();
	if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
		return wp_command_version(argc - 1, argv + 1);
	return wp_cli_dispatch("walpost", commands, sizeof(commands) / sizeof(commands[0]), argc,
			       argv);
}

#include "process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* /proc/self/statm, proc(5): size resident shared ..., in pages. */
static uint64_t read_resident(void)
{
	unsigned long long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file == NULL)
		return 0;
	if (fscanf(file, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	(void)fclose(file); /* read only */
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t count_entries(const char *path)
{
	DIR *folder = opendir(path);
	uint64_t count = 0;

	if (folder == NULL)
		return 0;
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
		count += entry->d_name[0] != '.';
	(void)closedir(folder);
	return count;
}

static uint64_t cpu_ms_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_usec / 1000;
}

void wp_process_read(struct wp_telemetry_process *ret)
{
	struct rusage usage = { 0 };
	struct rlimit limit = { 0 };

	(void)getrusage(RUSAGE_SELF, &usage);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	ret->resident_bytes = read_resident();
	ret->cpu_ms = cpu_ms_of(&usage.ru_utime) + cpu_ms_of(&usage.ru_stime);
	ret->open_fds = count_entries("/proc/self/fd");
	if (ret->open_fds > 0)
		ret->open_fds--; /* the one it was counted with */
	ret->max_fds = limit.rlim_cur;
	ret->threads = count_entries("/proc/self/task");
}

/*
 * What waking costs on this machine: two threads, one sleeps a millisecond and then wakes the
 * other, which sleeps again. Prints the CPU time of a round in microseconds. A relay at 1,000
 * events a second does little else: in a virtual machine a core that sleeps is woken by its host.
 *
 *   wake ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LAST (UINT64_C(1) << 32)

static void *sleeper(void *arg)
{
	uint64_t wakes = 0;

	while (wakes < LAST && read(*(int *)arg, &wakes, sizeof(wakes)) == sizeof(wakes))
		;
	return NULL;
}

static double cpu_us(void)
{
	struct rusage used;

	(void)getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void wake(int fd, uint64_t wakes)
{
	if (write(fd, &wakes, sizeof(wakes)) != sizeof(wakes))
		exit(1);
}

int main(int argc, char **argv)
{
	struct timespec millisecond = { .tv_nsec = 1000000 };
	long rounds = argc == 2 ? atol(argv[1]) : 0;
	int fd = eventfd(0, 0);
	pthread_t thread;

	if (rounds < 1 || fd < 0 || pthread_create(&thread, NULL, sleeper, &fd) != 0)
		return 2;
	double began = cpu_us();
	for (long i = 0; i < rounds; i++) {
		(void)nanosleep(&millisecond, NULL);
		wake(fd, 1);
	}
	printf("%.1f\n", (cpu_us() - began) / (double)rounds);
	wake(fd, LAST);
	return pthread_join(thread, NULL);
}

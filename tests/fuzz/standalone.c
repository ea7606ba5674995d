/*
 * Runs a fuzz target without libFuzzer, with any compiler:
 *
 *   fuzz_x_standalone [-runs=N] [-seed=N] [-max_len=N] CORPUS...
 *
 * Every file of the corpus as it is, then N mutations of them that follow from
 * the seed. A run that fails leaves its input in the file fuzz-failed.
 */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "walpost/base/backoff.h"

#define FILES_MAX 1024

struct input {
	uint8_t *data;
	size_t size;
};

static struct input corpus[FILES_MAX];
static size_t corpus_count;
static size_t size_max = 4096;
static uint64_t random_state = 1;
static struct input current; /* what runs now, for the report */

static size_t below(size_t limit)
{
	return limit == 0 ? 0 : (size_t)(wp_random_next(&random_state) % limit);
}

static void load(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL || corpus_count == FILES_MAX) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(2);
	}
	struct input *input = &corpus[corpus_count++];
	input->data = malloc(size_max);
	NEED(input->data != NULL);
	input->size = fread(input->data, 1, size_max, file);
	fclose(file);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of names: a seed must find the same on every file system. */
static void load_folder(const char *path)
{
	static char *names[FILES_MAX];
	size_t count = 0;
	DIR *folder = opendir(path);

	NEED(folder != NULL);
	for (struct dirent *e = readdir(folder); e != NULL && count < FILES_MAX;
	     e = readdir(folder)) {
		if (e->d_name[0] != '.')
			names[count++] = strdup(e->d_name);
	}
	closedir(folder);
	qsort(names, count, sizeof(names[0]), compare);
	for (size_t i = 0; i < count; i++) {
		char file[4096];
		(void)snprintf(file, sizeof(file), "%s/%s", path, names[i]);
		load(file);
		free(names[i]);
	}
}

static void change_byte(struct input *in)
{
	static const uint8_t telling[] = { 0, 1, 0x7F, 0x80, 0xFF, 'I', 'N', 'R', 'b', 't', 'u' };

	if (in->size == 0)
		return;
	in->data[below(in->size)] =
		below(2) == 0 ? (uint8_t)below(256) : telling[below(sizeof(telling))];
}

static void change_bit(struct input *in)
{
	if (in->size > 0)
		in->data[below(in->size)] ^= (uint8_t)(1u << below(8));
}

static void remove_run(struct input *in)
{
	size_t at = below(in->size);
	size_t size = below(in->size - at) + (in->size > 0);

	if (in->size == 0)
		return;
	memmove(in->data + at, in->data + at + size, in->size - at - size);
	in->size -= size;
}

/* A run of another file, or of itself. */
static void insert_run(struct input *in)
{
	const struct input *from = &corpus[below(corpus_count)];
	size_t start = below(from->size);
	size_t size = below(from->size - start + 1);
	size_t at = below(in->size + 1);

	if (size > size_max - in->size)
		size = size_max - in->size;
	memmove(in->data + at + size, in->data + at, in->size - at);
	memcpy(in->data + at, from->data + start, size);
	in->size += size;
}

static void mutate(struct input *in)
{
	static void (*const ways[])(struct input *) = { change_byte, change_bit, remove_run,
							insert_run };
	const struct input *from = &corpus[below(corpus_count)];

	in->size = from->size;
	memcpy(in->data, from->data, from->size);
	for (size_t i = below(6) + 1; i > 0; i--)
		ways[below(sizeof(ways) / sizeof(ways[0]))](in);
}

static void report(int number)
{
	FILE *file = fopen("fuzz-failed", "wb");

	if (file != NULL) {
		(void)fwrite(current.data, 1, current.size, file);
		fclose(file);
	}
	_exit(1);
}

/* In memory of just its size: reading past the end is seen. */
static void run(const struct input *in)
{
	current.data = malloc(in->size > 0 ? in->size : 1);
	NEED(current.data != NULL);
	memcpy(current.data, in->data, in->size);
	current.size = in->size;
	(void)LLVMFuzzerTestOneInput(current.data, current.size);
	free(current.data);
}

static bool option(const char *argument, const char *name, unsigned long long *ret)
{
	size_t size = strlen(name);

	if (strncmp(argument, name, size) != 0)
		return false;
	*ret = strtoull(argument + size, NULL, 10);
	return true;
}

int main(int argc, char **argv)
{
	unsigned long long runs = 0, seed = 1, max = size_max;
	struct sigaction on_abort = { .sa_handler = report };

	(void)sigaction(SIGABRT, &on_abort, NULL);
	for (int i = 1; i < argc; i++) {
		if (option(argv[i], "-runs=", &runs) || option(argv[i], "-seed=", &seed) ||
		    option(argv[i], "-max_len=", &max))
			continue;
		size_max = (size_t)max;
		load_folder(argv[i]);
	}
	NEED(corpus_count > 0);
	random_state = seed;
	for (size_t i = 0; i < corpus_count; i++)
		run(&corpus[i]);

	struct input mutant = { .data = malloc(size_max) };
	NEED(mutant.data != NULL);
	for (unsigned long long i = 0; i < runs; i++) {
		mutate(&mutant);
		run(&mutant);
	}
	printf("%zu files, %llu mutations\n", corpus_count, runs);
	free(mutant.data);
	for (size_t i = 0; i < corpus_count; i++)
		free(corpus[i].data);
	return 0;
}

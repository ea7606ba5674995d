#include "support/files.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

void write_text(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	CHECK(out != NULL);
	CHECK_EQ(fwrite(text, 1, strlen(text), out), strlen(text));
	CHECK_EQ(fclose(out), 0);
}

/* Files that tests write. */
#ifndef WALPOST_TESTS_FILES_H
#define WALPOST_TESTS_FILES_H

/* That file then holds this text and nothing else. */
void write_text(const char *path, const char *text);

#endif

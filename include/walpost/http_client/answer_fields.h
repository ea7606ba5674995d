/*
 * Reads single fields of an answer, in JSON or in XML, that are texts. What does not fit, or is no text, is
 * as good as missing. Pure.
 */
#ifndef WALPOST_HTTP_CLIENT_ANSWER_FIELDS_H
#define WALPOST_HTTP_CLIENT_ANSWER_FIELDS_H

#include <stdbool.h>

#include "walpost/base/json.h"

/* Finds a member of the object that `text` is. */
bool wp_json_member(struct wp_span text, const char *name, struct wp_json *ret);
/* Is false also for an empty text. `ret` is NUL-terminated, and of no meaning when false. */
bool wp_json_text_member(struct wp_span text, const char *name, char *ret, size_t size);
/* Reads a number, also as a text of digits ("3599"); of a fraction the whole part. */
bool wp_json_number_member(struct wp_span text, const char *name, int64_t *ret);
/* Reads what stands in the first element of that name, which has no others within. No entities. */
bool wp_xml_text(struct wp_span text, const char *name, char *ret, size_t size);

#endif

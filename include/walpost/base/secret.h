/* Says which properties hold what is never to be shown: passwords, keys, tokens. */
#ifndef WALPOST_BASE_SECRET_H
#define WALPOST_BASE_SECRET_H

#include <stdbool.h>

/* `name` is as librdkafka has it, in any case. It goes by name, for librdkafka marks none; rather one too many. */
bool wp_property_is_secret(const char *name);
/* Does `text` contain `part`, whatever their case? */
bool wp_text_has(const char *text, const char *part);

#endif

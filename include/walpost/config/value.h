/* The text of a value to what an options struct holds. Pure. */
#ifndef WALPOST_CONFIG_VALUE_H
#define WALPOST_CONFIG_VALUE_H

#include "walpost/base/rc.h"
#include "walpost/config/config.h"
#include "walpost/config/option.h"

/*
 * Writes the member of `config` that `option` stands for; a text is borrowed, so it
 * must live as long as `config`. WP_CONFIG: not what wp_option_allowed() says.
 */
enum wp_rc wp_value_store(const struct wp_option *option, const char *text,
			  struct wp_config *config) WP_MUST_CHECK;

/* Digits only, no sign; false beyond `max`. */
bool wp_value_number(const char *text, size_t size, int64_t max, int64_t *ret) WP_MUST_CHECK;
/* "90s", "2h": WP_CONFIG: no number with one of the units ms, s, min, h. */
enum wp_rc wp_value_duration(const char *text, int64_t *ret_ms) WP_MUST_CHECK;

#endif

#include "walpost/base/wildcard.h"

/* Remembers the last wildcard only: going back to an earlier one can find nothing more. */
bool wp_wildcard_matches(struct wp_span pattern, uint8_t any, struct wp_span text)
{
	size_t p = 0;
	size_t t = 0;
	size_t star = SIZE_MAX;
	size_t star_text = 0;

	while (t < text.size) {
		if (p < pattern.size && pattern.data[p] == any) {
			star = p++;
			star_text = t;
		} else if (p < pattern.size && pattern.data[p] == text.data[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++star_text;
		} else {
			return false;
		}
	}
	while (p < pattern.size && pattern.data[p] == any)
		p++;
	return p == pattern.size;
}

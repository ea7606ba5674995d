#include <string.h>

#include "support/check.h"

#include "walpost/postgres/connection.h"

static void each_code_calls_for_its_reaction(void **state)
{
	static const struct {
		enum wp_connection_phase phase;
		const char *codes; /* of five characters each */
		enum wp_reaction reaction;
		const char *rule;
	} cases[] = {
		{ WP_PHASE_CONNECT, "28P01 28000 3D000 08P01 42501 0A000 22023 42704",
		  WP_REACT_STOP_CONFIG, "wrong credentials and names stop for the configuration" },
		{ WP_PHASE_CONNECT, "57P03 53300 08006 57P01 57P02 58030", WP_REACT_RECONNECT,
		  "a server that starts or is full is tried again" },
		{ WP_PHASE_COPY, "57P03", WP_REACT_LET_GO,
		  "a server that shuts down while it streams is let go" },
		{ WP_PHASE_SQL, "57P03", WP_REACT_RECONNECT,
		  "a server that shuts down otherwise is tried again" },
		{ WP_PHASE_START, "55006", WP_REACT_STANDBY, "a slot in use means standing by" },
		{ WP_PHASE_START, "42704 55000", WP_REACT_STOP_HUMAN,
		  "a slot or publication that is gone needs a human" },
		{ WP_PHASE_COPY, "42704 58P01 22021", WP_REACT_STOP_HUMAN,
		  "a slot or publication that goes needs a human" },
		{ WP_PHASE_COPY, "57P01 53200 58030", WP_REACT_RECONNECT,
		  "a terminated stream reconnects" },
		{ WP_PHASE_COPY, "XX000 22023 25006 55006 57014 ZZ999", WP_REACT_TRY_THRICE,
		  "what the server would say of the row again is tried thrice" },
		{ WP_PHASE_SQL, "25006 55000", WP_REACT_RECONNECT, "a standby may be promoted" },
		{ WP_PHASE_SQL, "42501", WP_REACT_STOP_CONFIG,
		  "the exact code wins over its class" },
		{ WP_PHASE_SQL, "42P01", WP_REACT_STOP_HUMAN, "its class does for any other" },
		{ WP_PHASE_CONNECT, "08001", WP_REACT_RECONNECT, "its class does for any other" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t at = 0; at < strlen(cases[i].codes); at += 6) {
			char code[6] = "";
			memcpy(code, cases[i].codes + at, 5);
			enum wp_reaction got = wp_postgres_reaction(cases[i].phase, code);
			if (got != cases[i].reaction)
				fail_msg("%s: %s gives %d", cases[i].rule, code, (int)got);
		}
	}
}

static void no_code_and_unknown_codes_are_tried_again(void **state)
{
	for (enum wp_connection_phase phase = WP_PHASE_CONNECT; phase <= WP_PHASE_COPY; phase++) {
		CHECK_EQ(wp_postgres_reaction(phase, ""), WP_REACT_RECONNECT);
		CHECK_EQ(wp_postgres_reaction(phase, "08"), WP_REACT_RECONNECT);
		CHECK_EQ(wp_postgres_reaction(phase, "ZZ999"),
			 phase == WP_PHASE_COPY ? WP_REACT_TRY_THRICE : WP_REACT_RECONNECT);
		CHECK_EQ(wp_postgres_reaction(phase, "42501x"), WP_REACT_RECONNECT);
	}
}

int main(void)
{
	return RUN(PLAIN(each_code_calls_for_its_reaction),
		   PLAIN(no_code_and_unknown_codes_are_tried_again));
}

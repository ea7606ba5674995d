#include "support/check.h"

#include "walpost/postgres/connection.h"

static void wrong_credentials_and_names_stop_for_the_configuration(void **state)
{
	static const char *const codes[] = { "28P01", "28000", "3D000", "08P01",
					     "42501", "0A000", "22023", "42704" };
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		CHECK_EQ(wp_postgres_reaction(WP_PHASE_CONNECT, codes[i]), WP_REACT_STOP_CONFIG);
}

static void a_server_that_starts_or_is_full_is_tried_again(void **state)
{
	static const char *const codes[] = { "57P03", "53300", "08006", "57P01", "57P02", "58030" };
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		CHECK_EQ(wp_postgres_reaction(WP_PHASE_CONNECT, codes[i]), WP_REACT_RECONNECT);
}

static void a_server_that_shuts_down_while_it_streams_is_let_go(void **state)
{
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_COPY, "57P03"), WP_REACT_LET_GO);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_SQL, "57P03"), WP_REACT_RECONNECT);
}

static void a_slot_in_use_means_standing_by(void **state)
{
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_START, "55006"), WP_REACT_STANDBY);
}

static void a_slot_or_publication_that_is_gone_needs_a_human(void **state)
{
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_START, "42704"), WP_REACT_STOP_HUMAN);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_COPY, "42704"), WP_REACT_STOP_HUMAN);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_START, "55000"), WP_REACT_STOP_HUMAN);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_COPY, "58P01"), WP_REACT_STOP_HUMAN);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_COPY, "22021"), WP_REACT_STOP_HUMAN);
}

static void a_terminated_stream_reconnects(void **state)
{
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_COPY, "57P01"), WP_REACT_RECONNECT);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_COPY, "53200"), WP_REACT_RECONNECT);
}

static void what_the_server_would_say_of_the_row_again_is_tried_thrice(void **state)
{
	static const char *const codes[] = { "XX000", "22023", "25006", "55006", "57014", "ZZ999" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		CHECK_EQ(wp_postgres_reaction(WP_PHASE_COPY, codes[i]), WP_REACT_TRY_THRICE);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_COPY, "58030"), WP_REACT_RECONNECT);
}

static void a_standby_may_be_promoted(void **state)
{
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_SQL, "25006"), WP_REACT_RECONNECT);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_SQL, "55000"), WP_REACT_RECONNECT);
}

static void the_exact_code_wins_over_its_class(void **state)
{
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_CONNECT, "08P01"), WP_REACT_STOP_CONFIG);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_CONNECT, "08001"), WP_REACT_RECONNECT);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_SQL, "42501"), WP_REACT_STOP_CONFIG);
	CHECK_EQ(wp_postgres_reaction(WP_PHASE_SQL, "42P01"), WP_REACT_STOP_HUMAN);
}

static void no_code_and_unknown_codes_are_tried_again(void **state)
{
	for (enum wp_phase phase = WP_PHASE_CONNECT; phase <= WP_PHASE_COPY; phase++) {
		CHECK_EQ(wp_postgres_reaction(phase, ""), WP_REACT_RECONNECT);
		CHECK_EQ(wp_postgres_reaction(phase, "08"), WP_REACT_RECONNECT);
		CHECK_EQ(wp_postgres_reaction(phase, "ZZ999"),
			 phase == WP_PHASE_COPY ? WP_REACT_TRY_THRICE : WP_REACT_RECONNECT);
		CHECK_EQ(wp_postgres_reaction(phase, "42501x"), WP_REACT_RECONNECT);
	}
}

int main(void)
{
	return RUN(PLAIN(wrong_credentials_and_names_stop_for_the_configuration),
		   PLAIN(a_server_that_starts_or_is_full_is_tried_again),
		   PLAIN(a_server_that_shuts_down_while_it_streams_is_let_go),
		   PLAIN(a_slot_in_use_means_standing_by),
		   PLAIN(a_slot_or_publication_that_is_gone_needs_a_human),
		   PLAIN(a_terminated_stream_reconnects),
		   PLAIN(what_the_server_would_say_of_the_row_again_is_tried_thrice),
		   PLAIN(a_standby_may_be_promoted), PLAIN(the_exact_code_wins_over_its_class),
		   PLAIN(no_code_and_unknown_codes_are_tried_again));
}

#include "support/check.h"
#include "walpost/http/address.h"

static void check_address(const char *text, const char *host, unsigned port, const char *to_ask)
{
	struct wp_http_address a;
	struct wp_error error;

	CHECK_EQ(wp_http_address_parse(text, &a, &error), WP_OK);
	CHECK_TEXT(a.host, host);
	CHECK_EQ(a.port, port);
	CHECK_TEXT(wp_http_address_to_ask(&a), to_ask);
}

static void a_port_alone_is_of_loopback(void **state)
{
	check_address("9187", "127.0.0.1", 9187, "127.0.0.1");
	check_address("0", "127.0.0.1", 0, "127.0.0.1");
	check_address("65535", "127.0.0.1", 65535, "127.0.0.1");
}

static void an_address_may_stand_before_it(void **state)
{
	check_address("0.0.0.0:9187", "0.0.0.0", 9187, "127.0.0.1");
	check_address("10.1.2.3:80", "10.1.2.3", 80, "10.1.2.3");
	check_address("[::]:9187", "::", 9187, "::1");
	check_address("[::1]:9187", "::1", 9187, "::1");
	check_address("[2001:db8::7]:9187", "2001:db8::7", 9187, "2001:db8::7");
}

static void anything_else_is_refused_with_what_is_allowed(void **state)
{
	static const char *const wrong[] = {
		"",
		"x",
		"65536",
		"-1",
		"9187 ",
		":9187",
		"localhost:9187",
		"::1:9187",
		"[::1]",
		"[]:80",
		"10.0.0.1:",
		"10.0.0.1:http",
		"99999999999",
		"[::1:9187",
		"1.2.3.4:5:6",
		"11111111111111111111111111111111111111111111111111111111111111111111:80",
	};
	struct wp_http_address a;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct wp_error error;
		CHECK_EQ(wp_http_address_parse(wrong[i], &a, &error), WP_CONFIG);
		CHECK_HAS(error.text, wrong[i]);
		CHECK_HAS(error.text, "0.0.0.0:9187");
	}
}

int main(void)
{
	return RUN(PLAIN(a_port_alone_is_of_loopback), PLAIN(an_address_may_stand_before_it),
		   PLAIN(anything_else_is_refused_with_what_is_allowed));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/sysmacros.h>
#include "e4layout/base/internal.h"
#include "support/args.h"
#include "support/interrupt.h"
#include "support/json_line.h"
#include "e4layout/open/mounts.h"
#include "support/pace.h"
#include "support/progress.h"
#include "support/text.h"
#include "support/units.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ------------------------------------------------------------------- units */

static const struct {
	const char *text;
	bool ok;
	uint64_t bytes;
} sizes[] = {
	{ "0", true, 0 },
	{ "512", true, 512 },
	{ "64M", true, 64ULL << 20 },
	{ "64m", true, 64ULL << 20 },
	{ "1G", true, 1ULL << 30 },
	{ "3KiB", true, 3072 },
	{ "2tib", true, 2ULL << 40 },
	{ "15E", true, 15ULL << 60 },
	{ "18446744073709551615", true, UINT64_MAX },
	{ "18446744073709551616", false, 0 },
	{ "16E", false, 0 },
	{ "17179869184G", false, 0 },
	{ "", false, 0 },
	{ "M", false, 0 },
	{ "-1", false, 0 },
	{ "+1", false, 0 },
	{ " 1", false, 0 },
	{ "1 M", false, 0 },
	{ "1MB", true, 1000000 },
	{ "64mb", true, 64000000 },
	{ "18EB", true, 18000000000000000000ULL },
	{ "18.446744EB", true, 18446744000000000000ULL },
	{ "18.5EB", false, 0 },
	{ "19EB", false, 0 },
	{ "12B", true, 12 },
	{ "1.5G", true, 3ULL << 29 },
	{ "0.5K", true, 512 },
	{ "1.000001M", true, 1048577 },
	{ "15.999999E", true, 18446742920788047009ULL },
	{ "1.0000001M", false, 0 },
	{ "1.5", false, 0 },
	{ "1.5B", false, 0 },
	{ "1.G", false, 0 },
	{ ".5G", false, 0 },
	{ "1.5.5G", false, 0 },
	{ "1,5G", false, 0 },
	{ "10%", false, 0 },
	{ "1Mi", false, 0 },
	{ "1MM", false, 0 },
	{ "1BB", false, 0 },
	{ "0x10", false, 0 },
	{ "1X", false, 0 },
};

START_TEST(parses_sizes)
{
	uint64_t bytes = 12345;

	ck_assert_int_eq(units_parse_size(sizes[_i].text, &bytes),
			 sizes[_i].ok);
	ck_assert_uint_eq(bytes, sizes[_i].ok ? sizes[_i].bytes : 12345);
}
END_TEST

static const struct {
	const char *text;
	bool ok;
	uint64_t of_a_million;
} shares[] = {
	{ "10%", true, 100000 },
	{ "100%", true, 1000000 },
	{ "0.0001%", true, 1 },
	{ "2.5%", true, 25000 },
	{ "1.5K", true, 1536 },
	{ "0", true, 0 },
	{ "100.1%", false, 0 },
	{ "101%", false, 0 },
	{ "%", false, 0 },
	{ "1%%", false, 0 },
	{ "1K%", false, 0 },
	{ "0%", true, 0 },
	{ "0.00001%", false, 0 },
	{ "-1%", false, 0 },
};

START_TEST(parses_shares)
{
	struct units_share share = { 0 };

	ck_assert_int_eq(units_parse_share(shares[_i].text, &share),
			 shares[_i].ok);
	if (!shares[_i].ok)
		return;
	ck_assert_uint_eq(units_share_of(&share, 1000000),
			  shares[_i].of_a_million);
	ck_assert_uint_eq(units_share_of(&share, 0),
			  share.parts ? 0 : shares[_i].of_a_million);
}
END_TEST

START_TEST(takes_shares_of_any_size)
{
	static const struct units_share all = { .parts = UNITS_WHOLE };
	static const struct units_share most = { .parts = UNITS_WHOLE - 1 };

	ck_assert_uint_eq(units_share_of(&all, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(units_share_of(&most, UINT64_MAX),
			  18446725626965477905ULL);
}
END_TEST

START_TEST(parses_counts)
{
	uint64_t n = 7;

	ck_assert(units_parse_count("18446744073709551615", &n));
	ck_assert_uint_eq(n, UINT64_MAX);
	ck_assert(!units_parse_count("18446744073709551616", &n));
	ck_assert(!units_parse_count("1K", &n));
	ck_assert(!units_parse_count("", &n));
	ck_assert_uint_eq(n, UINT64_MAX);
}
END_TEST

START_TEST(prints_sizes_and_counts)
{
	char buf[UNITS_LEN], longer[2 * UNITS_LEN];

	ck_assert_str_eq(units_size(0, buf), "0 B");
	ck_assert_str_eq(units_size(1023, buf), "1023 B");
	ck_assert_str_eq(units_size(1024, buf), "1 KiB");
	ck_assert_str_eq(units_size(1536, buf), "1.5 KiB");
	ck_assert_str_eq(units_size(10188, buf), "9.9 KiB");
	ck_assert_str_eq(units_size(10200, buf), "10 KiB");
	ck_assert_str_eq(units_size((1 << 20) - 1, buf), "1.0 MiB");
	ck_assert_str_eq(units_size(UINT64_MAX, buf), "16 EiB");
	ck_assert_str_eq(units_count(0, buf), "0");
	ck_assert_str_eq(units_count(999, buf), "999");
	ck_assert_str_eq(units_count(1000, buf), "1,000");
	ck_assert_str_eq(units_count(UINT64_MAX, buf),
			 "18,446,744,073,709,551,615");
	ck_assert_str_eq(units_things(0, "run", "runs", longer), "0 runs");
	ck_assert_str_eq(units_things(1, "run", "runs", longer), "1 run");
	ck_assert_str_eq(units_things(1000, "run", "runs", longer),
			 "1,000 runs");
	ck_assert_str_eq(units_percent(1, 3, buf), "33.3 %");
	ck_assert_str_eq(units_percent(0, 0, buf), "-");
}
END_TEST

/* -------------------------------------------------------------------- text */

static const struct {
	const char *name, *people, *json;
} names[] = {
	{ "plain/name", "plain/name", "plain/name" },
	{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
	  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
	  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "a\\x41", "a\\x5cx41", "a\\x5cx41" },
	{ "a\nb\x7f", "a\\x0ab\\x7f", "a\nb\x7f" },
	{ "\xc2\x9b" "31m", "\\xc2\\x9b" "31m", "\xc2\x9b" "31m" },
	{ "\xe2\x80\xae" "txt", "\\xe2\\x80\\xae" "txt", "\xe2\x80\xae" "txt" },
	{ "\xff", "\\xff", "\\xff" },
	{ "\xc3", "\\xc3", "\\xc3" },			/* truncated UTF-8 */
	{ "\xc3(", "\\xc3(", "\\xc3(" },
	{ "\xc0\x80", "\\xc0\\x80", "\\xc0\\x80" },	/* overlong UTF-8 */
	{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf", "\\xe0\\x80\\xaf" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" },
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80" },
};

START_TEST(escapes_names)
{
	size_t len = strlen(names[_i].name);
	char *people = text_escape(names[_i].name, len, TEXT_FOR_PEOPLE);
	char *json = text_escape(names[_i].name, len, TEXT_FOR_JSON);

	ck_assert_str_eq(people, names[_i].people);
	ck_assert_str_eq(json, names[_i].json);
	free(people);
	free(json);
}
END_TEST

/* Decodes the escapes of text.h. */
static void unescape(const char *text, char *out)
{
	unsigned int byte;

	for (; *text; out++) {
		if (sscanf(text, "\\x%2x", &byte) == 1) {
			*out = byte;
			text += 4;
		} else {
			*out = *text++;
		}
	}
	*out = '\0';
}

/*
 * For any bytes, jansson accepts the escaped text, and the text can be decoded.
 */
START_TEST(escapes_reversibly)
{
	unsigned int seed = 12345, round, len, i;
	char name[256], back[256];
	json_t *value;

	for (round = 0; round < 500; round++) {
		len = 1 + rand_r(&seed) % 200;
		for (i = 0; i < len; i++)
			name[i] = 1 + rand_r(&seed) % (round % 2 ? 255 : 127);
		name[len] = '\0';
		value = json_name(name);
		ck_assert_ptr_nonnull(value);
		unescape(json_string_value(value), back);
		ck_assert_str_eq(back, name);
		json_decref(value);
	}
}
END_TEST

/* A line with a member of each JSON type equals jansson's output. */
START_TEST(writes_lines)
{
	static const uint64_t numbers[] = {
		0, 7, 10, UINT32_MAX, INT64_MAX, 1234567890123456789,
	};
	static const struct json_member member[] = { { "m", 0 } };
	struct json_line line = { 0 };
	json_t *value, *wanted;
	unsigned int i;

	for (i = 0; i < COUNT(numbers); i++) {
		json_line_number(&line, "n", numbers[i]);
		json_line_name(&line, "name", names[_i].name);
		json_line_name(&line, "none", NULL);
		json_line_word(&line, "word", "regular");
		json_line_boolean(&line, "yes", true);
		json_line_members(&line, &numbers[i], member, 1);
		wanted = json_pack("{s:I, s:o, s:n, s:s, s:b, s:I}",
				   "n", (json_int_t)numbers[i],
				   "name", json_name(names[_i].name), "none",
				   "word", "regular", "yes", 1,
				   "m", (json_int_t)numbers[i]);
		value = json_line_value(&line);
		ck_assert(value && json_equal(value, wanted));
		json_decref(value);
		json_decref(wanted);
	}
	json_line_number(&line, "n", UINT64_MAX);
	value = json_line_value(&line);
	ck_assert_int_eq(json_integer_value(json_object_get(value, "n")),
			 INT64_MAX);
	json_decref(value);
	json_line_free(&line);
}
END_TEST

/*
 * Draws names from one of three sets: any bytes, few special bytes among
 * letters, or pieces of UTF-8.
 */
static void draw_name(unsigned int *seed, unsigned int kind, char *name)
{
	static const char *const pieces[] = {
		"a", "\"", "\\", "\n", "\x1f", "\x7f", "\xc3\xa9", "\xe2\x82\xac",
		"\xf0\x9f\x98\x80", "\xed\xa0\x80", "\xe2\x82", "\xff", "/dir",
	};
	unsigned int len = rand_r(seed) % 60, i;
	char *end = name;

	for (i = 0; i < len; i++) {
		if (kind && rand_r(seed) % 16 < (kind == 1 ? 15 : 4))
			*end++ = 'a' + rand_r(seed) % 26;
		else if (kind == 2)
			end = stpcpy(end, pieces[rand_r(seed) % COUNT(pieces)]);
		else
			*end++ = 1 + rand_r(seed) % 255;
	}
	*end = '\0';
}

/* The output of the JSON writer equals the output of jansson. */
START_TEST(writes_names_as_jansson)
{
	unsigned int seed = 54321, round;
	struct json_line line = { 0 };
	char name[256], *wanted;
	json_t *object;

	for (round = 0; round < 6000; round++) {
		draw_name(&seed, round % 3, name);
		json_line_name(&line, "name", name);
		object = json_pack("{s:o}", "name", json_name(name));
		wanted = json_dumps(object, JSON_COMPACT);
		ck_assert_uint_eq(line.used_bytes, strlen(wanted) - 1);
		ck_assert_mem_eq(line.text, wanted, line.used_bytes);
		line.used_bytes = 0;
		free(wanted);
		json_decref(object);
	}
	json_line_free(&line);
}
END_TEST

START_TEST(fills_bars)
{
	char bar[11];

	ck_assert_str_eq(text_bar(0, 10, 10, bar), "");
	ck_assert_str_eq(text_bar(0.001, 10, 10, bar), "#");
	ck_assert_str_eq(text_bar(5, 10, 10, bar), "#####");
	ck_assert_str_eq(text_bar(11, 10, 10, bar), "##########");
	ck_assert_str_eq(text_bar(1, 0, 10, bar), "");
}
END_TEST

static const char *cell(size_t row, unsigned int column, char *buf,
			const void *priv)
{
	const char *const (*rows)[3] = priv;

	strcpy(buf, rows[row][column]);
	return buf;
}

START_TEST(aligns_tables)
{
	static const struct table_column columns[] = {
		{ .title = "n" }, { .title = "what", .left = true },
		{ .title = "path", .left = true },
	};
	static const char *const rows[][3] = {
		{ "1,000", "x", "/a" },
		{ "2", "longer", "/a/very/long" },
	};
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	table_print(out, columns, 3, 2, cell, rows);
	fclose(out);
	ck_assert_str_eq(text,
			 "      n  what    path\n"
			 "  1,000  x       /a\n"
			 "      2  longer  /a/very/long\n");
	free(text);
}
END_TEST

#define KANJI "\xe6\xbc\xa2\xe5\xad\x97"

static const char *narrow_cell(size_t row, unsigned int column,
			       char buf[TABLE_CELL], const void *priv)
{
	static const char *const rows[][3] = {
		{ "1", "22", "/srv/mail/anybody/of/these/people/new" },
		{ "333", "4",
		  "/\\x1b\\x5b31m\\x1b/" KANJI KANJI "/\\xff\\xff" },
	};

	(void)buf;
	(void)priv;
	return rows[row][column];
}

/* Returns the table that is printed on a terminal with @columns columns. */
static const char *narrow(const char *columns)
{
	static const struct table_column titles[] = {
		{ .title = "a" }, { .title = "much", .drop = 1 },
		{ .title = "path", .left = true, .cut = true },
	};
	static char text[1000];
	int old = dup(STDOUT_FILENO);
	FILE *file = tmpfile();
	size_t n;

	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	if (columns)
		setenv("COLUMNS", columns, 1);
	else
		unsetenv("COLUMNS");
	table_print(stdout, titles, 3, 2, narrow_cell, NULL);
	fflush(stdout);
	dup2(old, STDOUT_FILENO);
	close(old);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	unsetenv("COLUMNS");
	return text;
}

/*
 * If the terminal is too narrow, columns are dropped first, and then the start
 * of each path is cut.  Escapes and characters are never cut.
 */
START_TEST(narrows_tables)
{
	const char *all =
		"    a  much  path\n"
		"    1    22  /srv/mail/anybody/of/these/people/new\n"
		"  333     4  /\\x1b\\x5b31m\\x1b/" KANJI KANJI "/\\xff\\xff\n";

	ck_assert_str_eq(narrow(NULL), all);
	ck_assert_str_eq(narrow("200"), all);
	ck_assert_str_eq(narrow("33"),
			 "    a  much  path\n"
			 "    1    22  .../these/people/new\n"
			 "  333     4  ..." KANJI KANJI "/\\xff\\xff\n");
	ck_assert_str_eq(narrow("32"),
			 "    a  path\n"
			 "    1  ...dy/of/these/people/new\n"
			 "  333  ...\\x1b/" KANJI KANJI "/\\xff\\xff\n");
	ck_assert_str_eq(narrow("30"),
			 "    a  path\n"
			 "    1  .../of/these/people/new\n"
			 "  333  .../" KANJI KANJI "/\\xff\\xff\n");
	ck_assert_str_eq(narrow("1"),
			 "    a  path\n"
			 "    1  .../these/people/new\n"
			 "  333  ..." KANJI KANJI "/\\xff\\xff\n");
}
END_TEST

/* ---------------------------------------------------------------- progress */

/*
 * Calls of pace_wait() at a rate of 1000 bytes per second: the bytes of each
 * call, the time of the call, and the expected wait in seconds.  The wait has
 * passed before the next call.
 */
static const struct {
	uint64_t bytes;
	double now, wait;
} paces[] = {
	/* idle time shortens the next wait by 0.5 s at most */
	{ 100, 1000, -0.4 },
	{ 400, 1000, 0 },
	{ 500, 1000, 0.5 },
	{ 0, 1000.25, 0.25 },
	{ 1000, 1000.5, 1 },
	{ 1000, 1001.75, 0.75 },	/* the write took 0.25 s */
	{ 1000, 1060, 0.5 },	/* an idle minute shortens the wait by 0.5 s */
	{ 1000, 1060.5, 1 },
	{ 0, 5000, -0.5 },
	{ 3000, 5000, 2.5 },
};

START_TEST(keeps_a_pace)
{
	struct pace p = { 0 };
	size_t i;

	for (i = 0; i < COUNT(paces); i++)
		ck_assert_double_eq_tol(pace_wait(&p, paces[i].bytes, 1000,
						  paces[i].now),
					paces[i].wait, 1e-6);
}
END_TEST

START_TEST(draws_progress)
{
	char buf[PROGRESS_LEN];
	unsigned int width;

	ck_assert_str_eq(progress_text("scanning", 1, 4, 2 << 20, 2, 79, buf),
			 "scanning [######                  ]  25 %  "
			 "1 MiB/s  0:06 left");
	/* without a duration, no rate is shown */
	ck_assert_str_eq(progress_text("scanning", 4, 4, 1ULL << 40, 0.08, 79,
				       buf),
			 "scanning [########################] 100 %  "
			 "0:00 left");
	ck_assert_str_eq(progress_text("scanning", 1, 4, 2 << 20, 2, 45, buf),
			 "scanning [##      ]  25 %  1 MiB/s  0:06 left");
	ck_assert_str_eq(progress_text("scanning", 1, 4, 2 << 20, 2, 30, buf),
			 "scanning  25 %  0:06 left");
	ck_assert_str_eq(progress_text("scanning", 1, 4, 2 << 20, 2, 20, buf),
			 "scanning  25 %");
	/* the total is 0, or smaller than the finished part */
	progress_text("scanning", 0, 0, 0, 0, 79, buf);
	for (width = 1; width < 200; width++) {
		progress_text("a name that is much too long", 5, 4, UINT64_MAX,
			      1e9, width, buf);
		ck_assert_uint_le(strlen(buf), width);
		ck_assert_uint_lt(strlen(buf), PROGRESS_LEN);
		progress_text("x", 1, UINT64_MAX, UINT64_MAX, 1e9, width, buf);
		ck_assert_uint_le(strlen(buf), width);
	}
	ck_assert_ptr_nonnull(strstr(progress_text("x", 0, 9, 0, 1, 79, buf),
				     "--:--"));
	ck_assert_ptr_nonnull(strstr(progress_text("x", 1, UINT64_MAX, 0, 1, 79,
						   buf), "--:--"));
}
END_TEST

/* --------------------------------------------------------------- interrupt */

START_TEST(interrupts)
{
	struct e4l e = { 0 };
	struct interrupt in;
	sigset_t now, before;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	ck_assert_int_eq(interrupt_start(&in, &e), 0);
	ck_assert(!atomic_load(&e.interrupted));
	kill(getpid(), SIGINT);
	/* the test's timeout ends an endless loop */
	while (!atomic_load(&e.interrupted))
		usleep(1000);
	interrupt_stop(&in);
	interrupt_stop(&in);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	ck_assert_int_eq(sigismember(&now, SIGINT),
			 sigismember(&before, SIGINT));
}
END_TEST

START_TEST(hears_signals)
{
	struct interrupt in = { .active = false };

	ck_assert(!interrupt_heard(&in));
	ck_assert_int_eq(interrupt_start(&in, NULL), 0);
	ck_assert(!interrupt_heard(&in));
	kill(getpid(), SIGTERM);
	while (!interrupt_heard(&in))
		usleep(1000);
	interrupt_stop(&in);
	ck_assert(interrupt_heard(&in));
}
END_TEST

/*
 * The test runs on one processor, so that the thread gets the signal only when
 * the thread is told to end.
 */
START_TEST(hears_late_signals)
{
	struct interrupt in = { .active = false };
	cpu_set_t all, one;
	unsigned int i;

	ck_assert(!sched_getaffinity(0, sizeof(all), &all));
	for (i = 0; !CPU_ISSET(i, &all); i++)
		;
	CPU_ZERO(&one);
	CPU_SET(i, &one);
	ck_assert(!sched_setaffinity(0, sizeof(one), &one));
	for (i = 0; i < 200; i++) {
		ck_assert_int_eq(interrupt_start(&in, NULL), 0);
		kill(getpid(), SIGTERM);
		interrupt_stop(&in);
		ck_assert(interrupt_heard(&in));
	}
}
END_TEST

/* The second signal kills the process. */
START_TEST(dies_when_asked_twice)
{
	struct e4l e = { 0 };
	struct interrupt in;

	ck_assert_int_eq(interrupt_start(&in, &e), 0);
	kill(getpid(), SIGTERM);
	while (!atomic_load(&e.interrupted))
		usleep(1000);
	kill(getpid(), SIGTERM);
	pause();
}
END_TEST

/* -------------------------------------------------------------------- args */

struct config {
	struct args_common common;
	bool flag;
	uint64_t count, size;
	struct units_share share;
	unsigned int choice, set;
	const char *text;
	struct args_texts texts;
	const char *taken;
	char letters[8];
};

static bool take(void *config, char *value)
{
	struct config *c = config;

	c->taken = value;
	c->common.no_memory = !strcmp(value, "much");
	return !c->common.no_memory && strcmp(value, "bad");
}

static bool take_letter(void *config, int letter, char *value)
{
	struct config *c = config;
	size_t n = strlen(c->letters);

	c->letters[n] = letter;
	if (value)
		c->taken = value;
	return letter != 'z';
}

static const char *const off[] = { "off", NULL };
static const char *const choices[] = { "red", "green", NULL };
static const struct args_option options[] = {
	{ .name = "flag", .letter = 'f', .kind = ARGS_FLAG, .help = "",
	  .offset = offsetof(struct config, flag) },
	{ .name = "count", .letter = 'n', .kind = ARGS_COUNT, .value = "N",
	  .offset = offsetof(struct config, count), .help = "", .min = 1,
	  .max = 10 },
	{ .name = "size", .kind = ARGS_SIZE, .value = "SIZE", .help = "",
	  .offset = offsetof(struct config, size), .max = 1 << 20,
	  .choices = off },
	{ .name = "share", .kind = ARGS_SHARE, .value = "SIZE", .help = "",
	  .offset = offsetof(struct config, share), .max = 1 << 20 },
	{ .name = "choice", .kind = ARGS_CHOICE, .value = "COLOUR",
	  .offset = offsetof(struct config, choice), .choices = choices,
	  .help = "" },
	{ .name = "text", .letter = 't', .kind = ARGS_TEXT, .value = "TEXT",
	  .offset = offsetof(struct config, text), .help = "" },
	{ .name = "set", .kind = ARGS_SET, .value = "COLOUR,...",
	  .offset = offsetof(struct config, set), .choices = choices,
	  .help = "" },
	{ .name = "each", .kind = ARGS_TEXTS, .value = "TEXT",
	  .offset = offsetof(struct config, texts), .help = "" },
	{ .name = "take", .kind = ARGS_TAKE, .take = take, .value = "TEXT",
	  .help = "" },
	{ .name = "partition", .letter = 'p', .kind = ARGS_COUNT, .value = "N",
	  .offset = offsetof(struct config, common.partition), .help = "",
	  .max = 3 },
};
static const struct args_tool tool = {
	.operands = "TARGET [PATH]", .purpose = "Tests.", .options = options,
	.n_options = sizeof(options) / sizeof(*options),
	.min_operands = 1, .max_operands = 2,
	.letters = "k:lz", .take_letter = take_letter,
};

/*
 * Splits @line at spaces and parses the words.  Frees the texts of the previous
 * call.
 */
static int parse(const char *line, struct config *config, int *status)
{
	static char copy[200];
	char *argv[20], *save;
	int argc = 0;

	strcpy(copy, line);
	for (argv[0] = strtok_r(copy, " ", &save); argv[argc];)
		argv[++argc] = strtok_r(NULL, " ", &save);
	free(config->texts.v);
	*config = (struct config) { .count = 5 };
	*status = -1;
	return args_parse(&tool, argc, argv, config, status);
}

START_TEST(parses_options)
{
	struct config c = { 0 };
	int status;

	ck_assert_int_eq(parse("t x", &c, &status), 1);
	ck_assert_uint_eq(c.count, 5);
	ck_assert_uint_eq(c.common.progress, PROGRESS_AUTO);
	ck_assert(!c.flag && !c.common.json && !c.text);

	ck_assert_int_eq(parse("t x --json -fqn 10 --size=1K --choice green "
			       "-t abc y --progress=never", &c, &status), 10);
	ck_assert(c.flag && c.common.json && c.common.quiet);
	ck_assert(!c.common.verbose);
	ck_assert_uint_eq(c.count, 10);
	ck_assert_uint_eq(c.size, 1024);
	ck_assert_uint_eq(c.choice, 1);
	ck_assert_str_eq(c.text, "abc");
	ck_assert_uint_eq(c.common.progress, PROGRESS_NEVER);
	ck_assert_int_eq(parse("t --share=1K x", &c, &status), 2);
	ck_assert_uint_eq(units_share_of(&c.share, 1 << 30), 1024);
	ck_assert_int_eq(parse("t --share=25% x", &c, &status), 2);
	ck_assert_uint_eq(units_share_of(&c.share, 1 << 30), 1 << 28);
	/* operands follow "--" */
	ck_assert_int_eq(parse("t -- -f --json", &c, &status), 2);
	ck_assert(!c.flag && !c.common.json);
	free(c.texts.v);
}
END_TEST

START_TEST(parses_lists)
{
	struct config c = { 0 };
	int status;

	ck_assert_int_eq(parse("t x", &c, &status), 1);
	ck_assert_uint_eq(c.set, 0);
	ck_assert_uint_eq(c.texts.n, 0);
	ck_assert_int_eq(parse("t x --set=green,red --size=off --each=a "
			       "--each b,c", &c, &status), 6);
	ck_assert_uint_eq(c.set, 3);
	ck_assert_uint_eq(c.size, 0);
	ck_assert_uint_eq(c.texts.n, 2);
	ck_assert_str_eq(c.texts.v[0], "a");
	ck_assert_str_eq(c.texts.v[1], "b,c");
	ck_assert_int_eq(parse("t x --set=red --set=green", &c, &status), 3);
	ck_assert_uint_eq(c.set, 2);
	free(c.texts.v);
}
END_TEST

START_TEST(calls_functions)
{
	struct config c = { 0 };
	int status;

	ck_assert_int_eq(parse("t x --take=this", &c, &status), 2);
	ck_assert_str_eq(c.taken, "this");
	ck_assert_int_eq(parse("t x --take=much", &c, &status), -1);
	ck_assert_int_eq(status, 1);
	ck_assert_int_eq(parse("t x -lflk value", &c, &status), 3);
	ck_assert_str_eq(c.letters, "llk");
	ck_assert_str_eq(c.taken, "value");
	ck_assert(c.flag);
	free(c.texts.v);
}
END_TEST

/*
 * An abbreviation of an option that replaces a common option is not ambiguous.
 */
START_TEST(replaces_common_options)
{
	struct config c = { 0 };
	int status;

	ck_assert_int_eq(parse("t x --partition=0 -p 3", &c, &status), 4);
	ck_assert_uint_eq(c.common.partition, 3);
	ck_assert_int_eq(parse("t x --part=2", &c, &status), 2);
	ck_assert_uint_eq(c.common.partition, 2);
	ck_assert_int_eq(parse("t x --partition=4", &c, &status), -1);
	free(c.texts.v);
}
END_TEST

static const char *const wrong[] = {
	"t", "t x y z", "t x --nosuch", "t x -z", "t x -m", "t x -k",
	"t x --take=bad", "t x --take", "t x --json=yes",
	"t x -n", "t x --count", "t x -n 0", "t x -n 11", "t x -n 5x",
	"t x --share=2M",
	"t x --share=101%", "t x --share=x", "t x --size=2M", "t x --size=big", "t x --choice=blue",
	"t x --progress=sometimes", "t x --set=", "t x --set=red,",
	"t x --set=red,blue", "t x --set=redgreen", "t x --set=re",
	"t x --size=of", "t x --size=offer", "t x --count=off",
};

START_TEST(refuses_wrong_options)
{
	struct config c = { 0 };
	int status;

	ck_assert_int_eq(parse(wrong[_i], &c, &status), -1);
	ck_assert_int_eq(status, 2);
	ck_assert_ptr_null(c.texts.v);
}
END_TEST

/* ------------------------------------------------------------------ mounts */

START_TEST(parses_mountinfo)
{
	struct e4l_mount m;
	char plain[] = "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 "
		       "/dev/root rw,errors=continue\n";
	char odd[] = "36 35 8:17 / /a\\040b\\134c\\012 rw - ext4 /dev/x\\0401 "
		     "rw\n";
	char tags[] = "36 35 8:17 / /x rw shared:1 master:2 - ext4 /dev/y rw";
	char none[] = "36 35 0:17 / /x rw - ext4x z";
	char *bad[] = {
		strdup(""), strdup("36 35 8:1 / /x rw"), strdup("1 2 - ext4 x"),
		strdup("36 35 8:1 / /x rw - ext4"),
	};
	size_t i;

	ck_assert(e4l_mount_parse(plain, &m));
	ck_assert(m.dev == makedev(98, 0));
	ck_assert_str_eq(m.root, "/mnt1");
	ck_assert_str_eq(m.point, "/mnt2");
	ck_assert_str_eq(m.type, "ext3");
	ck_assert_str_eq(m.source, "/dev/root");
	ck_assert_str_eq(m.options, "rw,errors=continue");
	ck_assert(e4l_mount_is_ext(&m));
	ck_assert(e4l_mount_parse(odd, &m));
	ck_assert_str_eq(m.point, "/a b\\c\n");
	ck_assert_str_eq(m.source, "/dev/x 1");
	ck_assert(e4l_mount_parse(tags, &m));
	ck_assert_str_eq(m.source, "/dev/y");
	ck_assert(e4l_mount_parse(none, &m));
	ck_assert_ptr_null(m.options);
	ck_assert(!e4l_mount_is_ext(&m));
	for (i = 0; i < 4; i++) {
		ck_assert(!e4l_mount_parse(bad[i], &m));
		free(bad[i]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("support");
	TCase *tc = tcase_create("support");

	tcase_add_loop_test(tc, parses_sizes, 0, COUNT(sizes));
	tcase_add_loop_test(tc, parses_shares, 0, COUNT(shares));
	tcase_add_test(tc, takes_shares_of_any_size);
	tcase_add_test(tc, parses_counts);
	tcase_add_test(tc, prints_sizes_and_counts);
	tcase_add_loop_test(tc, escapes_names, 0, COUNT(names));
	tcase_add_test(tc, escapes_reversibly);
	tcase_add_loop_test(tc, writes_lines, 0, COUNT(names));
	tcase_add_test(tc, writes_names_as_jansson);
	tcase_add_test(tc, fills_bars);
	tcase_add_test(tc, aligns_tables);
	tcase_add_test(tc, narrows_tables);
	tcase_add_test(tc, keeps_a_pace);
	tcase_add_test(tc, draws_progress);
	tcase_add_test(tc, interrupts);
	tcase_add_test(tc, hears_signals);
	tcase_add_test(tc, hears_late_signals);
	tcase_add_test_raise_signal(tc, dies_when_asked_twice, SIGTERM);
	tcase_add_test(tc, parses_options);
	tcase_add_test(tc, parses_lists);
	tcase_add_test(tc, calls_functions);
	tcase_add_test(tc, replaces_common_options);
	tcase_add_loop_test(tc, refuses_wrong_options, 0, COUNT(wrong));
	tcase_add_test(tc, parses_mountinfo);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}

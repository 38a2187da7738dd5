/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads lines from a terminal, with completion of requests and paths by
 * readline.
 */
#include "config.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_READLINE
#include <readline/history.h>
#include <readline/readline.h>
#endif
#include "e4debug.h"

#define PROMPT "e4debug: "

#ifdef HAVE_READLINE

/* readline passes no pointer to its callbacks. */
static struct shell *completing;

/* The possible completions of a word. */
struct candidates {
	const char *word;	/* the typed start of a name */
	size_t len;
	/* the directory part of the typed word, or "" */
	const char *before;
	char **v;		/* the candidates, NULL-terminated */
	size_t n;
	bool failed;
};

/* Adds a candidate, which readline frees. */
static void add(struct candidates *c, const char *name, size_t len,
		const char *after)
{
	char **grown;

	if (c->failed || len < c->len || memcmp(name, c->word, c->len))
		return;
	grown = reallocarray(c->v, c->n + 2, sizeof(*grown));
	if (!grown) {
		c->failed = true;
		return;
	}
	c->v = grown;
	if (asprintf(&c->v[c->n], "%s%.*s%s", c->before, (int)len, name,
		     after) < 0) {
		c->v[c->n] = NULL;
		c->failed = true;
		return;
	}
	c->v[++c->n] = NULL;
}

static int add_entry(ext2_ino_t dir, int entry, struct ext2_dir_entry *de,
		     int offset, int blocksize, char *buf, void *priv)
{
	struct candidates *c = priv;
	bool is_dir = ext2fs_dirent_file_type(de) == EXT2_FT_DIR;

	if (entry == DIRENT_OTHER_FILE)
		add(c, de->name, ext2fs_dirent_name_len(de),
		    is_dir ? "/" : "");
	return c->failed ? DIRENT_ABORT : 0;
}

/* Adds the paths that begin with @text to the candidates @c. */
static void find_paths(const char *text, struct candidates *c)
{
	const struct shell *s = completing;
	const char *slash = strrchr(text, '/');
	size_t len = slash ? slash - text + 1 : 0;
	char *dir = strndup(text, len);
	ext2_ino_t ino = EXT2_ROOT_INO;

	if (dir && s->open &&
	    !ext2fs_namei(s->target.fs, EXT2_ROOT_INO, EXT2_ROOT_INO,
			  len ? dir : "/", &ino)) {
		c->word = text + len;
		c->len = strlen(c->word);
		c->before = dir;
		ext2fs_dir_iterate2(s->target.fs, ino, 0, NULL, add_entry, c);
	}
	free(dir);
}

static void find_requests(const char *text, struct candidates *c)
{
	const ss_request_entry *r;

	c->word = text;
	c->len = strlen(text);
	c->before = "";
	for (r = e4debug_commands.requests; r->command_names; r++)
		add(c, r->command_names[0], strlen(r->command_names[0]), "");
}

/*
 * Returns the longest common prefix and then all candidates, as readline
 * requires.
 */
static char **with_prefix(struct candidates *c)
{
	size_t len, i;
	char **all;

	if (c->n < 2)
		return c->v;
	len = strlen(c->v[0]);
	for (i = 1; i < c->n; i++)
		while (strncmp(c->v[0], c->v[i], len))
			len--;
	all = reallocarray(c->v, c->n + 2, sizeof(*all));
	if (!all)
		return c->v;
	memmove(all + 1, all, (c->n + 1) * sizeof(*all));
	all[0] = strndup(all[1], len);
	return all;
}

/* Completes the first word as a request, and other words as paths. */
static char **complete(const char *text, int start, int end)
{
	struct candidates c = { 0 };

	rl_attempted_completion_over = 1;
	if (start == (int)strspn(rl_line_buffer, " \t")) {
		find_requests(text, &c);
	} else {
		find_paths(text, &c);
		rl_filename_completion_desired = 1;
		if (c.n == 1 && c.v[0][strlen(c.v[0]) - 1] == '/') {
			rl_completion_append_character = '\0';
			rl_completion_suppress_quote = 1;
		}
	}
	return with_prefix(&c);
}

/*
 * Prevents readline from calling stat(2), because the paths are not paths of
 * the host.
 */
static int no_stat(char **name)
{
	**name = '\0';
	return 1;
}

/* While a line is edited, Ctrl-C is a key that clears the line. */
static void prepare_terminal(int meta)
{
	struct termios t;

	rl_prep_terminal(meta);
	if (tcgetattr(STDIN_FILENO, &t))
		return;
	t.c_cc[VINTR] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
}

static int clear_line(int count, int key)
{
	rl_crlf();
	rl_replace_line("", 1);
	rl_on_new_line();
	rl_redisplay();
	return 0;
}

static void start(struct shell *s)
{
	completing = s;
	rl_readline_name = "e4debug";
	rl_attempted_completion_function = complete;
	rl_completer_word_break_characters = " \t";
	rl_completer_quote_characters = "\"";
	rl_filename_quote_characters = " \t\"";
	rl_filename_stat_hook = no_stat;
	rl_prep_term_function = prepare_terminal;
	rl_bind_key('C' - '@', clear_line);
}

static char *next_line(void)
{
	char *line = readline(PROMPT);

	if (line && *line)
		add_history(line);
	return line;
}

#else

static void start(struct shell *s)
{
}

static char *next_line(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	fputs(PROMPT, stdout);
	fflush(stdout);
	len = getline(&line, &room, stdin);
	if (len < 0) {
		free(line);
		return NULL;
	}
	if (len && line[len - 1] == '\n')
		line[len - 1] = '\0';
	return line;
}

#endif

/* Drops signals that arrived after the last request ended. */
static void drop_signals(const sigset_t *signals)
{
	const struct timespec now = { 0 };

	while (sigtimedwait(signals, NULL, &now) > 0)
		;
}

void shell_listen(struct shell *s)
{
	sigset_t signals, before;
	char *line;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	start(s);
	while (!s->quit && (line = next_line())) {
		drop_signals(&signals);
		shell_do(s, line);
		free(line);
	}
	if (!s->quit)
		putchar('\n');
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * See tool_run.h. Each run is a child, because a tool keeps state (options, the
 * first error) for its lifetime.
 */
#include "tool_run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 32 };

static void keep(FILE *file, char *text, size_t size)
{
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static void be_the_tool(const struct tool *tool, char *line)
{
    char *words[WORDS_MAX + 1] = {line};
    int count = 1;
    words[0] = strtok(line, " ");
    while (count < WORDS_MAX && (words[count] = strtok(NULL, " ")))
        count++;
    int status = tool_main(tool, count, words);
    fflush(stdout);
    _exit(status);
}

struct tool_result tool_run(const struct tool *tool, const char *line)
{
    struct tool_result result;
    char words[512];
    FILE *out = tmpfile(), *err = tmpfile();
    snprintf(words, sizeof words, "%s %s", tool->name, line);
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        be_the_tool(tool, words);
    }
    int state;
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert_msg(WIFEXITED(state), "\"%s\" died", line);
    result.status = WEXITSTATUS(state);
    keep(out, result.out, sizeof result.out);
    keep(err, result.err, sizeof result.err);
    return result;
}

void tool_expect(const struct tool *tool, const char *line, int status,
                 const char *out, const char *err)
{
    struct tool_result r = tool_run(tool, line);
    ck_assert_msg(r.status == status, "\"%s\" ended with %d: %s", line,
                  r.status, r.err);
    ck_assert_msg(strstr(r.out, out) != NULL, "\"%s\": %s", line, r.out);
    ck_assert_msg(strstr(r.err, err) != NULL, "\"%s\" said: %s", line, r.err);
}

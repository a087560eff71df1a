/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See inputs.h. A file is the value of an option that takes one, or an operand
 * after that names a file that exists.
 */
#include "inputs.h"

#include "ringctl/shell/script.h"

#include <base/file.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUTS_MAX = 64, SCRIPT_BYTES_MAX = 1 << 20 };

/* ---- reading ---- */

/* Calls `each` for every command of the file. */
typedef enum gw_err each_command(void *context,
                                 const struct script_command *command,
                                 struct gw_error *why);

static enum gw_err walk_text(const char *text, const char *name,
                             each_command *each, void *context,
                             struct gw_error *why)
{
    struct script script = {.text = text, .line = 1};
    struct script_command command;
    enum script_next next;
    enum gw_err err = GW_OK;
    while (!err && (next = script_next(&script, &command)) != SCRIPT_END) {
        if (next != SCRIPT_COMMAND)
            return gw_fail(why, GW_EDATA, "%.200s:%u: unterminated quote", name,
                           command.line);
        if (each(context, &command, why))
            err = gw_wrap(why, why->code, "%.200s:%u", name, command.line);
        script_command_fini(&command);
    }
    return err;
}

static enum gw_err walk(const char *path, each_command *each, void *context,
                        struct gw_error *why)
{
    FILE *file = gw__file_stream(path, why);
    char *text = file ? calloc(1, SCRIPT_BYTES_MAX) : NULL;
    enum gw_err err = GW_OK;
    if (!file)
        return why->code;
    if (!text)
        err = gw_fail(why, GW_ENOMEM, "%s", path);
    else if (fread(text, 1, SCRIPT_BYTES_MAX - 1, file) == SCRIPT_BYTES_MAX - 1)
        err = gw_fail(why, GW_EDATA, "%s is too long", path);
    fclose(file);
    const char *name = strrchr(path, '/');
    if (!err)
        err = walk_text(text, name ? name + 1 : path, each, context, why);
    free(text);
    return err;
}

/* ---- which words name files ---- */

/* The value of "--topo=FILE"; else NULL. `names` ends with NULL. */
static const char *value_of(const char *word, const char *const *names)
{
    for (; *names; names++) {
        size_t length = strlen(*names);
        if (strncmp(word, *names, length) == 0 && word[length] == '=')
            return word + length + 1;
    }
    return NULL;
}

static bool is_one_of(const char *word, const char *const *names)
{
    while (*names && strcmp(word, *names) != 0)
        names++;
    return *names != NULL;
}

static const char *const file_options[] = {
    "--topo", "--test", "-t", "--faults", "--algo", "-a", "--weights", NULL};

/* Operands after these may be files; those after a model are. */
static int first_operand(const struct script_command *c)
{
    if (strcmp(c->words[0], "topo") == 0)
        return 1;
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->words[i], "train") == 0)
            return i + 2;
    return c->count;
}

/* The possible name of a file in word i, or NULL. */
static const char *file_in(const struct script_command *c, int i)
{
    const char *word = c->words[i];
    if (*word == '-')
        return value_of(word, file_options);
    if (i > 0 && *c->words[i - 1] == '-')
        return is_one_of(c->words[i - 1], file_options) ? word : NULL;
    return i >= first_operand(c) ? word : NULL;
}

static bool find_file(const char *name, char out[PATH_MAX])
{
    char path[PATH_MAX];
    struct stat info;
    const char *data = getenv("GRADWIRE_DATA");
    bool found = realpath(name, out) != NULL;
    if (!found && data && *data && *name != '/' &&
        snprintf(path, sizeof path, "%.4000s/%s", data, name) < PATH_MAX)
        found = realpath(path, out) != NULL;
    return found && stat(out, &info) == 0 && S_ISREG(info.st_mode);
}

/* ---- collecting ---- */

struct collection {
    const char *directory;
    FILE *commands;
    unsigned count;
    char *targets[INPUTS_MAX]; /* full paths */
};

/* "inputs/0-heart_scale": the number makes it unique. */
static void name_input(unsigned number, const char *target, char out[NAME_MAX])
{
    const char *last = strrchr(target, '/') + 1;
    snprintf(out, NAME_MAX, "inputs/%u-%.100s", number, last);
    for (char *c = strchr(out, '/') + 1; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            *c = '_';
}

static enum gw_err link_input(struct collection *to, const char *target,
                              char name[NAME_MAX], struct gw_error *why)
{
    char path[PATH_MAX];
    unsigned i = 0;
    while (i < to->count && strcmp(to->targets[i], target) != 0)
        i++;
    if (i == INPUTS_MAX)
        return gw_fail(why, GW_EDATA, "it has more than %d inputs", INPUTS_MAX);
    name_input(i, target, name);
    if (i < to->count)
        return GW_OK;
    snprintf(path, sizeof path, "%.4000s/inputs", to->directory);
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return gw_fail_errno(why, "%s", path);
    snprintf(path, sizeof path, "%.3800s/%s", to->directory, name);
    to->targets[i] = strdup(target);
    if (!to->targets[i] || symlink(target, path) != 0)
        return gw_fail_errno(why, "%s", path);
    to->count++;
    return GW_OK;
}

static enum gw_err print_word(struct collection *to, const char *word,
                              struct gw_error *why)
{
    char *quoted = malloc(4 * strlen(word) + 3);
    if (!quoted)
        return gw_fail(why, GW_ENOMEM, "the commands");
    script_quote(word, quoted);
    fprintf(to->commands, "%s", quoted);
    free(quoted);
    return GW_OK;
}

static enum gw_err copy_word(struct collection *to,
                             const struct script_command *command, int i,
                             struct gw_error *why)
{
    char target[PATH_MAX], name[NAME_MAX], word[2 * NAME_MAX];
    const char *typed = command->words[i], *file = file_in(command, i);
    bool found = file && find_file(file, target);
    if (file && !found)
        fprintf(stderr, "ringctl: %s: no such file; it is not in the archive\n",
                file);
    if (!found)
        return print_word(to, typed, why);
    if (link_input(to, target, name, why))
        return why->code;
    snprintf(word, sizeof word, "%.*s%s", (int)(file - typed), typed, name);
    return print_word(to, word, why);
}

static enum gw_err copy_command(void *context,
                                const struct script_command *command,
                                struct gw_error *why)
{
    struct collection *to = context;
    enum gw_err err = GW_OK;
    for (int i = 0; i < command->count && !err; i++) {
        if (i > 0)
            putc(' ', to->commands);
        err = copy_word(to, command, i, why);
    }
    putc('\n', to->commands);
    return err;
}

enum gw_err inputs_collect(const char *from, const char *directory,
                           struct gw_error *why)
{
    char path[PATH_MAX];
    struct collection to = {.directory = directory};
    snprintf(path, sizeof path, "%.4000s/commands", directory);
    to.commands = fopen(path, "we");
    if (!to.commands)
        return gw_fail_errno(why, "%s", path);
    enum gw_err err = walk(from, copy_command, &to, why);
    bool failed = ferror(to.commands) != 0;
    if ((fclose(to.commands) != 0 || failed) && !err)
        err = gw_fail_errno(why, "%s", path);
    for (unsigned i = 0; i < to.count; i++)
        free(to.targets[i]);
    return err;
}

/* ---- checking ---- */

static const char *const allowed[] = {
    "up",     "kill",  "stop",  "pause", "resume", "restart", "drain",
    "add",    "slow",  "link",  "cut",   "heal",   "topo",    "order",
    "pace",   "disk",  "drift", "wait",  "expect", "train",   "mode",
    "record", "chaos", "down",  NULL};
static const char *const plugin_options[] = {"--suspicion", "--placement",
                                             NULL};
/* Lists of names, plans and plug-ins. */
static const char *const algo_options[] = {"--algo", "-a", NULL};

static bool leads_out(const char *path)
{
    if (*path == '/')
        return true;
    for (; *path; path += *path == '/') {
        size_t length = strcspn(path, "/");
        if (length == 2 && strncmp(path, "..", 2) == 0)
            return true;
        path += length;
    }
    return false;
}

static bool is_plugin(const char *value)
{
    return value && strcmp(value, "count") != 0 && strcmp(value, "load") != 0;
}

/* The value of the option in word i; NULL: another word. */
static const char *value_in(const struct script_command *c, int i,
                            const char *const *options)
{
    return is_one_of(c->words[i], options) && i + 1 < c->count
               ? c->words[i + 1]
               : value_of(c->words[i], options);
}

static enum gw_err check_word(const struct script_command *c, int i,
                              struct gw_error *why)
{
    const char *word = c->words[i], *equals = strchr(word, '=');
    const char *value = value_in(c, i, plugin_options);
    const char *algos = value_in(c, i, algo_options);
    if (algos && strstr(algos, ".so"))
        value = algos;
    if (is_plugin(value))
        return gw_fail(why, GW_EDATA,
                       "plug-ins are not loaded from an archive: %.100s",
                       value);
    if (leads_out(word) || (equals && leads_out(equals + 1)) ||
        (*word == '-' && !equals && strchr(word, '/')))
        return gw_fail(why, GW_EDATA,
                       "%.100s is outside of the archive; a relative name "
                       "without \"..\" is possible",
                       word);
    return GW_OK;
}

static enum gw_err check_command(void *context,
                                 const struct script_command *command,
                                 struct gw_error *why)
{
    const char *verb = command->words[0];
    enum gw_err err = GW_OK;
    (void)context;
    if (!is_one_of(verb, allowed) ||
        (strcmp(verb, "record") == 0 && command->count > 1 &&
         strcmp(command->words[1], "off") != 0))
        return gw_fail(why, GW_EDATA, "%.40s is not a command of an experiment",
                       verb);
    for (int i = 1; i < command->count && !err; i++)
        err = check_word(command, i, why);
    return err;
}

enum gw_err inputs_check(const char *file, struct gw_error *why)
{
    return walk(file, check_command, NULL, why);
}

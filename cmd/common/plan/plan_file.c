/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plan files as algorithms; see plan_file.h. An algorithm's functions have no
 * context, so each file has functions of its own. They parse the text again for
 * their number of ranks, since they may run in several threads.
 */
#include "plan_file.h"

#include "plan_algo.h"
#include "plan_plugin.h"

#include <base/source.h>
#include <plan/formats/formats.h>
#include <plan/stream.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 8, RANKS_TRIED = 64 };

/* Kept until the process ends. */
static struct plan_text {
    char *path; /* as on the command line; NULL: free */
    char *text;
    size_t bytes;
    unsigned ranks; /* 0: any number */
    char name[sizeof((struct gw_plan *)0)->algo];
    struct gw_algo algo;
} files[FILES_MAX];

/* ---- the algorithms ---- */

static enum gw_err parse_file(const struct plan_text *file, unsigned ranks,
                              struct gw_plan **plan, struct gw_error *why)
{
    return gw_plan_parse(file->text, file->bytes, file->path, ranks, plan, why);
}

static bool supports(const struct plan_text *file, unsigned ranks)
{
    return ranks > 0 && (file->ranks == 0 || file->ranks == ranks);
}

/* 0: there is no plan, and gw_plan_make refuses it. */
static unsigned count_chunks(const struct plan_text *file, unsigned ranks)
{
    struct gw_plan *plan;
    if (parse_file(file, ranks, &plan, NULL))
        return 0;
    unsigned chunks = plan->chunks;
    gw_plan_destroy(&plan);
    return chunks;
}

static void emit_plan(const struct plan_text *file, struct gw_builder *b,
                      unsigned ranks)
{
    struct gw_plan *plan;
    if (parse_file(file, ranks, &plan, NULL))
        return;
    gw_builder_ports(b, plan->ports);
    gw__builder_conditions(b, plan);
    for (unsigned step = 0; step < plan->steps; step++) {
        gw_builder_step(b);
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++)
            gw_builder_transfer(b, &plan->transfers[i]);
    }
    gw_plan_destroy(&plan);
}

#define EACH_FILE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

#define FUNCTIONS(i)                                                           \
    static bool valid_##i(unsigned ranks)                                      \
    {                                                                          \
        return supports(&files[i], ranks);                                     \
    }                                                                          \
    static unsigned chunks_##i(const struct gw_algo_args *args)                \
    {                                                                          \
        return count_chunks(&files[i], args->ranks);                           \
    }                                                                          \
    static void emit_##i(struct gw_builder *b,                                 \
                         const struct gw_algo_args *args)                      \
    {                                                                          \
        emit_plan(&files[i], b, args->ranks);                                  \
    }
EACH_FILE(FUNCTIONS)

#define FILE_OF(i)                                                             \
    {.algo = {.valid = valid_##i, .chunks = chunks_##i, .emit = emit_##i}},
static struct plan_text files[FILES_MAX] = {EACH_FILE(FILE_OF)};

/* ---- reading ---- */

static enum gw_err read_text(struct plan_text *file, const char *path,
                             struct gw_error *why)
{
    struct gw_plan *plan;
    enum gw_err err = gw__text_load(path, GW__FORMAT_BYTES_MAX, &file->text,
                                    &file->bytes, why);
    if (err)
        return err;
    file->path = strdup(path);
    if (!file->path) {
        free(file->text);
        return gw_fail(why, GW_ENOMEM, "%.200s", path);
    }
    if (parse_file(file, 0, &plan, NULL) == GW_OK) {
        file->ranks = plan->ranks;
        gw_plan_destroy(&plan);
    }
    return GW_OK;
}

/* A file is read once: it may be a pipe. */
static struct plan_text *text_of(const char *path, struct gw_error *why)
{
    unsigned i = 0;
    while (i < FILES_MAX && files[i].path && strcmp(files[i].path, path) != 0)
        i++;
    if (i == FILES_MAX) {
        gw_fail(why, GW_EINVAL, "%.200s: too many plan files; use at most %d",
                path, FILES_MAX);
        return NULL;
    }
    return files[i].path || read_text(&files[i], path, why) == GW_OK ? &files[i]
                                                                     : NULL;
}

bool plan_names_file(const char *algo)
{
    return strpbrk(algo, "./") && !plan_names_plugin(algo);
}

unsigned plan_file_ranks(const char *path)
{
    const struct plan_text *file = text_of(path, NULL);
    return file ? file->ranks : 0;
}

/* ---- by name ---- */

/* "labs/plans/ring-allreduce.plan" is ring_allreduce. "_plan", "_plan2" and so
 * on are appended to a name that exists. */
static void name_of(const char *path, enum gw_collective collective,
                    char name[sizeof files->name])
{
    enum { SUFFIX = 10 };
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    int length = (int)strcspn(base, "."), room = (int)sizeof files->name;
    length = length < room - SUFFIX ? length : room - SUFFIX;
    snprintf(name, sizeof files->name, "%.*s", length, length ? base : "plan");
    for (char *at = name; *at; at++)
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at)
                                          : '_';
    length = (int)strlen(name);
    for (unsigned n = 1; gw_algo_find(collective, name) && n <= FILES_MAX; n++)
        snprintf(name + length, SUFFIX, n == 1 ? "_plan" : "_plan%u", n);
}

static enum gw_err add_algo(struct plan_text *file,
                            enum gw_collective collective, struct gw_error *why)
{
    name_of(file->path, collective, file->name);
    file->algo.collective = collective;
    file->algo.name = file->name;
    enum gw_err err = gw_algo_add(&file->algo, why);
    if (err)
        file->algo.name = NULL;
    return err;
}

/* The plan for its own number of ranks, or for the first one that it has. */
static enum gw_err parse_any(const struct plan_text *file,
                             struct gw_plan **plan, struct gw_error *why)
{
    unsigned first = file->ranks ? file->ranks : PLAN_RANKS_DEFAULT;
    enum gw_err err = parse_file(file, first, plan, why);
    for (unsigned ranks = 2; err && !file->ranks && ranks <= RANKS_TRIED;
         ranks++)
        if (parse_file(file, ranks, plan, NULL) == GW_OK)
            err = GW_OK;
    return err;
}

enum gw_err plan_file(const char *path, unsigned ranks,
                      const struct gw_algo **algo, struct gw_error *why)
{
    struct gw_plan *plan;
    struct plan_text *file = text_of(path, why);
    if (!file)
        return why ? why->code : GW_EDATA;
    enum gw_err err = ranks ? parse_file(file, ranks, &plan, why)
                            : parse_any(file, &plan, why);
    if (!err && !file->algo.name)
        err = add_algo(file, plan->collective, why);
    gw_plan_destroy(&plan);
    *algo = &file->algo;
    return err;
}

static const struct plan_text *file_of(const struct gw_algo *algo)
{
    for (unsigned i = 0; i < FILES_MAX; i++)
        if (&files[i].algo == algo)
            return &files[i];
    return NULL;
}

const char *plan_file_path(const struct gw_algo *algo)
{
    const struct plan_text *file = file_of(algo);
    return file ? file->path : NULL;
}

enum gw_err plan_file_make(const struct gw_algo *algo, unsigned ranks,
                           struct gw_plan **plan, struct gw_error *why)
{
    return parse_file(file_of(algo), ranks, plan, why);
}

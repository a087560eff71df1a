/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plan files as algorithms; see plan_file.h. An algorithm's functions have no
 * context, so the plan that they return is the one in `file`.
 */
#include "plan_file.h"

#include "plan_plugin.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static struct {
    struct gw_plan *plan; /* kept until the process ends */
    char name[sizeof((struct gw_plan *)0)->algo];
    struct gw_algo algo;
} file;

bool plan_names_file(const char *algo)
{
    return strpbrk(algo, "./") && !plan_names_plugin(algo);
}

unsigned plan_file_ranks(const char *path)
{
    struct gw_plan *plan;
    if (gw_plan_load(path, 0, &plan, NULL))
        return 0;
    unsigned ranks = plan->ranks;
    gw_plan_destroy(&plan);
    return ranks;
}

/* ---- the algorithm ---- */

static bool valid(unsigned ranks)
{
    return ranks == file.plan->ranks;
}

static unsigned chunks(const struct gw_algo_args *args)
{
    (void)args;
    return file.plan->chunks;
}

static void emit(struct gw_builder *b, const struct gw_algo_args *args)
{
    const struct gw_plan *plan = file.plan;
    (void)args;
    gw_builder_ports(b, plan->ports);
    for (unsigned step = 0; step < plan->steps; step++) {
        gw_builder_step(b);
        for (size_t i = plan->step_begin[step]; i < plan->step_begin[step + 1];
             i++) {
            const struct gw_transfer *t = &plan->transfers[i];
            gw_builder_add(b, t->src, t->dst, t->chunk,
                           (enum gw_action)t->action);
        }
    }
}

/* ---- its name ---- */

/* "labs/plans/ring-allreduce.plan" is ring_allreduce. "_plan" is appended to a
 * name that exists. */
static void name_of(const char *path, enum gw_collective collective,
                    char name[sizeof file.name])
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t length = strcspn(base, "."), room = sizeof file.name - 6;
    length = length < room ? length : room;
    snprintf(name, sizeof file.name, "%.*s", (int)length, base);
    for (char *at = name; *at; at++)
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at)
                                          : '_';
    if (!*name || gw_algo_find(collective, name))
        strncat(name, *name ? "_plan" : "plan", 6);
}

static enum gw_err verify(const char *path, const struct gw_plan *plan,
                          struct gw_error *why)
{
    struct gw_verdict verdict = {.fault = GW_FAULT_NONE};
    enum gw_err err = gw_plan_verify(plan, 0, &verdict, why);
    if (verdict.fault != GW_FAULT_NONE)
        gw_fail(why, err, "%.100s: %s", path, verdict.sentence);
    return err;
}

enum gw_err plan_file(const char *path, unsigned ranks,
                      const struct gw_algo **algo, unsigned *root,
                      struct gw_error *why)
{
    struct gw_plan *plan;
    enum gw_err err = gw_plan_load(path, ranks, &plan, why);
    if (err)
        return err;
    err = verify(path, plan, why);
    if (err) {
        gw_plan_destroy(&plan);
        return err;
    }
    file.plan = plan;
    name_of(path, plan->collective, file.name);
    file.algo = (struct gw_algo){.name = file.name,
                                 .collective = plan->collective,
                                 .valid = valid,
                                 .chunks = chunks,
                                 .emit = emit};
    *algo = &file.algo;
    *root = plan->root;
    return gw_algo_add(&file.algo, why);
}

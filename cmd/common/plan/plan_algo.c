/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From the word of --algo to an algorithm, and from an algorithm to a plan; see
 * plan_algo.h.
 */
#include "plan_algo.h"

#include "common/text/suggest.h"
#include "plan_file.h"
#include "plan_plugin.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- by name ---- */

static enum gw_err unknown_algo(enum gw_collective collective, const char *name,
                                struct gw_error *why)
{
    struct suggestion suggestion;
    char hint[96], valid[256] = "";
    size_t count;
    const struct gw_algo *const *list = gw_algo_list(&count);
    suggestion_begin(&suggestion, name);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->collective != collective)
            continue;
        size_t used = strlen(valid);
        suggestion_offer(&suggestion, list[i]->name);
        snprintf(valid + used, sizeof valid - used, "%s%s", used ? ", " : "",
                 list[i]->name);
    }
    return gw_fail(why, GW_EINVAL,
                   "%s: unknown algorithm \"%.60s\"%s; the algorithms are %s",
                   gw_collective_name(collective), name,
                   suggestion_text(&suggestion, hint), valid);
}

/* A file may have a comma in its name. */
static bool is_list(const char *word)
{
    return (strchr(word, ',') && access(word, F_OK)) ||
           strcmp(word, "all") == 0;
}

enum gw_err plan_algo(enum gw_collective collective, const char *word,
                      unsigned ranks, const struct gw_algo **algo,
                      struct gw_error *why)
{
    bool plugin = plan_names_plugin(word), file = plan_names_file(word);
    if (is_list(word))
        return gw_fail(
            why, GW_EINVAL,
            "--algo %.100s: this command takes one algorithm; \"collrun "
            "bench\", \"price\", \"sim\" and \"tune\" compare "
            "several",
            word);
    if (!plugin && !file) {
        *algo = gw_algo_find(collective, word);
        return *algo ? GW_OK : unknown_algo(collective, word, why);
    }
    enum gw_err err = plugin ? plan_plugin(word, algo, why)
                             : plan_file(word, ranks, algo, why);
    if (err || (*algo)->collective == collective)
        return err;
    return gw_fail(why, GW_EINVAL, "%.200s is a %s for %s, not for %s", word,
                   plugin ? "plug-in" : "plan",
                   gw_collective_name((*algo)->collective),
                   gw_collective_name(collective));
}

const char *plan_algo_label(const struct gw_algo *algo)
{
    const char *file = plan_file_path(algo);
    return file ? file : algo->name;
}

const char *plan_algo_word(const struct gw_algo *algo)
{
    const char *plugin = plan_plugin_path(algo);
    return plugin ? plugin : plan_algo_label(algo);
}

bool plan_algo_is_added(const struct gw_algo *algo)
{
    return plan_plugin_path(algo) || plan_file_path(algo);
}

/* ---- plans ---- */

static enum gw_err make_of_file(const struct gw_algo *algo,
                                const struct gw_algo_args *args,
                                struct gw_plan **plan, struct gw_error *why)
{
    const char *path = plan_file_path(algo);
    *plan = NULL;
    if (args->segments || args->group)
        return gw_fail(why, GW_EINVAL,
                       "%.100s defines its own segments and groups; use "
                       "--segments and --group only with other algorithms",
                       path);
    if (plan_file_make(algo, args->ranks, plan, why))
        return why->code;
    unsigned root = (*plan)->root;
    if (args->root == 0 || args->root == root)
        return GW_OK;
    gw_plan_destroy(plan);
    return gw_fail(why, GW_EINVAL, "--root: %.100s has root %u, not %u", path,
                   root, args->root);
}

enum gw_err plan_make(const struct gw_algo *algo,
                      const struct gw_algo_args *args, struct gw_plan **plan,
                      struct gw_error *why)
{
    return plan_file_path(algo)
               ? make_of_file(algo, args, plan, why)
               : gw_plan_make(algo->collective, algo->name, args, plan, why);
}

enum gw_err plan_prove(const struct gw_algo *algo, struct gw_algo_args *args,
                       struct gw_error *why)
{
    struct gw_plan *plan;
    struct gw_verdict verdict = {.fault = GW_FAULT_NONE};
    if (!plan_algo_is_added(algo))
        return GW_OK;
    enum gw_err err = plan_make(algo, args, &plan, why);
    if (err)
        return err;
    assert(plan);
    err = gw_plan_verify(plan, 0, &verdict, why);
    if (verdict.fault != GW_FAULT_NONE)
        gw_fail(why, err, "%.100s, %u ranks: %s", plan_algo_word(algo),
                args->ranks, verdict.sentence);
    args->root = plan->root;
    gw_plan_destroy(&plan);
    return err;
}

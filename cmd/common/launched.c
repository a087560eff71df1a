/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The place of this process in an engine's job, and --explain-env.
 */
#include "launched.h"

#include "output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct launch_options launch_options;

/* The ranks of an engine do not begin at the same time. */
enum { CONNECT_MS = 60000 };

/* ---- --explain-env ---- */

static const struct field fields[] = {
    {"field", NULL, FIELD_TEXT, 0, false},
    {"value", NULL, FIELD_TEXT, 0, false},
    {"source", NULL, FIELD_TEXT, 0, false},
    {"from", NULL, FIELD_TEXT, 0, false},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static void list_sources(const struct gw_launch_env *env, char text[128])
{
    size_t used = 0;
    snprintf(text, 128, "none");
    for (enum gw_launch_env_source s = 1; s < GW_LAUNCH_SOURCE_COUNT; s++)
        if (env->seen & 1U << s)
            used +=
                (size_t)snprintf(text + used, 128 - used, "%s%s",
                                 used ? ", " : "", gw_launch_source_name(s));
}

static const char *mode_of(const struct gw_launch_env *env)
{
    if (!env->source)
        return "--alone: ranks are started here";
    return env->max_size > 0 ? "elastic" : "static";
}

static enum gw_err configure(struct launched *launched, const char **wire,
                             struct gw_error *why);

/* The address at which other ranks would reach this rank, or why it is unknown.
 */
static void explain_interface(struct output *output, struct launched *launched)
{
    struct gw_error why = {.code = GW_OK};
    const char *wire = NULL;
    bool option = launch_options.interface != NULL;
    bool named = option || getenv("GW_INTERFACE");
    bool known =
        !configure(launched, &wire, &why) && launched->config.interface;
    const char *how = named ? "the interface that it names"
                            : "the interface that leads to the rendezvous";
    if (why.code)
        how = why.text;
    else if (!known)
        return;
    output_row(output, (union value[FIELD_COUNT]){
                           {.text = "interface"},
                           {.text = known ? launched->config.interface : NULL},
                           {.text = option  ? "--interface"
                                    : named ? "GW_*"
                                            : "kernel"},
                           {.text = how}});
}

static enum gw_err explain(struct launched *launched, struct gw_error *why)
{
    const struct gw_launch_env *env = &launched->env;
    struct output *output;
    char sources[128];
    enum gw_err err = output_begin("gradwire launch", common.output, fields,
                                   FIELD_COUNT, &output, why);
    if (err)
        return err;
    list_sources(env, sources);
    output_collect(output);
    output_note_text(output, "detected", sources);
    output_note_text(output, "chosen", gw_launch_source_name(env->source));
    output_note_text(output, "mode", mode_of(env));
    for (enum gw_launch_env_field f = 0; f < GW_LAUNCH_FIELD_COUNT; f++) {
        const struct gw_launch_env_origin *from = &env->from[f];
        char text[GW_LAUNCH_TEXT_BYTES];
        gw_launch_env_value(env, f, text);
        output_row(
            output,
            (union value[FIELD_COUNT]){
                {.text = gw_launch_field_name(f)},
                {.text = from->source ? text : NULL},
                {.text =
                     from->source ? gw_launch_source_name(from->source) : NULL},
                {.text = from->source ? from->how : NULL}});
    }
    if (env->source)
        explain_interface(output, launched);
    output_end(&output, NULL, false);
    return GW_OK;
}

/* ---- under an engine ---- */

static void be_silent(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    fflush(stdout);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
}

/* The settings of the network: from options, else from the environment. */
static enum gw_err configure(struct launched *launched, const char **wire,
                             struct gw_error *why)
{
    const struct launch_options *o = &launch_options;
    const char *insecure = getenv("GW_INSECURE");
    struct gw_comm_config *config = &launched->config;
    launched->engine = gw_launch_source_name(launched->env.source);
    launched->connect_ms = CONNECT_MS;
    config->wire = *wire;
    config->key_file = key_file();
    config->interface = o->interface ? o->interface : getenv("GW_INTERFACE");
    config->insecure = o->insecure || (insecure && strcmp(insecure, "1") == 0);
    enum gw_err err =
        gw_launch_config(&launched->env, config, launched->interface, why);
    if (!err)
        *wire = config->wire;
    return err;
}

/* Rank 0 reports for all. But an engine that sees one process fail may end the
 * others at once, so this process must not be the second to end. */
static void leave_it_to_rank_0(void)
{
    const struct timespec report_time = {.tv_nsec = 300 * 1000000};
    complain_quietly();
    nanosleep(&report_time, NULL);
}

static enum gw_err join_launcher(struct launched *launched, unsigned *ranks,
                                 const char **wire, struct gw_error *why)
{
    const struct gw_launch_env *env = &launched->env;
    static char name[32];
    bool other = *ranks != RANKS_UNSET && *ranks != env->size;
    if (other && env->rank != 0)
        leave_it_to_rank_0();
    if (other)
        return gw_fail(why, GW_EINVAL,
                       "--ranks %u: %s started %u ranks; omit --ranks, or add "
                       "--alone to start ranks here",
                       *ranks, gw_launch_source_name(env->source), env->size);
    *ranks = env->size;
    exit_for_engine();
    if (env->rank != 0 && !launch_options.all_print) {
        be_silent();
        snprintf(name, sizeof name, "rank %u", env->rank);
        complain_at(name);
    }
    return configure(launched, wire, why);
}

enum gw_err launched_begin(unsigned *ranks, unsigned ranks_default,
                           const char **wire, const struct launched **found,
                           struct gw_error *why)
{
    static struct launched launched;
    static const struct launched none;
    *found = NULL;
    launched = none;
    if (launch_options.interface) /* rank 0 may have to send it to others */
        setenv("GW_INTERFACE", launch_options.interface, 1);
    if (!launch_options.alone || launch_options.explain) {
        enum gw_err err = gw_launch_detect(&launched.env, why);
        if (err)
            return err;
    }
    if (launch_options.explain) {
        if (launched.env.rank != 0)
            be_silent();
        enum gw_err err = explain(&launched, why);
        return err ? err : GW_PENDING;
    }
    if (launched.env.source) {
        *found = &launched;
        return join_launcher(&launched, ranks, wire, why);
    }
    *ranks = *ranks != RANKS_UNSET ? *ranks : ranks_default;
    *wire = *wire ? *wire : "shm";
    return GW_OK;
}

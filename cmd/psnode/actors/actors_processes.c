/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Actors as processes. Rank 0 is the learner, rank i + 1 is actor i, and each
 * actor has a communicator of its own with the learner. The supervisor started
 * them and prints the learner's reports. Only the learner notices the death of
 * an actor, which ends nothing.
 */
#include "actors.h"
#include "common/command.h"
#include "common/launch.h"
#include "psnode/psnode.h"
#include "psnode/train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SILENCE_MS = 2000 };

struct processes {
    const struct actors_spec *spec;
    struct output *output;
    struct actors_totals totals;
    struct gw_counters counters;
};

enum actors_report_kind { ROW, END };

struct actors_report {
    enum actors_report_kind kind;
    struct gw_actors_report row;
    uint64_t digest; /* of END */
    struct gw_counters counters;
};

/* ---- the ranks ---- */

/* Connects each actor with the learner; in an actor, comms[i] is NULL for all
 * others. */
static enum gw_err pair_up(struct gw_comm *comm, unsigned actors,
                           struct gw_comm **comms, struct gw_error *why)
{
    unsigned rank = gw_comm_rank(comm);
    enum gw_err code = GW_OK;
    for (unsigned i = 0; i < actors && !code; i++)
        code = gw_comm_split(comm, rank == 0 || rank == i + 1 ? 0 : -1,
                             (int)rank, &comms[i], why);
    return code;
}

static enum gw_err train_actors(const struct actors_spec *spec,
                                struct gw_comm **comms, struct reporter *report,
                                struct gw_error *why)
{
    struct gw_actors *actors = NULL;
    struct actors_totals totals = {0};
    struct actors_report end = {.kind = END};
    enum gw_err code = gw_actors_serve(&spec->config, comms, &actors, why);
    unsigned updates;
    while (!code && (updates = actors_next(spec, &totals)) > 0) {
        struct actors_report row = {.kind = ROW};
        if (interrupted) {
            code = gw_fail(why, GW_EINTR, "interrupted");
            break;
        }
        code = gw_actors_run(actors, updates, &row.row, why);
        actors_row(NULL, &row.row, &totals);
        report_send(report, &row, sizeof row);
    }
    if (actors) {
        end.digest = gw_actors_digest(actors);
        gw_actors_stop(actors, &end.counters);
        report_send(report, &end, sizeof end);
    }
    gw_actors_destroy(&actors);
    return code;
}

struct actor_context {
    const struct actors_spec *spec;
    unsigned number;
};

static void fail_if_notified(void *context, uint64_t version)
{
    const struct actor_context *actor = context;
    const struct rank_faults *faults = &actor->spec->faults;
    for (unsigned i = 0; i < faults->count; i++)
        if (faults->faults[i].rank == actor->number &&
            version >= faults->faults[i].step)
            fault_make(&faults->faults[i]);
}

static enum gw_err actors_rank_main(struct gw_comm *comm,
                                    struct reporter *report, void *context,
                                    struct gw_error *why)
{
    const struct processes *p = context;
    unsigned actors = p->spec->config.actors, rank = gw_comm_rank(comm);
    struct gw_comm *comms[ACTORS_PROCESSES_MAX] = {NULL};
    enum gw_err code = pair_up(comm, actors, comms, why);
    if (!code && rank == 0) {
        code = train_actors(p->spec, comms, report, why);
    } else if (!code) {
        struct actor_context actor = {p->spec, rank - 1};
        code =
            gw_actor_run(&(struct gw_actor_process){.config = &p->spec->config,
                                                    .number = rank - 1,
                                                    .begins = fail_if_notified,
                                                    .context = &actor},
                         comms[rank - 1], why);
    }
    for (unsigned i = 0; i < actors; i++)
        gw_comm_destroy(&comms[i]);
    return code;
}

/* ---- the supervisor ---- */

static void add_actors_report(void *context, unsigned rank, const void *data,
                              size_t bytes)
{
    struct processes *p = context;
    struct actors_report report;
    (void)rank;
    if (bytes != sizeof report)
        return;
    memcpy(&report, data, sizeof report);
    if (report.kind == END) {
        p->totals.digest = report.digest;
        p->counters = report.counters;
        return;
    }
    actors_row(p->output, &report.row, &p->totals);
    progress("update %llu of %u", (unsigned long long)p->totals.updates,
             p->spec->updates);
}

static double per(uint64_t bytes, uint64_t messages)
{
    return messages ? (double)bytes / (double)messages : (double)NAN;
}

/* All virtual actors are alive. */
static void put_end(struct processes *p, const struct actors_totals *virtual)
{
    const struct gw_counters *c = &p->counters;
    struct output *o = p->output;
    actors_put_totals(o, p->spec, &p->totals);
    if (p->spec->faults.count == 0)
        train_fact(o, "lag_virtual", actors_lag(virtual),
                   "%.2f in virtual time, %.1f updates per second",
                   actors_lag(virtual),
                   (double)virtual->updates / ((double)virtual->time_ns / 1e9));
    output_note_integer(o, "actors_lost", p->totals.lost);
    output_note_integer(o, "policies_sent", (int64_t)c->messages_sent);
    output_note_integer(o, "trajectories_received",
                        (int64_t)c->messages_received);
    output_note_real(o, "bytes_per_policy",
                     per(c->bytes_sent, c->messages_sent));
    output_note_real(o, "bytes_per_trajectory",
                     per(c->bytes_received, c->messages_received));
}

enum gw_err actors_processes(const struct actors_spec *spec,
                             const struct actors_totals *predicted,
                             struct gw_error *why)
{
    struct processes p = {.spec = spec, .totals = {.newest = (double)NAN}};
    const struct launch launch = {.ranks = spec->config.actors + 1,
                                  .wire = spec->wire,
                                  .timeout_ns = common.timeout_ns,
                                  .silence_ms = SILENCE_MS,
                                  .no_pin = true, /* the learner has threads */
                                  .expendable = true,
                                  .rank_main = actors_rank_main,
                                  .context = &p,
                                  .on_report = add_actors_report};
    enum gw_err code = actors_begin(spec, &p.output, why);
    if (code)
        return code;
    output_note_text(p.output, "wire", spec->wire);
    computing_end(); /* from here on the launch handles signals */
    code = launch_run(&launch, why);
    progress("%s", "");
    put_end(&p, predicted);
    output_end(&p.output, code && code != GW_EINTR ? why : NULL,
               code == GW_EINTR);
    return code;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parameter server as one of the kinds of cluster of `ringctl sim`
 * (simcluster/common/kind.h).
 */
#include "simcluster/common/kind.h"
#include "ps_simcluster.h"
#include "simcluster/common/rafts.h"

#include <stdlib.h>

static const struct field fields[] = {
    {"sent", NULL, FIELD_INTEGER, 0, true},
    {"acked", NULL, FIELD_INTEGER, 0, false},
    {"pushes_lost", NULL, FIELD_INTEGER, 0, false},
    {"pushes_doubled", NULL, FIELD_INTEGER, 0, false},
    {"pulls", NULL, FIELD_INTEGER, 0, true},
    {"stale", NULL, FIELD_INTEGER, 0, false},
    {"two_primaries", NULL, FIELD_INTEGER, 0, false},
    {"two_ms", NULL, FIELD_REAL, 1, true},
    {"refused", NULL, FIELD_INTEGER, 0, false},
    {"fenced", NULL, FIELD_INTEGER, 0, false},
    {"takeovers", NULL, FIELD_INTEGER, 0, false},
    {"detect_ms", NULL, FIELD_REAL, 1, false},
    {"promote_ms", NULL, FIELD_REAL, 1, false},
    {"failover_ms", NULL, FIELD_REAL, 1, false},
    {"epochs", NULL, FIELD_INTEGER, 0, false},
    {"terms", NULL, FIELD_INTEGER, 0, false},
    {"leaders", NULL, FIELD_INTEGER, 0, false},
    {"slots_lost", NULL, FIELD_INTEGER, 0, true},
    {"push_bytes", NULL, FIELD_INTEGER, 0, true},
    {"replica_bytes", NULL, FIELD_INTEGER, 0, true},
    {"plans", NULL, FIELD_INTEGER, 0, true},
    {"uneven", NULL, FIELD_REAL, 2, true},
};

/* ---- requests ---- */

/* "lease,fencing": several at once. */
static enum gw_err read_disabled(const char *names,
                                 struct ps_simcluster_params *params,
                                 struct gw_error *why)
{
    const struct {
        const char *name;
        bool *flag;
    } known[] = {{"dedupe", &params->no_dedupe},
                 {"lease", &params->no_lease},
                 {"fencing", &params->no_fencing}};
    for (const char *at = names; at && *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < 3 && (strlen(known[i].name) != length ||
                         strncmp(at, known[i].name, length) != 0))
            i++;
        if (i == 3)
            return gw_fail(why, GW_EINVAL,
                           "unknown rule \"%.40s\" of servers; use %s", at,
                           ps_simcluster_kind.checks);
        *known[i].flag = true;
        at += length + (at[length] == ',');
    }
    return GW_OK;
}

static unsigned or_else(unsigned value, unsigned otherwise)
{
    return value ? value : otherwise;
}

static void groups(const struct simcluster_request *request,
                   struct simcluster_group groups[SIMCLUSTER_GROUPS])
{
    unsigned workers = or_else(request->nodes, 2);
    unsigned servers = or_else(request->servers, 3);
    groups[0] = (struct simcluster_group){'w', 0, workers};
    groups[1] = (struct simcluster_group){'s', workers, servers};
    groups[2] = (struct simcluster_group){'c', workers + servers,
                                          or_else(request->controllers, 3)};
}

static enum gw_err read(const struct simcluster_request *request,
                        struct ps_simcluster_params *params,
                        struct gw_error *why)
{
    *params = (struct ps_simcluster_params){
        .workers = or_else(request->nodes, 2),
        .servers = or_else(request->servers, 3),
        .controllers = or_else(request->controllers, 3),
        .ack_primary = request->ack_primary,
        .hot_keys = request->placement != NULL,
        .by_load =
            request->placement && strcmp(request->placement, "load") == 0,
        .silent = request->silent,
        .unordered = request->unordered,
        .calm = request->calm,
        .for_ns = request->for_ns};
    unsigned most = params->servers < GW_PS_REPLICAS_MAX ? params->servers
                                                         : GW_PS_REPLICAS_MAX;
    params->replicas = or_else(request->replicas, most < 3 ? most : 3);
    if (params->workers > PS_SIMCLUSTER_WORKERS ||
        params->servers > PS_SIMCLUSTER_SERVERS)
        return gw_fail(why, GW_EINVAL,
                       "at most %d workers and %d servers are possible, not %u "
                       "and %u; use fewer with --servers and -n",
                       PS_SIMCLUSTER_WORKERS, PS_SIMCLUSTER_SERVERS,
                       params->workers, params->servers);
    if (params->replicas > most)
        return gw_fail(why, GW_EINVAL,
                       "%u servers can have at most %u replicas, not %u",
                       params->servers, most, params->replicas);
    if (params->controllers % 2 == 0 ||
        params->controllers > PS_SIMCLUSTER_CONTROLLERS)
        return gw_fail(why, GW_EINVAL,
                       "the number of controllers must be 1, 3 or 5, not %u",
                       params->controllers);
    return read_disabled(request->without, params, why);
}

/* ---- life ---- */

static void close_ps_simcluster(void *simcluster)
{
    ps_simcluster_close(simcluster);
    free(simcluster);
}

static enum gw_err open_ps_simcluster(const struct simcluster_request *request,
                                      void **simcluster, struct gw_error *why)
{
    struct ps_simcluster *f;
    if (request->algo_count)
        return gw_fail(why, GW_EINVAL,
                       "--algo is only for rings, not for servers");
    if (request->suspicion)
        return gw_fail(why, GW_EINVAL,
                       "--suspicion is only for rings, not for servers");
    f = calloc(1, sizeof *f);
    if (!f)
        return gw_fail(why, GW_ENOMEM, "servers");
    enum gw_err err = read(request, &f->params, why);
    if (!err)
        err = ps_simcluster_open(f, why);
    if (!err && request->raft)
        err = rafts_open(&f->consensus.rafts, why);
    if (err)
        close_ps_simcluster(f);
    else
        *simcluster = f;
    return err;
}

static void campaign_of(void *simcluster, uint64_t seed, struct gw_sink *sink,
                        struct gw__campaign *campaign)
{
    ps_simcluster_campaign(simcluster, seed, sink, campaign);
}

static void measured(void *simcluster, union value *values)
{
    struct ps_simcluster *f = simcluster;
    const struct ps_simcluster_met *m = &f->met;
    const uint64_t counts[] = {m->sent,
                               m->acked,
                               m->lost,
                               m->doubled,
                               m->pulls,
                               m->stale,
                               m->two,
                               0,
                               m->refused,
                               m->fenced,
                               m->takeovers,
                               0,
                               0,
                               0,
                               m->epochs,
                               m->terms,
                               m->leaders,
                               m->slots_lost,
                               m->push_bytes,
                               m->replica_bytes,
                               m->plans,
                               0};
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        values[i].integer = (int64_t)counts[i];
    values[7].real = (double)m->two_ns / 1e6;
    values[11].real = (double)m->detect_ns / 1e6;
    values[12].real = (double)m->promote_ns / 1e6;
    values[13].real = (double)m->failover_ns / 1e6;
    values[21].real = m->uneven;
    memset(&f->met, 0, sizeof f->met);
}

const struct simcluster_kind ps_simcluster_kind = {
    .name = "servers",
    .summary = "parameter servers, their workers and controllers",
    .checks = "dedupe, lease, fencing",
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
    .spare =
        "cluster seeds hash nodes lost messages faults terms leaders epochs "
        "detect_ms promote_ms refused fenced stale failover_ms takeovers "
        "acked two_primaries",
    .open = open_ps_simcluster,
    .close = close_ps_simcluster,
    .groups = groups,
    .campaign = campaign_of,
    .measured = measured,
};

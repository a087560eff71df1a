/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a run: see supervisor_options.h.
 */
#include "supervisor_options.h"

#include "policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct work_options work_defaults = {
    .kind = WORK_NONE,
    .epochs = WORK_UNSAID,
    .batch = WORK_UNSAID,
    .rate = (double)NAN,
    .momentum = (double)NAN,
    .l2 = (double)NAN,
    .bytes = 1 << 20,
};

static const char *const kinds[] = {"none", "train", "ops"};

/* ---- to JSON ---- */

static json_t *whole_or_null(unsigned number)
{
    return number == WORK_UNSAID ? json_null()
                                 : json_integer((json_int_t)number);
}

static json_t *real_or_null(double number)
{
    return isnan(number) ? json_null() : json_real(number);
}

json_t *work_options_encode(const struct work_options *work)
{
    json_t *given = json_pack(
        "{s:s?, s:s?, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:s?, s:i, s:s?, "
        "s:s?}",
        "until", work->until, "test", work->test, "epochs",
        whole_or_null(work->epochs), "batch", whole_or_null(work->batch),
        "rate", real_or_null(work->rate), "momentum",
        real_or_null(work->momentum), "l2", real_or_null(work->l2), "bytes",
        (json_int_t)work->bytes, "count", (json_int_t)work->count, "mode",
        work->mode, "parts", (int)work->parts, "settings", work->settings,
        "snapshot", work->snapshot);
    return json_pack("{s:s, s:s?, s:s?, s:s?, s:o}", "kind", kinds[work->kind],
                     "model", work->model, "network", work->network, "file",
                     work->file, "options", given);
}

json_t *options_encode(const struct run_options *options)
{
    return json_pack(
        "{s:s?, s:i, s:i, s:s?, s:I, s:I, s:s?, s:i, s:i, s:i, s:s?, s:s?, "
        "s:s?, s:s?, s:s?, s:s?, s:o}",
        "name", options->name, "ranks", (int)options->ranks, "controllers",
        (int)options->controllers, "wire", options->wire, "seed",
        (json_int_t)options->seed, "pace_ns", (json_int_t)options->pace_ns,
        "command", options->command, "servers", (int)options->servers,
        "replicas", (int)options->replicas, "slots", (int)options->slots,
        "restore", options->restore, "straggler", options->straggler, "topo",
        options->topo, "placement", options->placement, "slot_weights",
        options->slot_weights, "suspicion", options->suspicion, "work",
        work_options_encode(&options->work));
}

/* ---- from JSON ---- */

/* What is there, not null, and of no kind that will do. */
static enum gw_err odd(const char *name, const char *wanted,
                       struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL, "\"%s\" must be %s", name, wanted);
}

static enum gw_err get_text(const json_t *json, const char *name, char *room,
                            size_t size, const char **text,
                            struct gw_error *why)
{
    const json_t *value = json_object_get(json, name);
    *text = NULL;
    if (!value || json_is_null(value))
        return GW_OK;
    if (!json_is_string(value) || json_string_length(value) >= size)
        return odd(name, "a short text", why);
    snprintf(room, size, "%s", json_string_value(value));
    *text = room;
    return GW_OK;
}

static enum gw_err get_u64(const json_t *json, const char *name,
                           uint64_t *number, struct gw_error *why)
{
    const json_t *value = json_object_get(json, name);
    if (!value || json_is_null(value))
        return GW_OK;
    if (!json_is_integer(value))
        return odd(name, "a whole number", why);
    *number = (uint64_t)json_integer_value(value);
    return GW_OK;
}

static enum gw_err get_unsigned(const json_t *json, const char *name,
                                unsigned *number, struct gw_error *why)
{
    uint64_t wide = 0;
    const json_t *value = json_object_get(json, name);
    enum gw_err code = get_u64(json, name, &wide, why);
    if (!code && wide > INT32_MAX)
        return odd(name, "from 0 to 2147483647", why);
    if (!code && value && !json_is_null(value))
        *number = (unsigned)wide;
    return code;
}

static enum gw_err get_real(const json_t *json, const char *name,
                            double *number, struct gw_error *why)
{
    const json_t *value = json_object_get(json, name);
    if (!value || json_is_null(value))
        return GW_OK;
    if (!json_is_number(value))
        return odd(name, "a number", why);
    *number = json_number_value(value);
    return GW_OK;
}

static enum gw_err get_kind(const json_t *json, struct work_options *work,
                            struct gw_error *why)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    if (!kind) /* a request: it is told by the model */
        kind = !work->model                      ? "none"
               : strcmp(work->model, "ops") == 0 ? "ops"
                                                 : "train";
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kind, kinds[k]) == 0) {
            work->kind = (enum work_kind)k;
            return GW_OK;
        }
    return odd("kind", "none, train or ops", why);
}

enum gw_err work_options_decode(const json_t *json, struct options_room *room,
                                struct work_options *work, struct gw_error *why)
{
    const json_t *options = json_object_get(json, "options");
    *work = work_defaults;
    if (get_text(json, "model", room->model, sizeof room->model, &work->model,
                 why) ||
        get_text(json, "network", room->network, sizeof room->network,
                 &work->network, why) ||
        get_text(json, "file", room->file, sizeof room->file, &work->file,
                 why) ||
        get_text(options, "test", room->test, sizeof room->test, &work->test,
                 why) ||
        get_text(options, "until", room->until, sizeof room->until,
                 &work->until, why) ||
        get_unsigned(options, "epochs", &work->epochs, why) ||
        get_unsigned(options, "batch", &work->batch, why) ||
        get_real(options, "rate", &work->rate, why) ||
        get_real(options, "momentum", &work->momentum, why) ||
        get_real(options, "l2", &work->l2, why) ||
        get_u64(options, "bytes", &work->bytes, why) ||
        get_u64(options, "count", &work->count, why) ||
        get_text(options, "mode", room->mode, sizeof room->mode, &work->mode,
                 why) ||
        get_unsigned(options, "parts", &work->parts, why) ||
        get_text(options, "settings", room->settings, sizeof room->settings,
                 &work->settings, why) ||
        get_text(options, "snapshot", room->snapshot, sizeof room->snapshot,
                 &work->snapshot, why) ||
        get_kind(json, work, why))
        return GW_EINVAL;
    return GW_OK;
}

enum gw_err options_decode(const json_t *json, struct options_room *room,
                           struct run_options *options, struct gw_error *why)
{
    *options = (struct run_options){.ranks = 0};
    if (get_text(json, "name", room->name, sizeof room->name, &options->name,
                 why) ||
        get_text(json, "wire", room->wire, sizeof room->wire, &options->wire,
                 why) ||
        get_text(json, "command", room->command, sizeof room->command,
                 &options->command, why) ||
        get_unsigned(json, "ranks", &options->ranks, why) ||
        get_unsigned(json, "controllers", &options->controllers, why) ||
        get_u64(json, "seed", &options->seed, why) ||
        get_u64(json, "pace_ns", &options->pace_ns, why) ||
        get_unsigned(json, "servers", &options->servers, why) ||
        get_unsigned(json, "replicas", &options->replicas, why) ||
        get_unsigned(json, "slots", &options->slots, why) ||
        get_text(json, "restore", room->restore, sizeof room->restore,
                 &options->restore, why) ||
        get_text(json, "straggler", room->straggler, sizeof room->straggler,
                 &options->straggler, why) ||
        get_text(json, "topo", room->topo, sizeof room->topo, &options->topo,
                 why) ||
        get_text(json, "placement", room->placement, sizeof room->placement,
                 &options->placement, why) ||
        get_text(json, "slot_weights", room->slot_weights,
                 sizeof room->slot_weights, &options->slot_weights, why) ||
        get_text(json, "suspicion", room->suspicion, sizeof room->suspicion,
                 &options->suspicion, why))
        return GW_EINVAL;
    return work_options_decode(json_object_get(json, "work"), room,
                               &options->work, why);
}

/* ---- what cannot be ---- */

static bool is_wire(const char *name)
{
    const char *const *wires = gw_wire_list();
    while (*wires && strcmp(*wires, name) != 0)
        wires++;
    return *wires != NULL;
}

/* So that what is wrong with it is told by the command that names it. */
static enum gw_err check_placement(const struct run_options *options,
                                   struct gw_error *why)
{
    struct policy policy;
    enum gw_err code = policy_open(
        options->placement, options->slot_weights,
        options->slots ? options->slots : GW_PS_SLOTS_MAX, &policy, why);
    policy_close(&policy);
    return code;
}

static enum gw_err check_servers(const struct run_options *options,
                                 struct gw_error *why)
{
    if (options->suspicion)
        return gw_fail(why, GW_EINVAL,
                       "--suspicion is only for rings, not for servers");
    if (options->servers > RUN_SERVERS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of servers must be at most %d, not %u",
                       RUN_SERVERS_MAX, options->servers);
    if (options->ranks < 1 || options->ranks > RUN_WORKERS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of workers must be from 1 to %d, not %u",
                       RUN_WORKERS_MAX, options->ranks);
    if (options->replicas > GW_PS_REPLICAS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of replicas must be at most %d, not %u",
                       GW_PS_REPLICAS_MAX, options->replicas);
    if (options->slots > GW_PS_SLOTS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of slots must be at most %d, not %u",
                       GW_PS_SLOTS_MAX, options->slots);
    return check_placement(options, why);
}

static enum gw_err check_members(const struct run_options *options,
                                 struct gw_error *why)
{
    if (options->servers)
        return check_servers(options, why);
    if (options->ranks < 1 || options->ranks > RUN_RANKS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of nodes must be from 1 to %d, not %u",
                       RUN_RANKS_MAX, options->ranks);
    if (options->replicas || options->slots || options->restore ||
        options->straggler || options->placement || options->slot_weights ||
        options->work.mode || options->work.parts || options->work.snapshot)
        return gw_fail(
            why, GW_EINVAL,
            "a ring has no replicas, slots, snapshots, modes, "
            "parts and policies; only a run with --servers has them");
    return GW_OK;
}

enum gw_err options_check(const struct run_options *options,
                          struct gw_error *why)
{
    unsigned c = options->controllers;
    enum gw_err code = check_members(options, why);
    if (code)
        return code;
    if (c > RUN_CONTROLLERS_MAX || (c != 0 && c % 2 == 0))
        return gw_fail(why, GW_EINVAL,
                       "the number of controllers must be 1, 3 or 5, not %u",
                       c);
    if (options->wire && !is_wire(options->wire))
        return gw_fail(why, GW_EINVAL, "unknown wire %s; use shm, ipc or tcp",
                       options->wire);
    return options->name ? run_name_check(options->name, why) : GW_OK;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a run: see supervisor_options.h.
 */
#include "supervisor_options.h"

#include "run/lockstep.h"
#include "run/ring_algos.h"

#include "policy.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

const struct work_options work_defaults = {
    .kind = WORK_NONE,
    .epochs = WORK_UNSET,
    .batch = WORK_UNSET,
    .rate = (double)NAN,
    .momentum = (double)NAN,
    .l2 = (double)NAN,
    .bytes = 1 << 20,
};

static const char *const kinds[] = {"none", "train", "ops", "program"};

/* ---- the members of the JSON ---- */

enum member_kind { TEXT, WHOLE, LONG, REAL };

/* A member of the JSON object, and its place in the struct. */
struct member {
    const char *name;
    enum member_kind kind;
    size_t at;
    size_t room; /* TEXT: bytes, with the end, that it must fit into */
};

#define RUN(name, kind, room)                                                  \
    {                                                                          \
#name, kind, offsetof(struct run_options, name), room                  \
    }
static const struct member run_members[] = {
    RUN(name, TEXT, RUN_NAME_MAX),
    RUN(ranks, WHOLE, 0),
    RUN(controllers, WHOLE, 0),
    RUN(wire, TEXT, 8),
    RUN(seed, LONG, 0),
    RUN(pace_ns, LONG, 0),
    RUN(command, TEXT, 512),
    RUN(line, TEXT, 4 * FILE_MAX),
    RUN(servers, WHOLE, 0),
    RUN(replicas, WHOLE, 0),
    RUN(slots, WHOLE, 0),
    RUN(restore, TEXT, FILE_MAX),
    RUN(straggler, TEXT, FILE_MAX),
    RUN(topo, TEXT, FILE_MAX),
    RUN(placement, TEXT, FILE_MAX),
    RUN(slot_weights, TEXT, FILE_MAX),
    RUN(suspicion, TEXT, FILE_MAX),
    RUN(algos, TEXT, FILE_MAX),
    RUN(collective, TEXT, 32),
    RUN(lockstep, TEXT, FILE_MAX),
    {.name = NULL},
};

#define WORK(name, kind, room)                                                 \
    {                                                                          \
#name, kind, offsetof(struct work_options, name), room                 \
    }
static const struct member work_members[] = {
    WORK(model, TEXT, 16),
    WORK(network, TEXT, FILE_MAX),
    WORK(file, TEXT, FILE_MAX),
    WORK(program, TEXT, FILE_MAX),
    {.name = NULL},
};
/* The members of its "options". */
static const struct member work_option_members[] = {
    WORK(until, TEXT, 64),
    WORK(test, TEXT, FILE_MAX),
    WORK(epochs, WHOLE, 0),
    WORK(batch, WHOLE, 0),
    WORK(rate, REAL, 0),
    WORK(momentum, REAL, 0),
    WORK(l2, REAL, 0),
    WORK(bytes, LONG, 0),
    WORK(count, LONG, 0),
    WORK(mode, TEXT, 32),
    WORK(parts, WHOLE, 0),
    WORK(settings, TEXT, RUN_SETTINGS_MAX),
    WORK(snapshot, TEXT, FILE_MAX),
    {.name = NULL},
};

/* ---- to JSON ---- */

/* NULL: a text that JSON cannot represent. */
static json_t *encode_one(const struct member *member, const void *from)
{
    const void *at = (const char *)from + member->at;
    switch (member->kind) {
    case TEXT:
        return *(const char *const *)at ? json_string(*(const char *const *)at)
                                        : json_null();
    case WHOLE:
        return *(const unsigned *)at == WORK_UNSET
                   ? json_null()
                   : json_integer(*(const unsigned *)at);
    case LONG:
        return json_integer((json_int_t)(*(const uint64_t *)at));
    case REAL:
        break;
    }
    return isnan(*(const double *)at) ? json_null()
                                      : json_real(*(const double *)at);
}

/* Steals `value`. NULL: JSON cannot hold one of the values. */
static json_t *add_member(json_t *json, const char *name, json_t *value)
{
    if (json_object_set_new(json, name, value) == 0)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *encode(const struct member *members, const void *from)
{
    json_t *json = json_object();
    for (const struct member *m = members; m->name && json; m++)
        json = add_member(json, m->name, encode_one(m, from));
    return json;
}

json_t *work_options_encode(const struct work_options *work)
{
    json_t *json = encode(work_members, work);
    json = add_member(json, "kind", json_string(kinds[work->kind]));
    return add_member(json, "options", encode(work_option_members, work));
}

json_t *options_encode(const struct run_options *options)
{
    return add_member(encode(run_members, options), "work",
                      work_options_encode(&options->work));
}

/* ---- from JSON ---- */

/* A member that is not null and has a wrong kind or value. */
static enum gw_err odd(const char *name, const char *wanted,
                       struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL, "\"%s\" must be %s", name, wanted);
}

static enum gw_err decode_one(const struct member *member, const json_t *json,
                              void *at, struct gw_error *why)
{
    json_int_t number = json_integer_value(json);
    if (member->kind == TEXT && json_is_string(json) &&
        json_string_length(json) < member->room)
        *(const char **)at = json_string_value(json);
    else if (member->kind == TEXT)
        return odd(member->name, "a short text", why);
    else if (member->kind == REAL && json_is_number(json))
        *(double *)at = json_number_value(json);
    else if (member->kind == REAL)
        return odd(member->name, "a number", why);
    else if (!json_is_integer(json))
        return odd(member->name, "a whole number", why);
    else if (member->kind == LONG)
        *(uint64_t *)at = (uint64_t)number;
    else if (number < 0 || number > INT32_MAX)
        return odd(member->name, "from 0 to 2147483647", why);
    else
        *(unsigned *)at = (unsigned)number;
    return GW_OK;
}

static enum gw_err decode(const struct member *members, const json_t *json,
                          void *to, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    for (const struct member *m = members; m->name && !code; m++) {
        const json_t *one = json_object_get(json, m->name);
        if (one && !json_is_null(one))
            code = decode_one(m, one, (char *)to + m->at, why);
    }
    return code;
}

static enum gw_err get_kind(const json_t *json, struct work_options *work,
                            struct gw_error *why)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    if (!kind) /* a request: the model determines it */
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

enum gw_err work_options_decode(const json_t *json, struct work_options *work,
                                struct gw_error *why)
{
    *work = work_defaults;
    enum gw_err code = decode(work_members, json, work, why);
    if (!code)
        code = decode(work_option_members, json_object_get(json, "options"),
                      work, why);
    return code ? code : get_kind(json, work, why);
}

enum gw_err options_decode(const json_t *json, struct run_options *options,
                           struct gw_error *why)
{
    *options = (struct run_options){.ranks = 0};
    enum gw_err code = decode(run_members, json, options, why);
    return code ? code
                : work_options_decode(json_object_get(json, "work"),
                                      &options->work, why);
}

/* ---- checks ---- */

static bool is_wire(const char *name)
{
    const char *const *wires = gw_wire_list();
    while (*wires && strcmp(*wires, name) != 0)
        wires++;
    return *wires != NULL;
}

/* Checked early, so that the command with this option reports the error. */
static enum gw_err check_placement(const struct run_options *options,
                                   struct gw_error *why)
{
    struct policy policy;
    enum gw_err code = policy_open(
        options->placement, options->slot_weights,
        options->slots ? options->slots : GW_PS_SLOTS_DEFAULT, &policy, why);
    policy_close(&policy);
    return code;
}

static enum gw_err check_servers(const struct run_options *options,
                                 struct gw_error *why)
{
    if (options->suspicion)
        return gw_fail(why, GW_EINVAL,
                       "--suspicion is only for rings, not for servers");
    if (options->algos || options->collective)
        return gw_fail(why, GW_EINVAL, "%s is only for rings, not for servers",
                       options->algos ? "--algo" : "--collective");
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
    if (options->slots > RUN_SLOTS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of slots must be at most %d, not %u",
                       RUN_SLOTS_MAX, options->slots);
    return check_placement(options, why);
}

/* Work that comes later, or an idle ring, would begin at any op. */
static enum gw_err check_lockstep(const struct run_options *options,
                                  struct gw_error *why)
{
    struct lockstep lockstep;
    if (!options->lockstep)
        return GW_OK;
    if (options->servers)
        return gw_fail(why, GW_EINVAL,
                       "--lockstep is only for rings, not for servers");
    if (options->work.kind == WORK_NONE || options->work.kind == WORK_PROGRAM)
        return gw_fail(why, GW_EINVAL,
                       "--lockstep needs work from the start: train or ops");
    return lockstep_parse(options->lockstep, options->ranks, &lockstep, why);
}

/* A program chooses its collectives and algorithms itself. */
static enum gw_err check_algos(const struct run_options *options,
                               struct gw_error *why)
{
    struct ring_algos algos;
    enum gw_collective collective;
    bool program = options->work.kind == WORK_PROGRAM;
    if (options->algos && program)
        return gw_fail(why, GW_EINVAL,
                       "--algo is only for train and ops; a program sets the "
                       "algorithms in struct gw_ring_config");
    if (options->collective && program)
        return gw_fail(why, GW_EINVAL,
                       "--collective is only for ops; a program calls its "
                       "collectives itself");
    enum gw_err code =
        ring_algos_collective(options->collective, &collective, why);
    if (!code)
        code = ring_algos_open(options->algos, collective, &algos, why);
    return code ? code : ring_algos_check(&algos, options->ranks, why);
}

static enum gw_err check_members(const struct run_options *options,
                                 struct gw_error *why)
{
    if (options->servers)
        return check_servers(options, why);
    if (options->ranks < 1 || options->ranks > RUN_RANKS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the number of nodes must be from 1 to %d, since larger "
                       "rings do not recover reliably, not %u",
                       RUN_RANKS_MAX, options->ranks);
    if (options->replicas || options->slots || options->restore ||
        options->straggler || options->placement || options->slot_weights ||
        options->work.mode || options->work.parts || options->work.snapshot)
        return gw_fail(
            why, GW_EINVAL,
            "a ring has no replicas, slots, snapshots, modes, "
            "parts and policies; only a run with --servers has them");
    return check_algos(options, why);
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
    code = check_lockstep(options, why);
    if (code)
        return code;
    return options->name ? run_name_check(options->name, why) : GW_OK;
}

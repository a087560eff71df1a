/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a run: see supervisor_options.h.
 */
#include "supervisor_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct work_options work_defaults = {
    .kind = WORK_NONE,
    .epochs = 20,
    .batch = 32,
    .rate = 0.5,
    .momentum = 0.9,
    .l2 = 1e-4,
    .bytes = 1 << 20,
};

static const char *const kinds[] = {"none", "train", "ops"};

/* ---- to JSON ---- */

static json_t *encode_work(const struct work_options *work)
{
    return json_pack("{s:s, s:s?, s:s?, s:{s:s?, s:i, s:i, s:f, s:f, s:f, "
                     "s:I, s:I}}",
                     "kind", kinds[work->kind], "model", work->model, "file",
                     work->file, "options", "test", work->test, "epochs",
                     (int)work->epochs, "batch", (int)work->batch, "rate",
                     work->rate, "momentum", work->momentum, "l2", work->l2,
                     "bytes", (json_int_t)work->bytes, "count",
                     (json_int_t)work->count);
}

json_t *options_encode(const struct run_options *options)
{
    return json_pack("{s:s?, s:i, s:i, s:s?, s:I, s:I, s:s?, s:o}", "name",
                     options->name, "ranks", (int)options->ranks, "controllers",
                     (int)options->controllers, "wire", options->wire, "seed",
                     (json_int_t)options->seed, "pace_ns",
                     (json_int_t)options->pace_ns, "command", options->command,
                     "work", encode_work(&options->work));
}

/* ---- from JSON ---- */

/* What is there, not null, and of no kind that will do. */
static enum gw_err odd(const char *name, const char *wanted,
                       struct gw_error *why)
{
    return gw_fail(why, GW_EINVAL, "\"%s\" is to be %s", name, wanted);
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
    uint64_t wide = *number;
    enum gw_err code = get_u64(json, name, &wide, why);
    if (!code && wide > INT32_MAX)
        return odd(name, "from 0 to 2147483647", why);
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
        get_text(json, "file", room->file, sizeof room->file, &work->file,
                 why) ||
        get_text(options, "test", room->test, sizeof room->test, &work->test,
                 why) ||
        get_unsigned(options, "epochs", &work->epochs, why) ||
        get_unsigned(options, "batch", &work->batch, why) ||
        get_real(options, "rate", &work->rate, why) ||
        get_real(options, "momentum", &work->momentum, why) ||
        get_real(options, "l2", &work->l2, why) ||
        get_u64(options, "bytes", &work->bytes, why) ||
        get_u64(options, "count", &work->count, why) ||
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
        get_u64(json, "pace_ns", &options->pace_ns, why))
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

enum gw_err options_check(const struct run_options *options,
                          struct gw_error *why)
{
    unsigned c = options->controllers;
    if (options->ranks < 1 || options->ranks > RUN_RANKS_MAX)
        return gw_fail(why, GW_EINVAL, "a run has 1 to %d nodes, not %u",
                       RUN_RANKS_MAX, options->ranks);
    if (c > RUN_CONTROLLERS_MAX || (c != 0 && c % 2 == 0))
        return gw_fail(why, GW_EINVAL,
                       "a run has 1, 3 or 5 controllers, not %u", c);
    if (options->wire && !is_wire(options->wire))
        return gw_fail(why, GW_EINVAL, "there is no wire %s (shm, ipc, tcp)",
                       options->wire);
    if (options->servers || options->replicas || options->mode)
        return gw_fail(why, GW_ENOTSUP,
                       "a run of ringctl has no parameter servers yet");
    return options->name ? run_name_check(options->name, why) : GW_OK;
}

/* ---- work ---- */

static enum gw_err check_training(const struct work_options *work,
                                  struct gw_error *why)
{
    enum gw_model_kind kind;
    if (!work->model || !work->file)
        return gw_fail(why, GW_EINVAL,
                       "training wants a model and a file of rows");
    enum gw_err code = gw_model_parse(work->model, &kind, why);
    if (code)
        return code;
    if (work->epochs == 0 || work->batch == 0)
        return gw_fail(why, GW_EINVAL, "epochs and batch are at least 1");
    if (!(work->rate > 0) || !isfinite(work->rate))
        return gw_fail(why, GW_EINVAL, "the learning rate is above 0, not %g",
                       work->rate);
    if (!(work->l2 >= 0) || !isfinite(work->l2))
        return gw_fail(why, GW_EINVAL, "l2 is at least 0, not %g", work->l2);
    if (!(work->momentum >= 0 && work->momentum < 1))
        return gw_fail(why, GW_EINVAL, "momentum is from 0 to below 1, not %g",
                       work->momentum);
    return GW_OK;
}

static enum gw_err check_ops(const struct work_options *work,
                             struct gw_error *why)
{
    enum { MOST = 1 << 30 };
    if (work->bytes < sizeof(int64_t) || work->bytes > MOST)
        return gw_fail(why, GW_EINVAL, "ops are of 8 bytes to 1G, not %llu",
                       (unsigned long long)work->bytes);
    return GW_OK;
}

/* As given, else in $GRADWIRE_DATA; a whole path, since the members may stand
 * elsewhere. */
static enum gw_err find_file(const char *name, char out[FILE_MAX],
                             struct gw_error *why)
{
    char path[FILE_MAX];
    const char *data = getenv("GRADWIRE_DATA");
    if (realpath(name, out))
        return GW_OK;
    if (data && *data && *name != '/') {
        snprintf(path, sizeof path, "%s/%s", data, name);
        if (realpath(path, out))
            return GW_OK;
    }
    return gw_fail(why, GW_EDATA, "%.200s: there is no such file%s", name,
                   data && *data && *name != '/' ? ", nor in $GRADWIRE_DATA"
                                                 : "");
}

enum gw_err work_order_make(const struct work_options *work, uint64_t id,
                            struct work_order *order, struct gw_error *why)
{
    enum gw_err code = GW_OK;
    memset(order, 0, sizeof *order);
    order->id = id;
    order->kind = work->kind;
    order->epochs = work->epochs;
    order->batch = work->batch;
    order->rate = work->rate;
    order->momentum = work->momentum;
    order->l2 = work->l2;
    order->bytes = work->bytes;
    order->count = work->count;
    if (work->kind == WORK_OPS)
        return check_ops(work, why);
    if (work->kind == WORK_NONE)
        return GW_OK;
    code = check_training(work, why);
    if (code)
        return code;
    snprintf(order->model, sizeof order->model, "%s", work->model);
    code = find_file(work->file, order->file, why);
    return code || !work->test ? code : find_file(work->test, order->test, why);
}

/* ---- names ---- */

static const char *const words[] = {
    "otter", "heron", "tiger",  "maple",  "comet",  "basil",  "cedar",
    "delta", "ember", "fjord",  "gecko",  "hazel",  "indigo", "jade",
    "koala", "lemon", "mango",  "nectar", "olive",  "panda",  "quartz",
    "raven", "sable", "tulip",  "umber",  "violet", "walnut", "yarrow",
    "zebra", "acorn", "badger", "clover",
};

enum gw_err run_name_check(const char *name, struct gw_error *why)
{
    size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (*name && *name != '-' && !name[good] && good < RUN_NAME_MAX &&
        strcmp(name, "latest") != 0)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "\"%.40s\" is no name for a run: small letters, digits and "
                   "-, fewer than %d",
                   name, RUN_NAME_MAX);
}

void run_name_pick(uint64_t chance, unsigned attempt, char out[RUN_NAME_MAX])
{
    unsigned count = sizeof words / sizeof *words;
    const char *word = words[(chance + attempt) % count];
    if (attempt < count)
        snprintf(out, RUN_NAME_MAX, "%s", word);
    else
        snprintf(out, RUN_NAME_MAX, "%s-%u", word, attempt / count + 1);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * psnode train --sweep ssp: the allowed lead of a worker over the slowest. The
 * larger it is, the less it waits, and the older are the weights that it trains
 * with (Ho et al., NIPS 2013): less time per epoch, more epochs.
 */
#include "train.h"

#include "common/command.h"

#include <stdio.h>

#define COMPUTE_NS    UINT64_C(5000000)
#define TARGET_FACTOR 1.001 /* times the final loss of S = 0: reached */

static const unsigned bounds[] = {0, 1, 2, 4, 8, 16};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static const struct field fields[] = {
    {.name = "mode", .kind = FIELD_TEXT},
    {.name = "bound", .header = "S", .kind = FIELD_INTEGER},
    {.name = "waited_share",
     .header = "waited",
     .kind = FIELD_REAL,
     .decimals = 3},
    {.name = "staleness", .kind = FIELD_INTEGER},
    {.name = "epochs_to_target",
     .header = "epochs to target",
     .kind = FIELD_INTEGER},
    {.name = "seconds_to_target",
     .header = "seconds to target",
     .kind = FIELD_REAL,
     .decimals = 2},
    {.name = "seconds", .kind = FIELD_REAL, .decimals = 2},
    {.name = "loss", .kind = FIELD_REAL, .decimals = 6},
    {.name = "pulls", .kind = FIELD_INTEGER, .hidden = true},
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static bool on_status(void *context, const json_t *status)
{
    json_t **last = context;
    json_decref(*last);
    *last = json_deep_copy(status);
    progress("%s: epoch %lld, loss %.6f",
             text_of(json_object_get(status, "clocks"), "mode", "?"),
             (long long)integer_of(status, "data_epoch", 0),
             real_of(status, "loss"));
    return true;
}

/* The first point of the curve that is at the target; NULL: none. */
static const json_t *reach(const json_t *curve, double target)
{
    for (size_t i = 0; i < json_array_size(curve); i++)
        if (real_of(json_array_get(curve, i), "loss") <= target)
            return json_array_get(curve, i);
    return NULL;
}

static void put_row(struct output *output, unsigned bound, const json_t *status,
                    double *target)
{
    const json_t *clock = json_object_get(status, "clocks");
    const json_t *curve = json_object_get(status, "curve");
    const json_t *end = json_array_get(curve, json_array_size(curve) - 1);
    if (isnan(*target))
        *target = real_of(end, "loss") * TARGET_FACTOR;
    const json_t *there = reach(curve, *target);
    output_row(
        output,
        (union value[FIELD_COUNT]){
            {.text = text_of(clock, "mode", "?")},
            {.integer = bound},
            {.real = train_waited(status)},
            {.integer = train_staleness(status)},
            {.integer = there ? integer_of(there, "data_epoch", 0) + 1 : -1},
            {.real = there ? real_of(there, "seconds") : (double)NAN},
            {.real = end ? real_of(end, "seconds") : (double)NAN},
            {.real = end ? real_of(end, "loss") : (double)NAN},
            {.integer = train_sum(status, "worker", "pulls")}});
}

static enum gw_err run_one(const struct train_spec *pattern, unsigned bound,
                           struct output *output, double *target,
                           struct gw_error *why)
{
    struct train_spec spec = *pattern;
    json_t *last = NULL;
    char mode[16];
    const struct train_observer observer = {.context = &last,
                                            .status = on_status};
    snprintf(mode, sizeof mode, "ssp:%u", bound);
    spec.run.work.mode = mode;
    enum gw_err code = train_run(&spec, &observer, why);
    if (!code)
        put_row(output, bound, last, target);
    else
        gw_wrap(why, code, "%s", mode);
    json_decref(last);
    return code;
}

int train_sweep(struct train_spec *spec, uint64_t compute_ns, double target)
{
    struct gw_error why = {.code = GW_OK};
    struct output *output;
    spec->delays.random = spec->delays.is_set = true;
    for (unsigned k = 0; k < spec->run.ranks && !compute_ns; k++)
        spec->delays.ns[k] = COMPUTE_NS;
    enum gw_err code = output_begin("psnode train --sweep", common.output,
                                    fields, FIELD_COUNT, &output, &why);
    if (code)
        return complain(&why);
    output_spare(output, "bound seconds staleness");
    output_note_integer(output, "seed", (int64_t)spec->run.seed);
    for (unsigned i = 0; i < BOUNDS && !code; i++)
        code = run_one(spec, bounds[i], output, &target, &why);
    output_note_real(output, "target", target);
    output_end(&output, code ? &why : NULL, code == GW_EINTR);
    return code ? complain(&why) : 0;
}

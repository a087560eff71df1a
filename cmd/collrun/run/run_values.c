/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * collrun run --values: the numbers themselves. Each element of the input is
 * its place in the whole vector, so the result can be checked by eye: four
 * ranks that add up 0 1 2 3 get 0 4 8 12. The ranks print their buffers into
 * text, before and after the call (run_rank.c); here it becomes a row for each
 * rank.
 */
#include "run.h"

#include "common/command.h"
#include "common/output.h"
#include "pattern_element.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum gw_err run_values_check(const struct pattern *p, struct gw_error *why)
{
    bool whole = p->collective == GW_ALLTOALL || p->collective == GW_GATHER ||
                 p->collective == GW_ALLGATHER || p->collective == GW_SCATTER ||
                 p->collective == GW_REDUCE_SCATTER;
    size_t count = p->count * (whole ? p->ranks : 1);
    if (count > RUN_VALUES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "--values prints at most %d numbers per rank, not %zu; "
                       "use a smaller --bytes",
                       RUN_VALUES_MAX, count);
    if (p->collective == GW_CUSTOM)
        return gw_fail(why, GW_EINVAL,
                       "--values prints whole results, but a rank of a custom "
                       "plan may want only some chunks");
    if (p->type == GW_F16 || p->type == GW_BF16)
        return gw_fail(why, GW_EINVAL,
                       "--values needs a type that holds its sums exactly, "
                       "not %s; use f32, f64 or an integer type",
                       gw_dtype_name(p->type));
    if (p->op == GW_PROD && element_is_float(p->type))
        return gw_fail(why, GW_EINVAL,
                       "--values with prod needs an integer type, not %s",
                       gw_dtype_name(p->type));
    return GW_OK;
}

/* The value of an element of an integer type. */
static int64_t integer(enum gw_dtype type, const unsigned char *element)
{
    uint64_t bits = 0;
    for (size_t i = gw_dtype_size(type); i > 0; i--)
        bits = bits << 8 | element[i - 1];
    return element_wrap(type, (int64_t)bits);
}

static int print_element(enum gw_dtype type, const unsigned char *element,
                         char *text, size_t room)
{
    float f32;
    double f64;
    switch (type) {
    case GW_F32:
        memcpy(&f32, element, sizeof f32);
        return snprintf(text, room, "%.9g", (double)f32);
    case GW_F64:
        memcpy(&f64, element, sizeof f64);
        return snprintf(text, room, "%.12g", f64);
    case GW_U64:
        return snprintf(text, room, "%" PRIu64,
                        (uint64_t)integer(type, element));
    default:
        return snprintf(text, room, "%" PRId64, integer(type, element));
    }
}

void run_values_text(enum gw_dtype type, const void *values, size_t count,
                     char text[RUN_VALUES_ROOM])
{
    const unsigned char *element = values;
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < count && used + 1 < RUN_VALUES_ROOM; i++) {
        if (i > 0)
            text[used++] = ' ';
        int length =
            print_element(type, element, text + used, RUN_VALUES_ROOM - used);
        used += length > 0 ? (size_t)length : 0;
        element += gw_dtype_size(type);
    }
}

static void note_call(struct output *output, const struct run_spec *spec,
                      const char *wire)
{
    const struct pattern *p = &spec->pattern;
    output_note_text(output, "op", gw_collective_name(p->collective));
    if (*spec->plan->algo)
        output_note_text(output, "algo", spec->plan->algo);
    output_note_text(output, "wire", wire);
    output_note_text(output, "dtype", gw_dtype_name(p->type));
    if (gw_collective_reduces(p->collective))
        output_note_text(output, "redop", gw_redop_name(p->op));
    output_note_integer(output, "count", (int64_t)p->count);
}

enum gw_err run_values_print(const struct run_result *result,
                             const struct run_spec *spec, const char *wire,
                             const struct gw_error *error, struct gw_error *why)
{
    static const struct field fields[] = {
        {"rank", NULL, FIELD_INTEGER, 0, false},
        {"before", NULL, FIELD_TEXT, 0, false},
        {"after", NULL, FIELD_TEXT, 0, false},
    };
    struct output *output;
    enum gw_err err =
        output_begin("collrun run --values", common.output, fields,
                     sizeof fields / sizeof *fields, &output, why);
    if (err)
        return err;
    note_call(output, spec, wire);
    output_collect(output);
    for (unsigned rank = 0; result->values && rank < spec->plan->ranks;
         rank++) {
        const struct run_values *values = &result->values[rank];
        output_row(output, (union value[]){{.integer = rank},
                                           {.text = values->before},
                                           {.text = values->after}});
    }
    output_note_integer(output, "wrong", (int64_t)result->total.wrong);
    output_end(&output, error, error && error->code == GW_EINTR);
    return GW_OK;
}

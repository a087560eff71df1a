/* SPDX-License-Identifier: MIT
 *
 * Writes a plan in a format of others. The plan is verified first, since only a
 * right plan has an order of its operations.
 */
#include "write.h"

#include <stdlib.h>
#include <string.h>

static const char *const format_names[] = {
    [GW_FORMAT_MSCCL] = "msccl",
    [GW_FORMAT_GOAL] = "goal",
    [GW_FORMAT_CHAKRA] = "chakra",
    [GW_FORMAT_DOT] = "dot",
};

const char *gw_format_name(enum gw_format format)
{
    return format < GW_FORMATS ? format_names[format] : "?";
}

enum gw_err gw_format_parse(const char *name, enum gw_format *format,
                            struct gw_error *why)
{
    for (unsigned i = 0; i < GW_FORMATS; i++)
        if (strcmp(name, format_names[i]) == 0) {
            *format = (enum gw_format)i;
            return GW_OK;
        }
    return gw_fail(why, GW_EINVAL,
                   "unknown format \"%.32s\"; use msccl, goal, chakra or dot",
                   name);
}

static enum gw_err prove_export(const struct gw_plan *plan,
                                struct gw_error *why)
{
    struct gw_verdict *verdict = malloc(sizeof *verdict);
    enum gw_err err = verdict ? gw_plan_verify(plan, 0, verdict, why)
                              : gw_fail(why, GW_ENOMEM, "verifying a plan");
    free(verdict);
    return err;
}

uint64_t gw__export_bytes(const struct gw__export *e,
                          const struct gw_transfer *transfer)
{
    size_t offset, length;
    if (e->plan->collective == GW_BARRIER)
        return 0;
    gw_plan_extent(e->plan, transfer->chunk, e->options->count,
                   e->options->elem_bytes, &offset, &length);
    return length * e->options->elem_bytes;
}

static enum gw_err write_format(const struct gw__export *e,
                                struct gw_error *why)
{
    switch (e->options->format) {
    case GW_FORMAT_MSCCL:
        return gw__msccl_write(e, why);
    case GW_FORMAT_GOAL:
        return gw__goal_write(e, why);
    case GW_FORMAT_CHAKRA:
        return gw__chakra_write(e, why);
    default:
        return gw__dot_write(e, why);
    }
}

enum gw_err gw_plan_export(const struct gw_plan *plan,
                           const struct gw_export *options, FILE *file,
                           struct gw_error *why)
{
    enum { ELEM_BYTES_MAX = 64 };
    const struct gw__export e = {plan, options, file};
    if (options->format >= GW_FORMATS || options->rank >= plan->ranks ||
        options->elem_bytes == 0 || options->elem_bytes > ELEM_BYTES_MAX ||
        options->count > SIZE_MAX / ELEM_BYTES_MAX)
        return gw_fail(why, GW_EINVAL,
                       "the format, rank or size of an export is out of range");
    enum gw_err err = prove_export(plan, why);
    if (!err)
        err = write_format(&e, why);
    if (!err && (fflush(file) || ferror(file)))
        err = gw_fail_errno(why, "exporting a plan");
    return err;
}

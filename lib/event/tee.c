/* SPDX-License-Identifier: MIT
 *
 * One event stream to several sinks: a recording, a trace and the live view at
 * once.
 */
#include "event/sink.h"

#include <stdlib.h>

struct tee {
    struct gw_sink sink;
    size_t count;
    struct gw_sink *sinks[];
};

static void tee_emit(struct gw_sink *sink, const struct gw_event *event)
{
    struct tee *tee = (struct tee *)sink;
    for (size_t i = 0; i < tee->count; i++)
        gw_emit(tee->sinks[i], event);
}

static void tee_close(struct gw_sink *sink)
{
    struct tee *tee = (struct tee *)sink;
    for (size_t i = 0; i < tee->count; i++)
        gw_sink_close(&tee->sinks[i]);
    free(tee);
}

enum gw_err gw_sink_tee(struct gw_sink *const *sinks, size_t count,
                        struct gw_sink **sink, struct gw_error *why)
{
    enum gw_err code = gw__sink_new(sizeof(struct tee) + count * sizeof *sinks,
                                    tee_emit, tee_close, sink, why);
    if (code)
        return code;
    struct tee *tee = (struct tee *)*sink;
    tee->count = count;
    for (size_t i = 0; i < count; i++)
        tee->sinks[i] = sinks[i];
    return GW_OK;
}

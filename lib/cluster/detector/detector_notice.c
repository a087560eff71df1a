/* SPDX-License-Identifier: MIT
 *
 * What the detector is asked and what it tells, as bytes; see detector.h.
 */
#include "detector_parts.h"

enum { NOTICE_BYTES = 64 };

size_t gw__detector_ask_view(uint8_t out[GW__DETECTOR_ASK_MAX],
                             const struct gw__view *view)
{
    struct gw__writer w = gw__writer_on(out, GW__DETECTOR_ASK_MAX);
    gw__put_u8(&w, GW__ASK_VIEW);
    gw__put_view(&w, view);
    return w.used;
}

size_t gw__detector_ask_heard(uint8_t out[GW__DETECTOR_ASK_MAX], unsigned node,
                              uint64_t incarnation)
{
    struct gw__writer w = gw__writer_on(out, GW__DETECTOR_ASK_MAX);
    gw__put_u8(&w, GW__ASK_HEARD);
    gw__put_u8(&w, node);
    gw__put_u64(&w, incarnation);
    return w.used;
}

size_t gw__detector_ask_standing(uint8_t out[GW__DETECTOR_ASK_MAX],
                                 const struct gw__standing *standing)
{
    struct gw__writer w = gw__writer_on(out, GW__DETECTOR_ASK_MAX);
    gw__put_u8(&w, GW__ASK_STANDING);
    gw__put_standing(&w, standing);
    return w.used;
}

static void put_laggard(struct gw__writer *w, const struct gw__laggard *l)
{
    gw__put_u8(w, l->lag);
    gw__put_u8(w, l->node);
    gw__put_u8(w, l->waiter);
    gw__put_u64(w, l->op);
    gw__put_u8(w, l->phase);
    gw__put_u64(w, l->cycle);
}

static void get_laggard(struct gw__reader *r, struct gw__laggard *l)
{
    l->lag = (enum gw__lag)gw__get_u8_below(r, GW__LAGS);
    l->node = gw__get_u8_below(r, GW__NODES_MAX);
    l->waiter = gw__get_u8_below(r, GW__NODES_MAX);
    l->op = gw__get_u64(r);
    l->phase = (enum gw__phase)gw__get_u8_below(r, GW__PHASE_COUNT);
    l->cycle = gw__get_u64(r);
}

void gw__notice_tell(const struct gw__notice *notice,
                     const struct gw__actions *actions)
{
    uint8_t out[NOTICE_BYTES];
    struct gw__writer w = gw__writer_on(out, sizeof out);
    gw__put_u8(&w, notice->kind);
    gw__put_u64(&w, notice->epoch);
    gw__put_u8(&w, notice->node);
    gw__put_id(&w, notice->incarnation);
    gw__put_u8(&w, notice->certain);
    gw__put_u64(&w, notice->silence_ns);
    gw__put_u32(&w, notice->phi_milli);
    put_laggard(&w, &notice->laggard);
    actions->tell(actions->driver, out, w.used);
}

enum gw_err gw__notice_decode(const void *data, size_t bytes,
                              struct gw__notice *notice, struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    *notice =
        (struct gw__notice){.kind = (enum gw__notice_kind)gw__get_u8_below(
                                &r, GW__NOTICE_STUCK + 1)};
    notice->epoch = gw__get_u64(&r);
    notice->node = gw__get_u8_below(&r, GW__NODES_MAX);
    notice->incarnation = gw__get_id(&r);
    notice->certain = gw__get_bool(&r);
    notice->silence_ns = gw__get_u64(&r);
    notice->phi_milli = gw__get_u32(&r);
    get_laggard(&r, &notice->laggard);
    if (!gw__reader_done(&r))
        return gw_fail(why, GW_EDATA, "%zu bytes that are no notice", bytes);
    return GW_OK;
}

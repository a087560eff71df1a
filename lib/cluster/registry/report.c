/* SPDX-License-Identifier: MIT
 *
 * Encodes and decodes a report; see report.h.
 */
#include "report.h"

const struct gw__holdings *gw__report_of(const struct gw__report *report,
                                         uint64_t op)
{
    if (op < report->low_watermark ||
        op - report->low_watermark >= report->op_count)
        return NULL;
    return &report->ops[op - report->low_watermark];
}

bool gw__holdings_final(const struct gw__holdings *holdings, unsigned chunk)
{
    return holdings->finals[chunk / 64] >> chunk % 64 & 1;
}

static void put_holdings(struct gw__writer *w, const struct gw__holdings *h)
{
    gw__put_u8(w, h->members);
    gw__put_u16(w, h->chunks);
    for (unsigned c = 0; c < h->chunks; c++)
        gw__put_u64(w, h->sets[c]);
    for (unsigned c = 0; c < h->chunks; c += 64)
        gw__put_u64(w, h->finals[c / 64]);
}

void gw__put_report(struct gw__writer *w, const struct gw__report *report)
{
    gw__put_u64(w, report->low_watermark);
    gw__put_u8(w, report->op_count);
    for (unsigned i = 0; i < report->op_count; i++)
        put_holdings(w, &report->ops[i]);
}

static void get_holdings(struct gw__reader *r, struct gw__holdings *h)
{
    h->members = gw__get_u8_below(r, GW__NODES_MAX + 1);
    h->chunks = gw__get_u16_below(r, GW__REPORT_CHUNKS_MAX + 1);
    gw__reader_demand(r, h->chunks > 0);
    for (unsigned c = 0; c < h->chunks; c++)
        h->sets[c] = gw__get_u64(r);
    for (unsigned c = 0; c < h->chunks; c += 64) {
        unsigned bits = h->chunks - c;
        h->finals[c / 64] = gw__get_u64(r);
        gw__reader_demand(r, bits >= 64 || h->finals[c / 64] >> bits == 0);
    }
    for (unsigned c = 0; c < h->chunks; c++)
        gw__reader_demand(r, h->sets[c] || !gw__holdings_final(h, c));
}

void gw__get_report(struct gw__reader *r, struct gw__report *report)
{
    *report = (struct gw__report){.low_watermark = gw__get_u64(r)};
    report->op_count = gw__get_u8_below(r, GW__REPORT_OPS_MAX + 1);
    gw__reader_demand(r,
                      report->low_watermark <= UINT64_MAX - GW__REPORT_OPS_MAX);
    for (unsigned i = 0; i < report->op_count && !r->bad; i++)
        get_holdings(r, &report->ops[i]);
}

/* SPDX-License-Identifier: MIT
 *
 * Encodes and decodes a report; see report.h. holdings.c has the holdings of an
 * op.
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

void gw__put_report(struct gw__writer *w, const struct gw__report *report)
{
    gw__put_u64(w, report->low_watermark);
    gw__put_u8(w, report->op_count);
    for (unsigned i = 0; i < report->op_count; i++)
        gw__put_holdings(w, &report->ops[i]);
}

void gw__get_report(struct gw__reader *r, struct gw__report *report)
{
    *report = (struct gw__report){.low_watermark = gw__get_u64(r)};
    report->op_count = gw__get_u8_below(r, GW__REPORT_OPS_MAX + 1);
    gw__reader_demand(r,
                      report->low_watermark <= UINT64_MAX - GW__REPORT_OPS_MAX);
    for (unsigned i = 0; i < report->op_count && !r->bad; i++)
        gw__get_holdings(r, &report->ops[i]);
}

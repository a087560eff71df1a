/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See event_log.h.
 */
#include "event_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct entry *event_log_write(struct event_log *j, uint64_t time_ns,
                              enum weight weight, const char *format, ...)
{
    struct entry *entry = &j->entries[j->written++ % EVENT_LOG_KEPT];
    *entry = (struct entry){.time_ns = time_ns, .weight = weight};
    va_list args;
    va_start(args, format);
    vsnprintf(entry->text, sizeof entry->text, format, args);
    va_end(args);
    return entry;
}

unsigned event_log_count(const struct event_log *j)
{
    return j->written < EVENT_LOG_KEPT ? (unsigned)j->written : EVENT_LOG_KEPT;
}

const struct entry *event_log_at(const struct event_log *j, unsigned back)
{
    return &j->entries[(j->written - 1 - back) % EVENT_LOG_KEPT];
}

void format_ns(uint64_t ns, char out[16])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double number = (double)ns;
    unsigned unit = 0;
    while (unit < 3 && number >= 999.5) {
        number /= 1000;
        unit++;
    }
    int decimals = unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    snprintf(out, 16, "%.*f %s", decimals, number, units[unit]);
}

/* Can the last line include this op? A few of another kind among many do not
 * end it: a run has a small one now and then. */
static bool continues(const struct event_log *j, uint32_t op, bool same)
{
    enum { FEW = 16 };
    return j->written > 0 && event_log_at(j, 0)->ops &&
           op == j->first_op + j->ops + j->others &&
           (same || (j->others + 1) * FEW <= j->ops);
}

static void begin_line(struct event_log *j, uint32_t op, const char *kind)
{
    snprintf(j->kind, sizeof j->kind, "%s", kind);
    j->first_op = op;
    j->ops = j->others = 0;
    j->ops_ns = 0;
}

static void write_line(struct event_log *j, uint64_t time_ns, uint32_t op)
{
    char took[16], ops[40], others[32] = "";
    format_ns(j->ops_ns / j->ops, took);
    if (op == j->first_op)
        snprintf(ops, sizeof ops, "op %" PRIu32, op);
    else
        snprintf(ops, sizeof ops, "ops %" PRIu32 " to %" PRIu32, j->first_op,
                 op);
    if (j->others > 0)
        snprintf(others, sizeof others, ", and %u other%s", j->others,
                 j->others == 1 ? "" : "s");
    event_log_write(j, time_ns, WEIGHT_INFO, "%s %s: %s%s%s", ops, j->kind,
                    took, j->ops > 1 ? " each" : "", others)
        ->ops = true;
}

void event_log_op(struct event_log *j, uint64_t time_ns, uint32_t op,
                  const char *kind, uint64_t took_ns)
{
    bool same = strcmp(kind, j->kind) == 0;
    if (continues(j, op, same)) {
        j->written--; /* its line is rewritten */
    } else {
        begin_line(j, op, kind);
        same = true;
    }
    j->ops += same;
    j->others += !same;
    j->ops_ns += same ? took_ns : 0;
    write_line(j, time_ns, op);
}

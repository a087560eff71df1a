/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The log of the view, in sentences: the last few hundred. Successful ops in a
 * row share a line, so that they do not displace the rest.
 */
#ifndef RINGTOP_EVENT_LOG_H
#define RINGTOP_EVENT_LOG_H

#include <gradwire/gradwire.h>

enum weight { WEIGHT_INFO, WEIGHT_GOOD, WEIGHT_WARN, WEIGHT_BAD };

enum { EVENT_LOG_KEPT = 256, ENTRY_BYTES = 104 };

struct entry {
    uint64_t time_ns;
    enum weight weight;
    bool failover; /* belongs to a failure */
    bool ops;      /* successful ops */
    char text[ENTRY_BYTES];
};

struct event_log {
    struct entry entries[EVENT_LOG_KEPT];
    uint64_t written; /* entry i is at i % EVENT_LOG_KEPT */
    /* If the last line is about ops, their kind. */
    char kind[48];
    uint32_t first_op;
    unsigned ops, others; /* of that kind, and not */
    uint64_t ops_ns;      /* of those of the kind */
};

/* Writes a line. */
struct entry *event_log_write(struct event_log *log, uint64_t time_ns,
                              enum weight weight, const char *format, ...)
    GW_PRINTF(4, 5);
/* "op 3 allreduce 64K: 1.4 ms", or "ops 3 to 9 ..., 1.4 ms each". */
void event_log_op(struct event_log *log, uint64_t time_ns, uint32_t op,
                  const char *kind, uint64_t took_ns);
/* Entries that are kept; [0] is the newest. */
unsigned event_log_count(const struct event_log *log);
const struct entry *event_log_at(const struct event_log *log, unsigned back);

/* "340 ns", "1.4 ms", "12.5 s". */
void format_ns(uint64_t ns, char out[16]);

#endif

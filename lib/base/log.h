/* SPDX-License-Identifier: MIT
 *
 * The log: decisions of the library as lines of text, for the environment
 * variable GRADWIRE_LOG.
 *
 *     GRADWIRE_LOG=info         decisions: algorithms chosen, members, views,
 *                               leaders, slots
 *     GRADWIRE_LOG=debug        also each step of the protocols (failpoint.h)
 *     GRADWIRE_LOG=debug:FILE   appended to FILE instead of standard error
 *
 * A line is one write of time, process, module and message. The time is in
 * seconds of gw_now_ns, as in events. Without the variable, a place that logs
 * costs the load of a global and a branch; none is in a loop over data.
 */
#ifndef GW__LOG_H
#define GW__LOG_H

#include <gradwire/base.h>

#include <stdatomic.h>

enum gw__log_level {
    GW__LOG_UNREAD = -1,
    GW__LOG_OFF,
    GW__LOG_INFO,
    GW__LOG_DEBUG
};

extern _Atomic int gw__log_level;
int gw__log_read_level(void);

static inline bool gw__log_has(enum gw__log_level level)
{
    int now = atomic_load_explicit(&gw__log_level, memory_order_relaxed);
    if (__builtin_expect(now == GW__LOG_UNREAD, false))
        now = gw__log_read_level();
    return now >= (int)level;
}

/* One line, from any thread. `module` is the name of a folder of lib/. */
void gw__log_write(const char *module, const char *format, ...) GW_PRINTF(2, 3);

/* The arguments are evaluated only if the line is written. */
#define gw__log_info(...)                                                      \
    do {                                                                       \
        if (gw__log_has(GW__LOG_INFO))                                         \
            gw__log_write(__VA_ARGS__);                                        \
    } while (0)

/* GW_EINVAL: the value of GRADWIRE_LOG is not one of the above. GW_ESYS and
 * others: the file cannot be opened. */
GW_MUST_CHECK enum gw_err gw__log_check(struct gw_error *why);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A process of this host as it looks from outside: has it ended, is it stopped,
 * and for how long did its threads wait for a CPU? What proc(5) shows of it,
 * read only when somebody has been silent for a while:
 *
 *     /proc/PID/stat                  the state, and the start time, without
 *                                     which the pid may be another's by now
 *     /proc/PID/task/TID/stat         whether a thread is runnable
 *     /proc/PID/task/TID/schedstat    for how long it ran, and waited to, and
 *                                     how often it was put on a CPU
 *
 * Of the threads only those count that carry control messages, which have names
 * by which they are known: threads that compute wait for a CPU all the time.
 *
 * Where /proc is hidden (hidepid), or has no schedstat, less is seen.
 */
#ifndef GW__PROCESS_WATCH_LOOK_H
#define GW__PROCESS_WATCH_LOOK_H

#include "process_watch.h"

enum gw__process_watch_state {
    GW__PROCESS_WATCH_HIDDEN,
    GW__PROCESS_WATCH_ENDED,
    GW__PROCESS_WATCH_STOPPED,
    GW__PROCESS_WATCH_AWAKE
};

enum { GW__LOOK_THREADS = 8 };

/* The names: of a thread that drives a machine, and what those of its libzmq
 * begin with (the number before ZMQ_THREAD_NAME_PREFIX's slash). */
#define GW__CONTROL_THREAD  "gw-control"
#define GW__CONTROL_THREADS 7

/* What the look before has shown; zeroed before the first. */
struct gw__process_watch_look {
    struct gw__process_watch_id id;
    uint64_t looked_ns;
    unsigned count;
    struct gw__thread_seen {
        uint32_t tid;
        bool runnable;
        uint64_t ran_ns, waited_ns, slices;
    } threads[GW__LOOK_THREADS]; /* those that carry control messages */
};

struct gw__process_watch_seen {
    enum gw__process_watch_state state;
    /* The longest wait of such a thread for a CPU since the look before, if
     * that was of late. One that ran twice meanwhile has kept up. */
    uint64_t waited_ns;
};

/* `id` must be of this host (its `host` is not looked at). */
void gw__process_watch_look(struct gw__process_watch_look *look,
                            const struct gw__process_watch_id *id,
                            uint64_t now_ns,
                            struct gw__process_watch_seen *seen);
/* The state as proc(5) writes it, and the start time; false: it is not seen. */
bool gw__process_watch_stat(uint32_t pid, char *state,
                            unsigned long long *start);
/* Only the state; `start` 0: whoever has the pid. */
enum gw__process_watch_state gw__process_watch_state(uint32_t pid,
                                                     uint64_t start);

/* The beginning of a file of /proc, as a text; false when it cannot be read. */
bool gw__process_watch_read(const char *path, char *text, size_t room);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The state of another process of this host: has it ended, is it stopped, and
 * how long did its threads wait for a CPU? Read from proc(5), and only when a
 * process has been silent for a while:
 *
 *     /proc/PID/stat                  the state, and the start time, since the
 *                                     pid may have been reused
 *     /proc/PID/task/TID/stat         whether a thread is runnable
 *     /proc/PID/task/TID/schedstat    its run time, its wait time and how often
 *                                     it was scheduled
 *
 * Only the threads that carry control messages count. They are known by their
 * names. Compute threads wait for a CPU all the time.
 *
 * Where /proc is hidden (hidepid) or has no schedstat, less can be found out.
 */
#ifndef GW__PROCESS_INSPECT_H
#define GW__PROCESS_INSPECT_H

#include "process_watch.h"

enum gw__process_watch_state {
    GW__PROCESS_WATCH_HIDDEN,
    GW__PROCESS_WATCH_ENDED,
    GW__PROCESS_WATCH_STOPPED,
    GW__PROCESS_WATCH_AWAKE
};

enum { GW__INSPECT_THREADS = 8 };

/* Names of threads: of the thread that drives a machine, and the prefix of its
 * libzmq threads (the number before ZMQ_THREAD_NAME_PREFIX's slash). */
#define GW__CONTROL_THREAD  "gw-control"
#define GW__CONTROL_THREADS 7

/* The results of the previous look; zeroed before the first one. */
struct gw__process_inspection {
    struct gw__process_watch_id id;
    uint64_t inspected_ns;
    unsigned count;
    struct gw__thread_sample {
        uint32_t tid;
        bool runnable;
        uint64_t ran_ns, waited_ns, slices;
    } threads[GW__INSPECT_THREADS]; /* those that carry control messages */
};

struct gw__process_observation {
    enum gw__process_watch_state state;
    /* The time for which such a thread waited for a CPU since the previous
     * look, if that was recent: of the thread that waited longest. */
    uint64_t waited_ns;
};

/* `id` must be of this host (its `host` is not checked). */
void gw__process_inspect(struct gw__process_inspection *previous,
                         const struct gw__process_watch_id *id, uint64_t now_ns,
                         struct gw__process_observation *observed);
/* The state letter of proc(5) and the start time. False: not visible. */
bool gw__process_watch_stat(uint32_t pid, char *state,
                            unsigned long long *start);
/* Only the state; `start` 0: any process with this pid. */
enum gw__process_watch_state gw__process_watch_state(uint32_t pid,
                                                     uint64_t start);

/* The beginning of a file in /proc as text. False: it cannot be read. */
bool gw__process_watch_read(const char *path, char *text, size_t room);

#endif

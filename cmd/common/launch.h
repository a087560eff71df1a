/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starts n ranks on this machine as child processes of a supervisor, which is
 * the tool itself, and collects their reports.
 *
 * Nothing is left over: children die with the supervisor (parent-death signal),
 * the supervisor waits for all of them, and wires leave no files. Ctrl-C asks
 * the ranks to stop (SIGTERM) and kills them after 500 ms.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <gradwire/gradwire.h>

struct reporter;

struct launch {
    unsigned ranks;
    /* Not NULL: an engine has started the ranks, this process is one of them
     * (launched.h), and launch_run starts only that one. The reports of all
     * ranks arrive at rank 0. Elsewhere neither function below is called. */
    const struct launched *launched;
    /* Not NULL: each rank is this program, ended by NULL, instead of rank_main.
     * It finds its place in GW_* variables (gradwire/launch.h). Its output is
     * this process's, and rank 0 has its input. */
    char **program;
    /* Not NULL: receives the exit status of the first rank that failed, or 128
     * plus the signal; 0 when none failed, or when one could not be started. */
    int *program_status;
    /* The word for a rank in sentences: "stage"; NULL: "rank". */
    const char *rank_name;
    /* The last so many ranks are "server 0" and so on and serve the others.
     * They have no result, and are ended (SIGTERM) after the others. */
    unsigned servers;
    bool no_comm; /* rank_main gets no communicator: NULL */
    /* Not NULL: runs in the supervisor every 10 ms, once all ranks have been
     * forked. Its error ends the run. */
    enum gw_err (*on_poll)(void *context, struct gw_error *why);
    const char *wire;
    uint64_t timeout_ns; /* an op without progress; 0: the library's default */
    const char *interface;
    bool insecure, no_windows;
    bool no_pin; /* else one CPU per rank where launch_pin.c allows */
    size_t slice_bytes;
    unsigned lanes;
    /* A rank without a sign of life for so long is killed and named, like one
     * killed from outside, if it was stopped. If it was not, it hangs, and has
     * eight times as long. A thread of the rank gives the signs, so computing
     * does not delay them. 0: no limit. */
    unsigned silence_ms;
    /* The run is rank 0's: it goes on when another rank dies or fails. Rank 0's
     * result is the result of the run. */
    bool expendable;
    bool events; /* ranks send theirs, from rank_main on, to on_event */
    /* Runs in every child, with a connected communicator. `report` sends bytes
     * to the supervisor. Its result is the rank's result; on failure *why is
     * the rank's sentence. It should check `interrupted` now and then. */
    enum gw_err (*rank_main)(struct gw_comm *comm, struct reporter *report,
                             void *context, struct gw_error *why);
    void *context;
    /* Run in the supervisor, in its one thread, in order of arrival. */
    void (*on_report)(void *context, unsigned rank, const void *data,
                      size_t bytes);
    void (*on_event)(void *context, const struct gw_event *event);
};

unsigned report_rank(const struct reporter *report);
/* From a rank; blocks when the pipe is full. */
void report_send(struct reporter *report, const void *data, size_t bytes);
/* The sink for a rank's events: not to be closed. One thread at a time emits.
 */
struct gw_sink *report_events(struct reporter *report);

/* Starts, supervises, collects. Within 1 s of a rank's death or failure all
 * ranks have ended and *why has the most informative sentence: a killed rank is
 * named with its signal ("rank 2 (pid 4711) was killed by signal 9 (Killed);
 * rank 0: allreduce op 57: ..."). GW_EINTR after Ctrl-C.
 *
 * Under an engine, rank 0 has this sentence about all ranks. The others have
 * one about themselves, and do not print it when rank 0 has received it. */
GW_MUST_CHECK enum gw_err launch_run(const struct launch *launch,
                                     struct gw_error *why);

#endif

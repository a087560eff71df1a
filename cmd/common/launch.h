/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Starts n ranks on this machine as child processes of a supervisor, which is
 * the tool itself, and collects what they report.
 *
 * Nothing is left behind: children die with the supervisor (parent-death
 * signal), the supervisor waits for all of them; wires leave no files.
 * Ctrl-C asks the ranks to stop (SIGTERM), then after 500 ms kills them.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <gradwire/gradwire.h>

struct reporter;

struct launch {
    unsigned ranks;
    /* Not NULL: an engine has started the ranks, this process is one of them
     * (placed.h), and launch_run starts only that one. What all of them report
     * arrives at rank 0; elsewhere neither function below is called. */
    const struct placed *placed;
    /* Not NULL: instead of rank_main each rank is this program, ended by NULL,
     * which finds its place in GW_* variables (gradwire/place.h). Its output is
     * this process's, and rank 0 has its input. */
    char **program;
    /* Not NULL: receives the exit status of the first of them that failed, or
     * 128 and the signal; 0 when none did, or when one could not be started. */
    int *program_status;
    /* What sentences call one of them: "stage"; NULL: "rank". */
    const char *rank_name;
    /* The last so many ranks are "server 0" and so on, and serve the others:
     * they have no result to give, and end (SIGTERM) when those have. */
    unsigned servers;
    bool no_comm; /* rank_main gets no communicator: NULL */
    /* Not NULL: runs in the supervisor every 10 ms, from when all ranks have
     * been forked; its error ends the run. */
    enum gw_err (*look)(void *context, struct gw_error *why);
    const char *wire;
    uint64_t timeout_ns; /* an op without progress; 0: the library's default */
    const char *interface;
    bool insecure, no_windows;
    bool no_pin; /* else a CPU each, in turn (launch_pin.c says when) */
    size_t slice_bytes;
    unsigned lanes;
    /* A rank that gives no sign of life for so long (it was stopped; if not, it
     * hangs, and eight times as long) is ended and named, as one that was
     * killed is. A thread of the rank gives it, so computing does not keep it
     * back. 0: nobody looks. */
    unsigned silence_ms;
    /* The run is rank 0's: another one may die, or fail, and it goes on. Its
     * result is the run's. */
    bool expendable;
    bool events; /* ranks send theirs, from rank_main on, to on_event */
    /* Runs in every child, with a connected communicator. `report` sends bytes
     * to the supervisor. Its result is the rank's result; on failure *why is
     * the rank's sentence. Looks at `interrupted` now and then. */
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
/* Where a rank's events go: not to be closed. One thread at a time emits. */
struct gw_sink *report_events(struct reporter *report);

/* Starts, supervises, collects. Within 1 s of a rank's death or failure all
 * ranks are gone and *why holds the sentence that says most: a rank that was
 * killed is named with its signal ("rank 2 (pid 4711) was killed by signal 9
 * (Killed); rank 0: allreduce op 57: ..."). GW_EINTR after Ctrl-C.
 *
 * Under an engine rank 0 has this sentence about all of them, the others about
 * themselves, and hold their tongue when rank 0 has heard it. */
GW_MUST_CHECK enum gw_err launch_run(const struct launch *launch,
                                     struct gw_error *why);

#endif

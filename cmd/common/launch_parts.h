/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of launching, private to launch*.c: the frames that travel
 * from a rank to its supervisor (launch_frames.c), the life of a rank
 * (launch_rank.c, launch_pin.c) and the sentence that tells how a run ended
 * (launch_verdict.c). launch.c joins them.
 */
#ifndef LAUNCH_PARTS_H
#define LAUNCH_PARTS_H

#include "launch.h"

#include <poll.h>
#include <signal.h>
#include <sys/types.h>

/* ---- frames: what a rank writes into its pipe ---- */

enum frame_kind {
    FRAME_REPORT = 1, /* bytes of the command's own */
    FRAME_EVENTS,     /* whole struct gw_event records */
    FRAME_RESULT      /* one struct gw_error, the rank's last word */
};
enum { FRAME_BYTES_MAX = 1 << 20 };

struct frame {
    uint32_t kind; /* enum frame_kind */
    uint32_t bytes;
    const unsigned char *data; /* until the next frames_pull; not aligned */
};

/* Bytes that came through a pipe and are not yet a whole frame. Zeroed is
 * empty. */
struct frames {
    unsigned char *buffer;
    size_t capacity, begin, end;
};

/* Writes one frame, blocking; false when nobody reads any more. */
bool frame_write(int fd, enum frame_kind kind, const void *data, size_t bytes);
/* Reads what there is from a non-blocking `fd`, after frames_next has said
 * GW_PENDING. GW_OK: something came. GW_PENDING: nothing now. GW_ECLOSED: the
 * writer is gone. */
GW_MUST_CHECK enum gw_err frames_pull(struct frames *frames, int fd,
                                      struct gw_error *why);
/* GW_OK and the next whole frame, GW_PENDING when there is none yet, or
 * GW_EDATA when the bytes are no frame. */
GW_MUST_CHECK enum gw_err
frames_next(struct frames *frames, struct frame *frame, struct gw_error *why);
void frames_fini(struct frames *frames);

/* ---- one rank ---- */

/* What a child gets from the supervisor beside the launch itself. */
struct birth {
    unsigned rank;
    int fd; /* its end of the pipe */
    pid_t supervisor;
    const char *rendezvous;
    const sigset_t *signals; /* the mask from before the launch */
};

/* The whole life of a child: connects, runs rank_main, reports, leaves. */
_Noreturn void rank_live(const struct launch *launch,
                         const struct birth *birth);

/* Gives this process the CPU that is its rank's turn. */
void rank_pin(const struct launch *launch, unsigned rank);

/* ---- how it ended ---- */

/* How one rank ended. */
struct ending {
    pid_t pid;
    int status;    /* of waitpid */
    bool told;     /* it gave a result before it ended */
    bool shot;     /* the supervisor ended it */
    uint64_t turn; /* 1 for the first that ended, and so on */
    struct gw_error result;
};

/* The one result of the run and the sentence that says most about it: the dead
 * first, then a cause, then a consequence. Pure. */
GW_MUST_CHECK enum gw_err verdict_of(const struct ending *endings,
                                     unsigned ranks, struct gw_error *why);

/* ---- the supervisor ---- */

struct child {
    int fd; /* -1: closed */
    bool ended;
    struct frames frames;
};

struct supervisor {
    const struct launch *launch;
    char rendezvous[64];
    unsigned started;
    struct child *children; /* `ranks` of each */
    struct ending *endings;
    struct pollfd *polls; /* one more: the signalfd */
    unsigned ended, told;
    uint64_t kill_at_ns; /* 0: not decided */
    unsigned interrupts;
    int signal_fd;
    sigset_t old_mask;
    struct gw_error error; /* of the supervisor itself */
};

/* Blocks the signals and makes room; *s needs supervisor_fini in any case. */
GW_MUST_CHECK enum gw_err supervisor_init(struct supervisor *s,
                                          const struct launch *launch,
                                          struct gw_error *why);
void supervisor_fini(struct supervisor *s);
/* Forks the next rank; returns in the supervisor only. */
GW_MUST_CHECK enum gw_err start_rank(struct supervisor *s, unsigned rank,
                                     struct gw_error *why);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of launching, private to launch*.c: the frames from a rank to its
 * supervisor (launch_frames.c), the life of a rank (launch_rank.c,
 * launch_pin.c) and its reports (launch_report.c), the detection of silent
 * ranks (launch_silence.c), and the sentence about the end of the run
 * (launch_verdict.c). launch.c joins them.
 */
#ifndef LAUNCH_PARTS_H
#define LAUNCH_PARTS_H

#include "common/launch.h"
#include "common/process.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

/* ---- frames in a rank's pipe ---- */

enum frame_kind {
    FRAME_REPORT = 1, /* bytes of the command's own */
    FRAME_EVENTS,     /* whole struct gw_event records */
    FRAME_RESULT,     /* one struct gw_error, the rank's result */
    FRAME_LIFE        /* empty: a sign of life */
};
enum { FRAME_BYTES_MAX = 1 << 20 };

struct frame {
    uint32_t kind; /* enum frame_kind */
    uint32_t bytes;
    const unsigned char *data; /* until the next frames_pull; not aligned */
};

/* Bytes received from a pipe that are not yet a whole frame. Zeroed is empty.
 */
struct frames {
    unsigned char *buffer;
    size_t capacity, begin, end;
};

/* The header of a frame, and its size. */
enum { FRAME_HEAD_BYTES = 8 };
void frame_head(unsigned char out[FRAME_HEAD_BYTES], enum frame_kind kind,
                size_t bytes);
/* Writes one frame, blocking; false when the reader is gone. */
bool frame_write(int fd, enum frame_kind kind, const void *data, size_t bytes);
/* Reads the available bytes from a non-blocking `fd`, after frames_next has
 * returned GW_PENDING. GW_OK: there were some. GW_PENDING: none now.
 * GW_ECLOSED: the writer is gone. */
GW_MUST_CHECK enum gw_err frames_pull(struct frames *frames, int fd,
                                      struct gw_error *why);
/* GW_OK and the next whole frame, GW_PENDING when it is not complete yet, or
 * GW_EDATA when the bytes are not a frame. */
GW_MUST_CHECK enum gw_err
frames_next(struct frames *frames, struct frame *frame, struct gw_error *why);
void frames_fini(struct frames *frames);

/* ---- reports of a rank ---- */

enum { EVENTS_HELD_MAX = 256 };

/* The writing end of a rank's pipe. The lock keeps the frames of its threads
 * apart, because a write of more than a page is not atomic. */
struct reporter {
    struct gw_sink sink; /* the first member: a sink is a reporter */
    pthread_mutex_t lock;
    unsigned rank;
    int fd;
    int far_fd;          /* for all frames but signs of life; -1: none */
    bool started;        /* events of connecting are not sent */
    unsigned silence_ms; /* 0: no signs of life */
    bool quiet;          /* the signs of life have ended */
    pthread_cond_t quieted;
    pthread_t life;
    unsigned held;
    struct gw_event events[EVENTS_HELD_MAX];
    uint64_t flushed_ns; /* in the time of the events */
    uint64_t pass_ns;    /* when the newest pass began */
    bool slow;           /* passes are long enough to be written one by one */
};
_Static_assert(sizeof(struct gw_event) * EVENTS_HELD_MAX <= FRAME_BYTES_MAX,
               "one frame");

void reporter_init(struct reporter *report, unsigned rank, int fd);
/* From now on events are sent. */
void reporter_start(struct reporter *report);
/* Starts a thread that gives eight signs of life in this time, until the result
 * is sent. GW_ESYS. */
GW_MUST_CHECK enum gw_err reporter_live(struct reporter *report,
                                        unsigned silence_ms,
                                        struct gw_error *why);
/* From now on reports, events and the result go to `fd`. */
void reporter_go_far(struct reporter *report, int fd);
/* Sends the rank's result, the last frame. */
void reporter_result(struct reporter *report, const struct gw_error *result);

/* ---- one rank ---- */

/* The arguments of a child, besides the launch itself. */
struct rank_config {
    unsigned rank;
    const char *name; /* "rank 2" */
    int fd;           /* its end of the pipe */
    pid_t supervisor;
    const char *rendezvous;
    const sigset_t *signals;       /* the mask from before the launch */
    const struct far_address *far; /* rank 0 under an engine; else NULL */
};

/* The time limit for connecting the ranks; 0: the default. */
unsigned rank_connect_ms(const struct launch *launch);
/* The whole life of a child: connects, runs rank_main, reports, leaves. */
_Noreturn void rank_live(const struct launch *launch,
                         const struct rank_config *config);

/* The first step of each child: it dies with the supervisor and receives only
 * SIGTERM. */
void rank_be_child(const struct rank_config *config);
/* The child becomes launch->program. */
_Noreturn void rank_become(const struct launch *launch,
                           const struct rank_config *config);

/* Pins this process to the next CPU for its rank. */
void rank_pin(const struct launch *launch, unsigned rank);

/* ---- the end of a run ---- */

/* The end of one rank. */
struct ending {
    pid_t pid;
    char name[24];      /* "server 0"; "": the common word and the number */
    char host[48];      /* of a remote rank; "": this host */
    int status;         /* of waitpid */
    bool reported;      /* it gave a result before it ended */
    bool killed;        /* the supervisor killed it */
    char state;         /* of proc(5), as it was killed; 0: unknown */
    unsigned silent_ms; /* the silence for which it was killed; else 0 */
    bool program;       /* it was a program, which gives no result */
    uint64_t turn;      /* 1 for the first rank that ended, and so on */
    struct gw_error result;
};

/* The result of the run and its most informative sentence: first a death, then
 * a cause, then a consequence. `name`: the word for a rank. Pure. */
/* "rank 2", or the name in its ending. */
enum { RANK_CALLED_MAX = 48 };
const char *rank_called(const struct ending *endings, const char *name,
                        unsigned rank, char out[RANK_CALLED_MAX]);
GW_MUST_CHECK enum gw_err verdict_of(const struct ending *endings,
                                     unsigned ranks, const char *name,
                                     struct gw_error *why);

/* ---- silent ranks ---- */

enum {
    SIGNS_OF_LIFE = 8, /* per silence limit */
    STARVED_SILENCES = 8
};

/* A clock that stops while its owner does not run. A supervisor that was
 * stopped or had no CPU has not read the ranks' signs of life. A call of
 * attention_update may be late by one sign of life. Time beyond that does not
 * count. Pure. */
struct attention {
    uint64_t silence_ns; /* 0: no limit */
    uint64_t updated_ns, clock_ns;
};
void attention_begin(struct attention *attention, unsigned silence_ms,
                     uint64_t now_ns);
/* To be called after all available input has been read. */
void attention_update(struct attention *attention, uint64_t now_ns);
/* Is the time since `heard_ns`, on this clock, too long? */
bool attention_is_silent(const struct attention *attention,
                         uint64_t last_frame_ns);
/* The number of silences after which the process is declared hung: 1 if it is
 * stopped, STARVED_SILENCES if not; 0: it is not hung. */
unsigned attention_confirms_dead(const struct attention *attention,
                                 uint64_t last_frame_ns, pid_t pid);
/* The longest wait before the next look; -1: no limit. */
int attention_wait_ms(const struct attention *attention);

/* ---- remote ranks ---- */

/* The address at which rank 0's supervisor hears the engine's other ranks. The
 * communicator sends it to them. */
struct far_address {
    char host[64]; /* a number; "": a socket of this host, by name */
    char name[64];
    uint16_t port;
    uint64_t token[2]; /* admits a caller */
};
/* Begins to listen: on `interface`, or, NULL, on this host only. */
GW_MUST_CHECK enum gw_err far_listen(const char *interface,
                                     struct far_address *address, int *fd,
                                     struct gw_error *why);
/* Connects to rank 0's supervisor as rank `rank`. */
GW_MUST_CHECK enum gw_err far_connect(const struct far_address *address,
                                      unsigned rank, int *fd,
                                      struct gw_error *why);
/* Callers that have connected and not sent hello yet. A rank sends it at once.
 * A silent caller must not delay the others, so all are polled together, and
 * when there are too many, the oldest is disconnected. Zeroed is empty. */
enum { FAR_CALLERS_MAX = 64, FAR_HELLO_BYTES = 72 };
struct far_caller {
    int fd;
    unsigned received; /* bytes of its hello received */
    unsigned char hello[FAR_HELLO_BYTES];
};
struct far_callers {
    unsigned count;
    struct far_caller callers[FAR_CALLERS_MAX]; /* oldest first */
};
/* Accepts a caller that has sent hello with the right token; never waits.
 * False: none now. */
bool far_accept(int listen_fd, const struct far_address *address,
                struct far_callers *callers, int *fd, unsigned *rank,
                struct ending *ending);
void far_leave(struct far_callers *callers);

/* ---- the supervisor ---- */

enum child_kind {
    CHILD_NONE, /* not started yet, or not this supervisor's */
    CHILD_HERE, /* a process of this supervisor */
    CHILD_FAR   /* a remote rank */
};

struct child {
    enum child_kind kind;
    int fd; /* -1: closed, or not yet open */
    bool ended;
    uint64_t last_frame_ns; /* on the clock of `attention` */
    struct frames frames;
};

struct supervisor {
    const struct launch *launch;
    char rendezvous[256];
    unsigned expected;      /* results */
    unsigned started;       /* children, remote ranks included */
    struct child *children; /* one per rank */
    struct ending *endings;
    /* Larger than `ranks`: includes the signalfd, the listening socket and the
     * callers. */
    struct pollfd *polls;
    int far_fd; /* -1: no remote ranks */
    struct far_address far;
    struct far_callers callers;
    bool rank0_receives; /* rank 0 receives the frames of this rank */
    unsigned ended, reported;
    struct attention attention;
    uint64_t kill_at_ns; /* 0: not due */
    unsigned interrupts;
    struct signal_file signals;
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
/* The command's word for a rank. */
static inline const char *rank_name(const struct launch *launch)
{
    return launch->rank_name ? launch->rank_name : "rank";
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parts of launching, private to launch*.c: the frames that travel
 * from a rank to its supervisor (launch_frames.c), the life of a rank
 * (launch_rank.c, launch_pin.c) and what it says (launch_report.c), who is
 * silent (launch_silence.c) and the sentence that tells how a run ended
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

/* ---- frames: what a rank writes into its pipe ---- */

enum frame_kind {
    FRAME_REPORT = 1, /* bytes of the command's own */
    FRAME_EVENTS,     /* whole struct gw_event records */
    FRAME_RESULT,     /* one struct gw_error, the rank's last word */
    FRAME_LIFE        /* nothing: the rank is there */
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

/* What stands before the bytes of a frame. */
enum { FRAME_HEAD_BYTES = 8 };
void frame_head(unsigned char out[FRAME_HEAD_BYTES], enum frame_kind kind,
                size_t bytes);
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

/* ---- what a rank says ---- */

enum { EVENTS_HELD_MAX = 256 };

/* The writing end of a rank's pipe. The lock keeps the frames of its threads
 * apart: what is longer than a page is no single write. */
struct reporter {
    struct gw_sink sink; /* the first member: a sink is a reporter */
    pthread_mutex_t lock;
    unsigned rank;
    int fd;
    int far_fd;   /* where all but signs of life go, too; -1: nowhere else */
    bool started; /* what connecting takes is nobody's event */
    unsigned silence_ms; /* 0: no signs of life */
    bool quiet;          /* and no more of them */
    pthread_cond_t quieted;
    pthread_t life;
    unsigned held;
    struct gw_event events[EVENTS_HELD_MAX];
    uint64_t flushed_ns; /* by the events' time */
    uint64_t pass_ns;    /* when the newest pass began */
    bool slow;           /* passes take so long that each is worth a write */
};
_Static_assert(sizeof(struct gw_event) * EVENTS_HELD_MAX <= FRAME_BYTES_MAX,
               "one frame");

void reporter_init(struct reporter *report, unsigned rank, int fd);
/* From now on events count. */
void reporter_start(struct reporter *report);
/* Gives a sign of life eight times in so long, in a thread of its own, until
 * the last word. GW_ESYS. */
GW_MUST_CHECK enum gw_err reporter_live(struct reporter *report,
                                        unsigned silence_ms,
                                        struct gw_error *why);
/* Reports and events go there instead from now on, the last word as well. */
void reporter_go_far(struct reporter *report, int fd);
/* The last word. */
void reporter_result(struct reporter *report, const struct gw_error *result);

/* ---- one rank ---- */

/* What a child gets from the supervisor beside the launch itself. */
struct birth {
    unsigned rank;
    const char *name; /* "rank 2" */
    int fd;           /* its end of the pipe */
    pid_t supervisor;
    const char *rendezvous;
    const sigset_t *signals;       /* the mask from before the launch */
    const struct far_address *far; /* rank 0 under an engine; else NULL */
};

/* How long the ranks may take to meet; 0: the usual time. */
unsigned rank_meeting_ms(const struct launch *launch);
/* The whole life of a child: connects, runs rank_main, reports, leaves. */
_Noreturn void rank_live(const struct launch *launch,
                         const struct birth *birth);

/* What comes first in each child: it must not outlive the supervisor, and hears
 * SIGTERM only. */
void rank_be_child(const struct birth *birth);
/* The child becomes launch->program. */
_Noreturn void rank_become(const struct launch *launch,
                           const struct birth *birth);

/* Gives this process the CPU that is its rank's turn. */
void rank_pin(const struct launch *launch, unsigned rank);

/* ---- how it ended ---- */

/* How one rank ended. */
struct ending {
    pid_t pid;
    char name[24];      /* "server 0"; "": as all, and its number */
    char host[48];      /* of a rank that is not this process's; "": is */
    int status;         /* of waitpid */
    bool told;          /* it gave a result before it ended */
    bool shot;          /* the supervisor ended it */
    unsigned silent_ms; /* and why: no sign of life for so long; else 0 */
    bool program;       /* it was one, of which no result is expected */
    uint64_t turn;      /* 1 for the first that ended, and so on */
    struct gw_error result;
};

/* The one result of the run and the sentence that says most about it: the dead
 * first, then a cause, then a consequence. `name`: what a rank is called. Pure.
 */
/* "rank 2", or the name in its ending. */
enum { RANK_CALLED_MAX = 48 };
const char *rank_called(const struct ending *endings, const char *name,
                        unsigned rank, char out[RANK_CALLED_MAX]);
GW_MUST_CHECK enum gw_err verdict_of(const struct ending *endings,
                                     unsigned ranks, const char *name,
                                     struct gw_error *why);

/* ---- who is silent ---- */

enum {
    SIGNS_OF_LIFE = 8, /* in the time after which a rank is silent */
    STARVED_SILENCES = 8
};

/* A clock that stands still while its owner does: when the supervisor was
 * stopped, or had no CPU, ranks may have spoken, and it would not know. A look
 * at it may be one sign of life late; what is more was no listening. Pure. */
struct attention {
    uint64_t silence_ns; /* 0: nobody looks */
    uint64_t looked_ns, clock_ns;
};
void attention_begin(struct attention *attention, unsigned silence_ms,
                     uint64_t now_ns);
/* To be called after all that there was has been heard. */
void attention_look(struct attention *attention, uint64_t now_ns);
/* Nothing was heard since `heard_ns` on the clock: is that too long? */
bool attention_misses(const struct attention *attention, uint64_t heard_ns);
/* How many silences convict the process: 1 if it is stopped, STARVED_SILENCES
 * if not; 0: it may live. */
unsigned attention_convicts(const struct attention *attention,
                            uint64_t heard_ns, pid_t pid);
/* How long one may wait before the next look; -1: for ever. */
int attention_wait_ms(const struct attention *attention);

/* ---- ranks that are another process's ---- */

/* Where rank 0's supervisor hears the ranks that an engine has started beside
 * it: told to them over the communicator. */
struct far_address {
    char host[64]; /* a number; "": a socket of this host, by name */
    char name[64];
    uint16_t port;
    uint64_t token[2]; /* who has it is one of us */
};
/* Begins to listen: on `interface`, or, NULL, on this host only. */
GW_MUST_CHECK enum gw_err far_listen(const char *interface,
                                     struct far_address *address, int *fd,
                                     struct gw_error *why);
/* The other side: one who is rank `rank`. */
GW_MUST_CHECK enum gw_err far_connect(const struct far_address *address,
                                      unsigned rank, int *fd,
                                      struct gw_error *why);
/* Who has connected and not said hello yet. One of us says it at once; so that
 * nobody who keeps silent holds up the others, all are waited for, and when
 * there are too many, the one who has waited longest is left. Zeroed is empty.
 */
enum { FAR_CALLERS_MAX = 64, FAR_HELLO_BYTES = 72 };
struct far_caller {
    int fd;
    unsigned said; /* bytes of its hello */
    unsigned char hello[FAR_HELLO_BYTES];
};
struct far_callers {
    unsigned count;
    struct far_caller callers[FAR_CALLERS_MAX]; /* in the order of coming */
};
/* Takes one who has said hello, with the token; never waits. False: there is
 * none now. */
bool far_accept(int listen_fd, const struct far_address *address,
                struct far_callers *callers, int *fd, unsigned *rank,
                struct ending *ending);
void far_leave(struct far_callers *callers);

/* ---- the supervisor ---- */

enum child_kind {
    CHILD_NONE, /* not started yet, or never here */
    CHILD_HERE, /* a process of ours */
    CHILD_FAR   /* another supervisor's */
};

struct child {
    enum child_kind kind;
    int fd; /* -1: closed, or not yet open */
    bool ended;
    uint64_t heard_ns; /* by the clock of the attention */
    struct frames frames;
};

struct supervisor {
    const struct launch *launch;
    char rendezvous[256];
    unsigned expected;      /* how many results there are to be */
    unsigned started;       /* and are */
    struct child *children; /* `ranks` of each, by rank */
    struct ending *endings;
    /* More than the ranks: the signalfd, who comes from afar, and who has come.
     */
    struct pollfd *polls;
    int far_fd; /* -1: nobody is to */
    struct far_address far;
    struct far_callers callers;
    bool heard_afar; /* rank 0 hears what our rank says */
    unsigned ended, told;
    struct attention attention;
    uint64_t kill_at_ns; /* 0: not decided */
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

/* SPDX-License-Identifier: MIT
 *
 * Internal interface of lib/coll: communicators, pending calls, and the parts
 * of the library.
 *
 *   call.c     checks a call, locates its chunks, signs it
 *   cost/      chooses the algorithm (choose.c): cost_features.c counts its
 *              operations, cost_model.c prices them; costs.c keeps the measured
 *              costs, tuning_table.c the fastest measured algorithms
 *   program.c  compiles the plan; cache.c keeps compiled plans
 *   engine.c   runs a program over any wire, slice by slice
 *   window/    runs a direct program in one pass over shared memory: window.c
 *              as a request, fast_path.c without one if the call was prepared
 *              and need not wait; both run the steps of prepared_call.c.
 *              loads_run.c runs a user's plan that is not direct
 *   reduce/    the loop over all data: reductions, per instruction set
 *   reducer/   gradients in buckets; place/ rank, size and host of a process
 *   request.c  starts, tests and waits; scratch.c lends memory
 *   progress.c moves all pending calls and fails together; wait.c reports the
 *              ranks they wait for; mismatch.c finds ranks with different calls
 *   comm.c     creates, splits and closes communicators
 *   progress_group.c   moves several communicators of one thread together
 *   elastic.c  makes the quiet communicators of lib/ring; contributors.c runs
 *              their calls, whose chunks travel with their contributor sets
 */
#ifndef GW__COMM_H
#define GW__COMM_H

#include "base/nodes/nodes.h"
#include "coll/cost/tuning_table.h"
#include "program.h"
#include "wire/windows.h"
#include "wire/wire.h"

/* A chunk of a call in this rank's memory. */
struct gw__chunk_memory {
    unsigned char *first; /* the rank's initial value; NULL: none */
    unsigned char *home;  /* target of writes: the result, or scratch */
    size_t bytes;
    uint32_t slices;
};

/* In a signature, next to GW__P2P: an all-reduce of lib/ring, numbered
 * there. */
enum { GW__SHARED = 201 };

struct gw__contributors;  /* coll/elastic.h */
struct gw__rank_memory;   /* coll/window/loads.h */
struct gw__prepared_call; /* coll/window/prepared_call.h */
struct gw__window_call;   /* coll/window/control_block.h */
struct control_block;     /* coll/window/control_block.h */

/* The layout of a staging buffer: slots for one piece of a buffer each, used in
 * turn from `first` on. */
struct gw__staging_slots {
    size_t bytes; /* of a slot; 0: no staging buffer */
    uint32_t count, first;
};

struct gw__staging {
    unsigned char *memory; /* NULL: none */
    struct gw__staging_slots slots;
};

/* The progress of window loads (window/loads_run.c). */
struct gw__loads_run {
    _Atomic uint32_t *progress; /* of each store: its slices */
    unsigned char *rooms;
    size_t room_bytes;
    /* The buffers as peers see them: copies if they cannot map the caller's. */
    unsigned char *in, *out;
    struct gw__rank_memory *ranks;
    uint32_t first; /* all stores before it are complete */
    bool reached;   /* the peers' memory is in `ranks` */
};

enum gw__state { GW__WAITING, GW__ENTERED, GW__LEAVING, GW__DONE };

struct gw_request {
    struct gw_comm *comm;
    struct gw_request *next; /* in order of starting */
    struct gw_call call;
    struct gw__program *program;
    struct gw__signature signature;
    uint32_t op; /* number of the call in its communicator */
    bool is_probed;
    uint64_t begin_ns;
    enum gw__state state;
    size_t elem_bytes;
    size_t slice_bytes;
    unsigned char *scratch; /* homes of chunks that are only forwarded */
    size_t scratch_bytes;
    /* the engine's progress; the arrays follow the request in memory */
    struct gw__chunk_memory *slots; /* per cell */
    uint32_t *written;              /* per write: slices applied */
    uint32_t *pushed;               /* per send: slices handed to the wire */
    uint64_t *send_base;            /* per send: its first slice's number */
    uint32_t *out_at, *in_at;       /* per peer: position in its list */
    uint32_t sends_left, writes_left;
    size_t room_bytes; /* of this allocation */
    /* calls with contributor sets (contributors.c); NULL: none */
    struct gw__contributors *contributors;
    struct gw_nodes *first_sets; /* per cell: of the initial value */
    struct gw_nodes *made_sets;  /* per write: of the version it makes */
    struct gw_nodes *came_sets;  /* per source: of its data */
    /* the same sets as in headers */
    uint64_t *first_packed, *made_packed, *came_packed;
    uint32_t *open_writes; /* per cell: pending writes */
    uint32_t *sets_sent;   /* per peer: sends whose set is sent, if it needs a
                              slice */
    /* windows */
    bool windowed;
    struct gw__prepared_call *prepared; /* referenced; NULL: not passes */
    struct gw__loads_run loads;
    uint64_t turn; /* number of this windowed call in its communicator */
    unsigned seen; /* peers of the touch (then touched) list that are present */
    /* Pieces of buffers that peers cannot map (staging.c). */
    struct gw__staging staging_in, staging_out;
    uint32_t filled, ran, drained; /* pieces */
    bool input_saved;    /* the own input is also read from the staging
                            buffer */
    bool deferred;       /* the own result also goes to the staging buffer */
    unsigned char *copy; /* of the input, for the engine */
};

/* A compiled program and its key. */
struct gw__cached {
    uint64_t key;
    uint64_t used; /* for eviction: its last use */
    struct gw__program *program;
};

/* The algorithm chosen for a collective and a size. */
struct gw__choice {
    uint64_t key;
    int algo; /* gw__algo_number */
};

enum { GW__CACHE = 64, GW__PREPARED = 8, GW__IDLE_MAX = 16 };
/* Slots of a control block: the number of calls by which a rank can be ahead of
 * its readers. */
enum { GW__CONTROL_ENTRIES = 64, GW__HISTORY = GW__CONTROL_ENTRIES };
enum { GW__PROGRESS_GROUP_MAX = 8 };

/* Inputs up to this size travel in the control blocks of window passes. */
enum { GW__EAGER_BYTES = 4096 };

/* Scratch memory that calls borrow; a few of the largest pieces are kept. */
struct gw__scratch {
    unsigned char *memory;
    size_t bytes;
    bool used;
};

/* The peer that the oldest call waits for, and since when; see wait.c. */
struct gw__patience {
    int peer;
    uint32_t op;
    uint64_t progress_ns; /* time of the last progress */
    uint64_t since_ns, checked_ns, reported_ns;
};

struct gw_comm {
    unsigned rank, size;
    struct gw__wire *wire;
    struct gw__windows *windows; /* NULL: messages only */
    unsigned *nodes;             /* of an elastic communicator: [rank]; NULL: a
                                 plain one */
    uint32_t epoch;              /* of its view; plain: 0 */
    bool joined;                 /* elastic: connected */
    const _Atomic bool *stop;    /* while it is true no call moves; or NULL */
    struct gw_comm_config config;
    char *interface, *key_file; /* copies, pointed to by config */
    char wire_name[16];
    uint64_t timeout_ns;
    size_t slice_bytes;
    struct gw_error error;     /* sticky */
    struct gw_request *active; /* in order of starting */
    struct gw_request *idle;
    uint32_t next_op;
    /* This rank's last calls, by op number, to report mismatches. */
    struct gw__signature history[GW__HISTORY];
    uint32_t *p2p_sends, *p2p_recvs; /* per peer: op numbers */
    uint64_t *pushes;                /* per peer: slices on the link */
    struct gw_counters *counters;
    struct gw__program **p2p_programs; /* per peer: send, recv */
    uint64_t last_progress_ns, last_check_ns;
    struct gw__patience patience;
    struct gw__cached cache[GW__CACHE];
    struct gw__choice choices[GW__CACHE];
    uint64_t cache_clock;
    struct gw__scratch scratch[GW__IDLE_MAX];
    /* Bytes of all ranks' buffers from which on peers copy private memory
     * (private_memory.c). */
    size_t copies_from;
    uint64_t staged_bytes;          /* slots of staging buffers used so far */
    bool *out_blocked, *in_blocked; /* progress: links used by older calls */
    struct gw_wire_costs costs;     /* rank 0's, so that all choose the same */
    struct gw__tuning_table tuning_table; /* likewise */
    bool costs_are_common;
    struct control_block **control_blocks; /* per rank; NULL: without windows */
    uint64_t turns;                        /* windowed calls begun */
    uint64_t turns_done;                   /* and ended, in order */
    uint64_t turns_free;                   /* lower turns have a free slot */
    struct gw__prepared_call *kept[GW__PREPARED], *prepared; /* most recently
                                                                used */
    const void **reduce_sources; /* room for size + 1 pointers each */
    void **reduce_dests;
    struct gw_comm
        *progress_with[GW__PROGRESS_GROUP_MAX]; /* the other members of its
                                                       progress group */
    unsigned progress_with_count;
};

/* ---- call.c ---- */

/* GW_OK or GW_EINVAL with the reason. */
enum gw_err gw__call_check(const struct gw_comm *comm,
                           const struct gw_call *call, struct gw_error *why);
/* The most elements per block for which nothing overflows: the bytes of all
 * blocks of a buffer, and the slices of one. */
size_t gw__elems_max(const struct gw_comm *comm, enum gw_dtype type);
/* Elements of the block that the chunk belongs to, as `rank` knows it. */
size_t gw__block_elems(const struct gw_call *call, const struct gw_plan *plan,
                       unsigned rank, unsigned chunk);
/* Offset in elements of `rank`'s initial value in its `in` (or `out` if in
 * place), and of its result in its `out`. */
size_t gw__offset_in(const struct gw_call *call, const struct gw_plan *plan,
                     unsigned rank, unsigned chunk, bool in_place);
size_t gw__offset_out(const struct gw_call *call, const struct gw_plan *plan,
                      unsigned rank, unsigned chunk, bool in_place);
/* Bytes of this rank's `in` and `out` that the call may touch. */
size_t gw__bytes_in(const struct gw_comm *comm, const struct gw_call *call);
size_t gw__bytes_out(const struct gw_comm *comm, const struct gw_call *call);
void gw__call_sign(const struct gw_call *call, unsigned ranks, int algo,
                   struct gw__signature *signature);
/* The call with the hierarchical algorithm, if nothing else was named, the
 * ranks are on several hosts alike, and the buffer is so large that the bytes
 * between the hosts matter; else a copy. */
struct gw_call gw__call_for_hosts(const struct gw_comm *comm,
                                  const struct gw_call *call);
/* "allreduce(1024 f32 sum, ring)" */
void gw__call_describe(const struct gw__signature *signature, char *text,
                       size_t room);

/* ---- cache.c ---- */

/* The program that the call runs: found, or else chosen, made, verified if it
 * is the user's, and compiled. */
enum gw_err gw__program_for(struct gw_comm *comm, const struct gw_call *call,
                            struct gw__program **program, int *algo,
                            struct gw_error *why);
void gw__cache_fini(struct gw_comm *comm);

/* ---- choose.c ---- */

/* By prediction alone: gw_choose for a call of this communicator. */
size_t gw__choose(const struct gw_comm *comm, enum gw_collective collective,
                  size_t count, size_t elem_bytes, struct gw_candidate *out,
                  size_t capacity);

/* ---- engine.c ---- */

/* Fills slots and local copies; allocates scratch memory. */
enum gw_err gw__engine_begin(struct gw_request *request, struct gw_error *why);
/* Moves all possible slices and sets *moved if there were any. GW_OK with state
 * GW__DONE at the end. */
enum gw_err gw__engine_progress(struct gw_request *request, bool *moved,
                                struct gw_error *why);
/* Describes the wait: "rank 0 waits for rank 3, step 2, chunk 5, slice 0". */
void gw__engine_describe(const struct gw_request *request, char *text,
                         size_t room, int *peer);

/* ---- window.c ---- */

bool gw__window_serves(const struct gw_comm *comm, const struct gw_call *call,
                       const struct gw__program *program);
enum gw_err gw__window_begin(struct gw_request *request, struct gw_error *why);
enum gw_err gw__window_progress(struct gw_request *request, bool *moved,
                                struct gw_error *why);
void gw__window_describe(const struct gw_request *request, char *text,
                         size_t room, int *peer);
/* Reads the op and the call that `peer` has posted in a slot of its control
 * block. False if that slot is empty or being written. */
bool gw__window_posted(const struct gw_comm *comm, unsigned peer, unsigned slot,
                       uint32_t *op, struct gw__signature *signature);
_Static_assert(sizeof(struct gw__memory_range) == 24,
               "small enough for a card");

/* ---- fast_path.c ---- */

/* Runs the call if it is prepared and can run at once. False: it has not
 * begun. */
bool gw__fast_path_run(struct gw_comm *comm, const struct gw_call *call,
                       struct gw_request **request, enum gw_err *err);

/* ---- withdraw.c ---- */

/* After the abort of a failed communicator: revokes its control block and
 * waits, 200 ms at most, for peers that are working on this rank's memory. */
void gw__revoke(struct gw_comm *comm);

/* ---- reduce_many.c ---- */

/* gw_reduce_local without its limits on sources and destinations. */
void gw__reduce_many(const struct gw_reduce_local *reduce);

/* ---- mismatch.c ---- */

/* Records the signature of op `op`. */
void gw__history_keep(struct gw_comm *comm, uint32_t op,
                      const struct gw__signature *signature);
/* Fails with GW_EMISMATCH: "op 3: rank 0 called ..., rank 1 called ...". */
enum gw_err gw__mismatch(const struct gw_comm *comm, uint32_t op,
                         const struct gw__signature *ours, unsigned peer,
                         const struct gw__signature *theirs,
                         struct gw_error *why);
/* As GW_EMISMATCH: a slice that differs from the one the plan expects. */
enum gw_err gw__mismatch_slice(const struct gw_request *request, unsigned peer,
                               const struct gw__header *header,
                               struct gw_error *why);
/* Compares all calls that peers have sent and posted with ours: a rank may wait
 * for one peer while another calls something else. */
enum gw_err gw__find_mismatch(struct gw_comm *comm, struct gw_error *why);
/* The slice at the head of a link, after the probes before it have been compared
 * and released. GW_EMISMATCH: a probe shows another call. */
enum gw_err gw__peek(struct gw_comm *comm, unsigned peer,
                     struct gw__slice_view *view, struct gw_error *why);
/* If this call, the oldest one, has waited for long: sends probes to all peers,
 * once. */
void gw__send_probes(struct gw_comm *comm, struct gw_request *request,
                     uint64_t now);

/* ---- scratch.c ---- */

unsigned char *gw__scratch_acquire(struct gw_comm *comm, size_t bytes,
                                   struct gw_error *why);
/* NULL allowed. */
void gw__scratch_release(struct gw_comm *comm, unsigned char *memory);
void gw__scratch_fini(struct gw_comm *comm);

/* ---- progress.c ---- */

/* The communicator fails with `error` on every rank (an elastic one: only
 * here); returns its code. */
enum gw_err gw__comm_fail(struct gw_comm *comm, const struct gw_error *error);
/* One round over the pending calls, oldest first. */
enum gw_err gw__progress(struct gw_comm *comm, bool *moved);
/* Checks for lost peers, differing calls and a call that waits for too long; at
 * most once per millisecond. */
enum gw_err gw__comm_check(struct gw_comm *comm, uint64_t now);
/* One round; if nothing moved, a look around, and with `sleep` a short wait. */
enum gw_err gw__turn(struct gw_comm *comm, bool sleep);
void gw__event(const struct gw_request *request, enum gw_event_kind kind,
               unsigned peer, unsigned step, unsigned chunk, uint64_t bytes,
               int64_t value);

/* ---- progress_group.c ---- */

/* One round over the calls of the other communicators in `comm`'s progress
 * group, and a look around in them. *moved: some call moved; *waiting: some
 * have pending calls. An error is one of `comm`, too. */
enum gw_err gw__progress_group_progress(struct gw_comm *comm, bool *moved,
                                        bool *waiting);
/* Records progress for `comm` and its progress group. */
void gw__progress_group_moved(struct gw_comm *comm, uint64_t now);
/* `comm` has failed: fails the other members of its progress group. */
void gw__progress_group_fail(struct gw_comm *comm);
void gw__progress_group_unlink(struct gw_comm *comm);

/* ---- wait.c ---- */

/* The oldest pending call, or NULL. */
struct gw_request *gw__oldest_pending(const struct gw_comm *comm);
/* Describes the wait and its peer (or -1), for either engine. */
void gw__describe_wait(const struct gw_request *request, char *text,
                       size_t room, int *peer);
/* Called when nothing moves at `now`: emits an event with the peers that the
 * call waits for, if it has waited for long. */
void gw__report_wait(const struct gw_request *request, uint64_t now);

/* ---- request.c ---- */

/* The arguments of a new call. */
struct gw__opening {
    const struct gw_call *call;
    struct gw__program *program;
    const struct gw__signature *signature;
    struct gw__contributors *contributors; /* NULL: without contributor sets */
    uint32_t op;
};

enum gw_err gw__start_program(struct gw_comm *comm,
                              const struct gw__opening *opening,
                              struct gw_request **request);
/* Reports why a call was not begun: the communicator fails. */
enum gw_err gw__call_refuse(struct gw_comm *comm, struct gw_error *why,
                            const struct gw_call *call);
/* Continues a call of the fast path that must wait as a request, from `state`
 * on. */
enum gw_err gw__request_resume(const struct gw__window_call *call,
                               enum gw__state state);
/* Removes it from the list of pending calls. */
void gw__request_retire(struct gw_request *request);
void gw__requests_fini(struct gw_comm *comm);

/* ---- contributors.c: only of calls with contributor sets ---- */

/* Before the first slice is applied: sets the contributors of the initial
 * values. */
void gw__contributors_begin(struct gw_request *request);
/* Before slice `k` of the next send to `peer`: sets the contributors in its
 * header. Before slice 0 the set itself is sent if the header has no room for
 * it. GW_PENDING: the link has no room. */
enum gw_err gw__contributors_send(struct gw_request *request, unsigned peer,
                                  uint32_t k, struct gw__header *header);
/* Takes the slice at the head of the link as the set of the slice after it, and
 * releases it. */
enum gw_err gw__contributors_receive(struct gw_request *request, uint32_t write,
                                     unsigned peer,
                                     const struct gw__slice_view *view,
                                     struct gw_error *why);
/* Slice `k` from source `source` of the write carries these contributors. All
 * slices must carry the same. */
enum gw_err gw__contributors_merge(struct gw_request *request, uint32_t write,
                                   uint32_t source, uint32_t k, uint64_t packed,
                                   struct gw_error *why);
/* Before slice 0 of the write is applied: checks that it is allowed. */
enum gw_err gw__contributors_open(struct gw_request *request, uint32_t write,
                                  struct gw_error *why);
/* After its last slice has been applied. */
void gw__contributors_close(struct gw_request *request, uint32_t write);

/* ---- comm.c ---- */

/* A communicator without a wire, or NULL. */
struct gw_comm *gw__comm_new(const struct gw_comm_config *config);
/* Checks the parts of a configuration that do not concern the rendezvous. */
enum gw_err gw__comm_check_shape(const struct gw_comm_config *config,
                                 struct gw_error *why);
/* Adopts the properties of the open wire. */
void gw__comm_adopt_wire(struct gw_comm *comm);

#endif

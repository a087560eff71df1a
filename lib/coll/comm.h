/* SPDX-License-Identifier: MIT
 *
 * Inside lib/coll: communicators, calls under way, and who does what.
 *
 *   call.c     checks a call, says where chunks lie, signs it
 *   cost/      picks the algorithm (choose.c): work.c counts what it does,
 *              bill.c puts prices on it; costs.c keeps the measured costs,
 *              winners.c the measured winners
 *   program.c  compiles the plan; cache.c keeps what was compiled
 *   engine.c   runs a program over any wire, slice by slice
 *   window/    runs a direct program in one pass over shared memory: window.c
 *              as a request, fast_path.c without one when it comes again and
 *              need not wait; both run what prepared_call.c has prepared
 *   fold/      the loop over all data: reductions, by instruction set
 *   reducer/   gradients in buckets; place/ who a process is, and where
 *   request.c  starts, tests and waits; scratch.c lends memory
 *   progress.c moves all calls under way; fails together; wait.c tells whom
 *              they wait for; mismatch.c finds ranks that call different things
 *   comm.c     creates, splits and closes communicators
 *   progress_group.c   joins those of one thread that wait for each other crosswise
 *   elastic.c  makes the quiet ones of lib/ring; contributors.c runs their calls,
 *              whose chunks travel with the set of their contributors
 */
#ifndef GW__COMM_H
#define GW__COMM_H

#include "coll/cost/tuning_table.h"
#include "program.h"
#include "wire/windows.h"
#include "wire/wire.h"

/* A chunk of a call in this rank's memory. */
struct gw__chunk_memory {
    unsigned char *first; /* what the rank holds at first; NULL: nothing */
    unsigned char *home;  /* where writes go: the result, or scratch */
    size_t bytes;
    uint32_t slices;
};

/* In a signature, beside GW__P2P: an all-reduce of lib/ring, numbered there. */
enum { GW__SHARED = 201 };

struct gw__contributors;  /* coll/elastic.h */
struct gw__prepared_call; /* coll/prepared_call.h */
struct gw__window_call;   /* coll/card.h */
struct card;              /* coll/card.h */

/* Room for two pieces of a buffer; memory NULL: there is none. */
struct gw__staging {
    unsigned char *memory;
    size_t slot_bytes; /* of a piece */
};

enum gw__state { GW__WAITING, GW__ENTERED, GW__LEAVING, GW__DONE };

struct gw_request {
    struct gw_comm *comm;
    struct gw_request *next; /* in order of starting */
    struct gw_call call;
    struct gw__program *program;
    struct gw__signature signature;
    uint32_t op; /* number of the call in its communicator */
    uint64_t begin_ns;
    enum gw__state state;
    size_t elem_bytes;
    size_t slice_bytes;
    unsigned char *scratch; /* homes of chunks that are only passed on */
    size_t scratch_bytes;
    /* the engine's progress; arrays lie behind the request */
    struct gw__chunk_memory *slots; /* a cell each */
    uint32_t *written;              /* a write each: slices applied */
    uint32_t *pushed;               /* a send each: slices handed to the wire */
    uint64_t *send_base;            /* a send each: its first slice's number */
    uint32_t *out_at, *in_at;       /* a peer each: position in its list */
    uint32_t sends_left, writes_left;
    size_t room_bytes; /* of this allocation */
    /* calls with contributor sets (contributors.c); NULL: without */
    struct gw__contributors *shares;
    uint64_t *first_sets;  /* a cell each: of what the rank holds at first */
    uint64_t *made_sets;   /* a write each: of the version that it makes */
    uint64_t *came_sets;   /* a source each: of what it brings */
    uint32_t *open_writes; /* a cell each: writes under way */
    /* window passes */
    bool windowed;
    struct gw__prepared_call *prepared; /* held; NULL: not windowed */
    uint64_t turn; /* among the communicator's windowed calls */
    unsigned seen; /* peers of the touch (then touched) list that are there */
    /* Pieces of buffers that peers cannot map (stage.c). */
    struct gw__staging stage_in, stage_out;
    uint32_t filled, ran, drained; /* pieces */
    bool aside;          /* the own input is read from the stage, too */
    bool deferred;       /* the own result goes to the stage, too */
    unsigned char *copy; /* of the input, for the engine */
};

/* A compiled program, and what asks for it. */
struct gw__cached {
    uint64_t key;
    uint64_t used; /* for eviction: the newest use */
    struct gw__program *program;
};

/* An algorithm chosen for a collective and a size. */
struct gw__choice {
    uint64_t key;
    int algo; /* gw__algo_number */
};

enum { GW__CACHE = 64, GW__PREPARED = 8, GW__IDLE_MAX = 16 };
/* Sides of a card: so many calls a rank can be ahead of its readers. */
enum { GW__SIDES = 64, GW__HISTORY = GW__SIDES };
enum { GW__PROGRESS_GROUP_MAX = 8 };

/* Inputs up to this size travel on the cards of window passes. */
enum { GW__EAGER_BYTES = 4096 };

/* Scratch that calls borrow; a few pieces, the largest kept. */
struct gw__scratch {
    unsigned char *memory;
    size_t bytes;
    bool used;
};

/* Whom the oldest call waits for, and since when; see wait.c. */
struct gw__patience {
    int peer;
    uint32_t op;
    uint64_t progress_ns; /* when something moved last */
    uint64_t since_ns, looked_ns, told_ns;
};

struct gw_comm {
    unsigned rank, size;
    struct gw__wire *wire;
    struct gw__windows *windows; /* NULL: messages only */
    unsigned *nodes;          /* of an elastic one: [rank]; NULL: a plain one */
    uint32_t epoch;           /* of its view; plain: 0 */
    bool joined;              /* elastic: connected */
    const _Atomic bool *stop; /* while it is true nothing moves; or NULL */
    struct gw_comm_config config;
    char *interface, *key_file; /* what config points to */
    char wire_name[16];
    uint64_t timeout_ns;
    size_t slice_bytes;
    struct gw_error error;     /* sticky */
    struct gw_request *active; /* in order of starting */
    struct gw_request *idle;
    uint32_t next_op;
    /* What this rank called last, by op number, for naming mismatches. */
    struct gw__signature history[GW__HISTORY];
    uint32_t *p2p_sends, *p2p_recvs; /* a peer each: op numbers */
    uint64_t *pushes;                /* a peer each: slices on the link */
    struct gw_counters *counters;
    struct gw__program **p2p_programs; /* a peer each: send, recv */
    uint64_t last_progress_ns, last_check_ns;
    struct gw__patience patience;
    struct gw__cached cache[GW__CACHE];
    struct gw__choice choices[GW__CACHE];
    uint64_t cache_clock;
    struct gw__scratch scratch[GW__IDLE_MAX];
    bool *out_blocked, *in_blocked;  /* progress: links taken by older calls */
    struct gw_wire_costs costs;      /* rank 0's, so that all choose alike */
    struct gw__tuning_table winners; /* likewise */
    bool costs_agreed;
    struct card **cards; /* a rank each; NULL: without windows */
    uint64_t turns;      /* windowed calls begun */
    uint64_t turns_done; /* and ended, in order */
    uint64_t turns_free; /* those before have a side of the card */
    struct gw__prepared_call *kept[GW__PREPARED], *prepared; /* newest used */
    const void **fold_sources; /* room for size + 1 pointers each */
    void **fold_dests;
    struct gw_comm *beside[GW__PROGRESS_GROUP_MAX]; /* each has this one, too */
    unsigned beside_count;
};

/* ---- call.c ---- */

/* GW_OK or GW_EINVAL with the sentence. */
enum gw_err gw__call_check(const struct gw_comm *comm,
                           const struct gw_call *call, struct gw_error *why);
/* So many elements a block that nothing overflows: the bytes of all blocks of a
 * buffer, and the slices of one. */
size_t gw__elems_max(const struct gw_comm *comm, enum gw_dtype type);
/* Elements of the block that chunk belongs to, as `rank` knows it. */
size_t gw__block_elems(const struct gw_call *call, const struct gw_plan *plan,
                       unsigned rank, unsigned chunk);
/* Offset in elements, in `rank`'s `in` (or `out` when in place) of its first
 * value, and in its `out` of its result. */
size_t gw__offset_in(const struct gw_call *call, const struct gw_plan *plan,
                     unsigned rank, unsigned chunk, bool in_place);
size_t gw__offset_out(const struct gw_call *call, const struct gw_plan *plan,
                      unsigned rank, unsigned chunk, bool in_place);
/* Bytes of this rank's `in` and `out` that the call may touch. */
size_t gw__bytes_in(const struct gw_comm *comm, const struct gw_call *call);
size_t gw__bytes_out(const struct gw_comm *comm, const struct gw_call *call);
void gw__call_sign(const struct gw_call *call, unsigned ranks, int algo,
                   struct gw__signature *signature);
/* "allreduce(1024 f32 sum, ring)" */
void gw__call_describe(const struct gw__signature *signature, char *text,
                       size_t room);

/* ---- cache.c ---- */

/* The program that the call runs: chosen, made, verified when it is the
 * user's, compiled, or found. */
enum gw_err gw__program_for(struct gw_comm *comm, const struct gw_call *call,
                            struct gw__program **program, int *algo,
                            struct gw_error *why);
void gw__cache_fini(struct gw_comm *comm);

/* ---- choose.c ---- */

/* By prediction alone: as gw_choose for a call of this communicator. */
size_t gw__choose(const struct gw_comm *comm, enum gw_collective collective,
                  size_t count, size_t elem_bytes, struct gw_candidate *out,
                  size_t capacity);

/* ---- engine.c ---- */

/* Fills slots and local copies; takes scratch. */
enum gw_err gw__engine_begin(struct gw_request *request, struct gw_error *why);
/* Moves what can move; *moved tells. GW_OK with state GW__DONE at the end. */
enum gw_err gw__engine_progress(struct gw_request *request, bool *moved,
                                struct gw_error *why);
/* What it waits for: "rank 0 waits for rank 3, step 2, chunk 5, slice 0". */
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
/* What `peer` has posted on a side of its card: which op, and which call.
 * False when that side is empty or just being written. */
bool gw__window_posted(const struct gw_comm *comm, unsigned peer, unsigned side,
                       uint32_t *op, struct gw__signature *signature);
_Static_assert(sizeof(struct gw__place) == 24, "small enough for a card");

/* ---- fast_path.c ---- */

/* Runs the call if it is prepared and nothing stands in the way. False: it has
 * not been begun. */
bool gw__fast_path_run(struct gw_comm *comm, const struct gw_call *call,
                       enum gw_err *err);

/* ---- withdraw.c ---- */

/* After the abort of a communicator that has failed: takes the card back, and
 * waits, 200 ms at most, for peers that are just working on this rank's memory.
 */
void gw__withdraw(struct gw_comm *comm);

/* ---- fold_many.c ---- */

/* gw_reduce_local without its limits on sources and destinations. */
void gw__reduce_many(const struct gw_reduce_local *fold);

/* ---- mismatch.c ---- */

/* Keeps what op `op` was. */
void gw__history_keep(struct gw_comm *comm, uint32_t op,
                      const struct gw__signature *signature);
/* "op 3: rank 0 called ..., rank 1 called ...", as GW_EMISMATCH. */
enum gw_err gw__mismatch(const struct gw_comm *comm, uint32_t op,
                         const struct gw__signature *ours, unsigned peer,
                         const struct gw__signature *theirs,
                         struct gw_error *why);
/* As GW_EMISMATCH: a slice that is not the one that the plan says. */
enum gw_err gw__mismatch_slice(const struct gw_request *request, unsigned peer,
                               const struct gw__header *header,
                               struct gw_error *why);
/* Looks at all that peers have sent and posted for calls that differ from
 * ours: a rank may wait for one peer while another calls something else. */
enum gw_err gw__find_mismatch(struct gw_comm *comm, struct gw_error *why);

/* ---- scratch.c ---- */

unsigned char *gw__scratch_take(struct gw_comm *comm, size_t bytes,
                                struct gw_error *why);
/* NULL allowed. */
void gw__scratch_give(struct gw_comm *comm, unsigned char *memory);
void gw__scratch_fini(struct gw_comm *comm);

/* ---- progress.c ---- */

/* The communicator fails with `error` on every rank (an elastic one: here
 * alone); returns its code. */
enum gw_err gw__comm_fail(struct gw_comm *comm, const struct gw_error *error);
/* One round over the calls under way, oldest first. */
enum gw_err gw__progress(struct gw_comm *comm, bool *moved);
/* For lost peers, calls that differ, a call that waits for too long; at most
 * once a millisecond. */
enum gw_err gw__look_around(struct gw_comm *comm, uint64_t now);
/* A round; when nothing moved, a look around, and a nap if `sleep`. */
enum gw_err gw__turn(struct gw_comm *comm, bool sleep);
void gw__event(const struct gw_request *request, enum gw_event_kind kind,
               unsigned peer, unsigned step, unsigned chunk, uint64_t bytes,
               int64_t value);

/* ---- progress_group.c ---- */

/* A round over the calls of those beside `comm`, and a look around in them.
 * *moved: something did; *waiting: some have calls under way. The error is one
 * of `comm`, too. */
enum gw_err gw__progress_group_progress(struct gw_comm *comm, bool *moved,
                                        bool *waiting);
/* Something has moved on `comm` or beside it. */
void gw__progress_group_moved(struct gw_comm *comm, uint64_t now);
/* `comm` has failed: so do those beside it. */
void gw__progress_group_fail(struct gw_comm *comm);
void gw__progress_group_unlink(struct gw_comm *comm);

/* ---- wait.c ---- */

/* The oldest call that is under way, or NULL. */
struct gw_request *gw__oldest_pending(const struct gw_comm *comm);
/* What it waits for, and the peer (or -1), whichever engine runs it. */
void gw__describe_wait(const struct gw_request *request, char *text,
                       size_t room, int *peer);
/* Nothing moves at `now`: tells the events whom the call waits for, when it
 * has done so for long. */
void gw__tell_wait(const struct gw_request *request, uint64_t now);

/* ---- request.c ---- */

/* What a call begins with. */
struct gw__opening {
    const struct gw_call *call;
    struct gw__program *program;
    const struct gw__signature *signature;
    struct gw__contributors *shares; /* NULL: without contributor sets */
    uint32_t op;
};

enum gw_err gw__start_program(struct gw_comm *comm,
                              const struct gw__opening *opening,
                              struct gw_request **request);
/* Why a call was not begun: the communicator fails. */
enum gw_err gw__call_refuse(struct gw_comm *comm, struct gw_error *why,
                            const struct gw_call *call);
/* A call on the fast path that must wait: from `state` on as a request, to its
 * end. */
enum gw_err gw__request_resume(const struct gw__window_call *call,
                               enum gw__state state);
/* Off the list of calls under way. */
void gw__request_retire(struct gw_request *request);
void gw__requests_fini(struct gw_comm *comm);

/* ---- contributors.c: only of calls with contributor sets ---- */

/* Before the first slice is applied: what the rank holds at first. */
void gw__contributors_begin(struct gw_request *request);
/* Whose data is in the version that the send reads. */
uint64_t gw__contributors_of_send(const struct gw_request *request,
                                  const struct gw__send *send);
/* Slice `k` for source `source` of the write says that its contributors are
 * `set`: all slices must say the same. */
enum gw_err gw__contributors_hear(struct gw_request *request, uint32_t write,
                                  uint32_t source, uint32_t k, uint64_t set,
                                  struct gw_error *why);
/* Before slice 0 of the write is applied: may it be? */
enum gw_err gw__contributors_open(struct gw_request *request, uint32_t write,
                                  struct gw_error *why);
/* After its last slice has been applied. */
void gw__contributors_close(struct gw_request *request, uint32_t write);

/* ---- comm.c ---- */

/* Everything but the wire, or NULL. */
struct gw_comm *gw__comm_new(const struct gw_comm_config *config);
/* What of a configuration has nothing to do with meeting. */
enum gw_err gw__comm_check_shape(const struct gw_comm_config *config,
                                 struct gw_error *why);
/* Takes over what the open wire says of itself. */
void gw__comm_adopt_wire(struct gw_comm *comm);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The clock of a group: it assigns work items to workers, closes rounds, and
 * decides when a worker may continue.
 *
 * The clock is a deterministic state machine. Its commands are entries in the
 * log of one slot (gw__clock_slot), so it is replicated, fails over and is
 * saved with that slot. All servers follow one decision about each item.
 *
 *   NEXT     a worker has finished its item (all its pushes are acknowledged)
 *            and wants another; numbered by its clock, so a repetition does
 *            nothing
 *   WORKERS  the live workers, from the registry: items of all others return
 *            to the pool, and their pushes for these items are dropped
 *   PLAN, MODE, BARRIER   see gradwire/ps.h
 *   MARK     a marker among the round commits: every slot saves itself when it
 *            applies it, which makes a consistent cut
 *   PRUNE    round commits that all slots have applied are forgotten
 *
 * The output is a sequence of round commits, numbered from 1: each lists items
 * to apply and items to drop. Every slot applies them in order. So all slots
 * agree on the updates and their order, and a pull that was granted round
 * commit k sees all updates through k.
 *
 * In a mode with `drop` the share of a dead worker is not assigned again. Its
 * share of the open round (the part that it held and those that it would have
 * got) is skipped, and the sum of the other parts is multiplied by parts /
 * parts that came. The model learns from less data for a while, and no worker
 * repeats work. A part that was done before its worker died still counts.
 *
 *     item:   free --granted--> leased --NEXT--> done --round closes--> closed
 *               ^                  |                       (ssp, asp: at once)
 *               +--- its worker dies
 *
 * A round of bsp and kofn is one batch. Its parts are assigned to the n live
 * workers (part j to the worker at position j mod n) and applied in the order
 * of parts. Without a plan a round has one part for each worker that has asked.
 * In ssp and asp the parts of an epoch are assigned on request; the items of
 * dead workers go first. An epoch of bsp and kofn ends with its last round. In
 * ssp and asp the next epoch may begin while the last items of the previous one
 * are out.
 *
 * The number of parts of a batch is fixed when its first part is assigned: the
 * plan's number or, if that is 0, the number of workers. So a worker that joins
 * gets work from the next batch on.
 *
 * A worker's clock is the number of items that it has finished. A worker that
 * joins begins with the smallest clock of the others. A worker without a part
 * in a round is raised to the slowest worker that had one, and all clocks are
 * made equal when ssp begins. So a bound holds only from then on, and no worker
 * waits for one that had no work.
 *
 * A plan may end before its last epoch. NEXT reports the item's loss; if an
 * epoch's mean loss, over all items closed while it was assigned, is below
 * `until`, it is the last epoch. With the rounds of bsp this is exactly the
 * mean of the epoch, with the same bits in each run.
 *
 * Every assigned part of a batch ends once: applied (`work_items`), or `skipped`
 * (kofn: its round closed without it; drop: its worker died).
 */
#ifndef GW__PS_CLOCK_H
#define GW__PS_CLOCK_H

#include <base/bytes.h>
#include <gradwire/ps.h>

/* The pushes of one process for the item that it began at this clock. */
#define GW__NO_CLOCK UINT64_MAX /* belongs to no item: applied at once */

struct gw__work_item {
    unsigned node;
    uint64_t incarnation; /* the low half */
    uint64_t clock;
};

struct gw__round_commit {
    uint64_t number;
    uint64_t mark;  /* not 0: a marker with this id */
    float scale;    /* kofn and drop: parts / parts that came; otherwise 1 */
    unsigned apply; /* items to apply as one update (a sum in this order) */
    unsigned drop;  /* items to drop; they follow in `items` */
    struct gw__work_item items[GW_PS_NODES];
};
enum { GW__ROUND_COMMIT_BYTES_MAX = 32 + GW_PS_NODES * 20 };
/* Copies only the items that exist. */
void gw__round_commit_copy(struct gw__round_commit *to,
                           const struct gw__round_commit *from);
void gw__put_round_commit(struct gw__writer *writer,
                          const struct gw__round_commit *);
void gw__get_round_commit(struct gw__reader *reader,
                          struct gw__round_commit *commit);

enum gw__clock_kind {
    GW__CLOCK_NEXT = 1,
    GW__CLOCK_WORKERS,
    GW__CLOCK_PLAN,
    GW__CLOCK_MODE,
    GW__CLOCK_BARRIER,
    GW__CLOCK_MARK,
    GW__CLOCK_PRUNE,
    GW__CLOCK_KINDS
};

struct gw__alive {
    unsigned node;
    uint64_t incarnation;
};

struct gw__clock_command {
    enum gw__clock_kind kind;
    struct gw__alive who; /* NEXT, BARRIER */
    /* NEXT: items finished. BARRIER, MARK: the id. PRUNE: the last round commit
     * to forget. */
    uint64_t number;
    double sum, weight; /* NEXT: loss of the finished item; see gw_ps_report */
    unsigned count; /* BARRIER: number of workers; WORKERS: length of `alive` */
    struct gw_ps_mode mode;              /* PLAN, MODE */
    struct gw_ps_plan plan;              /* PLAN */
    struct gw__alive alive[GW_PS_NODES]; /* WORKERS */
};
enum { GW__CLOCK_COMMAND_MAX = 64 + GW_PS_NODES * 10 };
size_t gw__clock_encode(const struct gw__clock_command *command, void *out,
                        size_t room);
GW_MUST_CHECK enum gw_err gw__clock_decode(const void *data, size_t bytes,
                                           struct gw__clock_command *command,
                                           struct gw_error *why);

/* The slot whose log has the group's clock. */
static inline unsigned gw__clock_slot(unsigned group, unsigned slot_count)
{
    return group % slot_count;
}

struct gw__clock;

GW_MUST_CHECK enum gw_err gw__clock_new(struct gw__clock **clock,
                                        struct gw_error *why);
void gw__clock_destroy(struct gw__clock **clock);
/* GW_OK; GW_EINVAL, GW_EMISMATCH: refused with a reason, on all replicas alike
 * (a different plan, an invalid mode). */
enum gw_err gw__clock_apply(struct gw__clock *clock,
                            const struct gw__clock_command *command,
                            struct gw_error *why);
/* GW_EINVAL if the command MODE would be refused. */
GW_MUST_CHECK enum gw_err gw__clock_check_mode(const struct gw__clock *clock,
                                               const struct gw_ps_mode *mode,
                                               struct gw_error *why);
/* The number of items applied. */
uint64_t gw__clock_items(const struct gw__clock *clock);
/* The number of the newest round commit; 0: none yet. */
uint64_t gw__clock_closed(const struct gw__clock *clock);
/* NULL: not made yet, or already forgotten. */
const struct gw__round_commit *
gw__clock_round_commit(const struct gw__clock *clock, uint64_t number);
/* The result of NEXT `number` of this worker. GW_OK: *work (waited_ns is 0).
 * GW_PENDING: the mode makes it wait, or too many round commits are kept (see
 * PRUNE). GW_EINVAL: the worker has not sent this NEXT. */
enum gw_err gw__clock_granted(const struct gw__clock *clock,
                              struct gw__alive who, uint64_t number,
                              struct gw_ps_work *work);
/* The reason why a pending NEXT waits, as a sentence. */
void gw__clock_describe_wait(const struct gw__clock *clock, char *out,
                             size_t room);
/* Does the last WORKERS have exactly these workers? */
bool gw__clock_knows(const struct gw__clock *clock,
                     const struct gw__alive *alive, unsigned count);
/* Does the last WORKERS have this one? */
bool gw__clock_has(const struct gw__clock *clock, struct gw__alive who);
/* GW_OK: all workers have arrived at barrier `number`; otherwise GW_PENDING. */
enum gw_err gw__clock_barrier(const struct gw__clock *clock, uint64_t number);
void gw__clock_status(const struct gw__clock *clock,
                      struct gw_ps_clock_status *status);

/* The complete state as bytes, for copies and snapshots. */
size_t gw__clock_save(const struct gw__clock *clock, void *out, size_t room);
/* Loads into a new clock. `fresh` (a restore): all workers of the saved state
 * have ended, and their items that are leased, or done but not closed, are
 * free. */
GW_MUST_CHECK enum gw_err gw__clock_load(struct gw__clock *clock,
                                         const void *data, size_t bytes,
                                         bool fresh, struct gw_error *why);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The dependencies between the messages of an algorithm. A message waits for
 * the values that it carries. A value that is added to an existing one waits
 * for that one. The newest value of a chunk at a rank is found in one of three
 * ways:
 *
 *   cells    a table of all ranks and chunks, if that is small enough
 *   chunks   all-to-all: a block is in one place at a time, so the last message
 *            that has moved it suffices
 *   pieces   a list of runs for each rank: logarithmic algorithms on a hundred
 *            thousand ranks have 10^10 cells, but some tens of runs per rank.
 *            A piece waits for all older ones that it overlaps, so the search
 *            ends at a piece that covers everything needed
 *
 * All transfers of a step read the state before it, so the step's writes are
 * recorded when it ends.
 *
 * A value must have left before it is overwritten. If it was forwarded earlier,
 * this holds without a check: the new value depends on it in every algorithm
 * here, except those with one chunk, in which two ranks may exchange the chunk
 * in one step. For these the readers are recorded (`kept`).
 */
#include "traffic.h"

#include <stdlib.h>

enum { RANK_RANGES_MAX = 256 };

uint64_t gw__traffic_cells_max = 1 << 26;

static const uint32_t WAS_READ = UINT32_C(1) << 31;

struct chunk_range {
    struct gw__steps chunks;
    uint32_t value; /* a code */
    uint32_t next;  /* an older piece of this rank */
};

struct write {
    uint32_t message;
    uint32_t chunk, stride, count;
    bool adds;
};

struct gw__traffic_values {
    struct gw__traffic *f;
    unsigned ranks, chunks;
    bool moves; /* the way `chunks` */
    /* way `cells`; or for `chunks`: message + 1 of each chunk */
    uint32_t *cells;
    uint32_t *newest; /* way `pieces`: the newest one of each rank */
    struct gw__vector ranges;
    struct gw__vector writes; /* in this step */
    uint32_t *readers; /* one chunk: messages since each rank's current value */
    uint32_t first_extra; /* of this step */
};

enum gw_err gw__traffic_values_new(struct gw__traffic *f, unsigned chunks,
                                   struct gw__traffic_values **values,
                                   struct gw_error *why)
{
    struct gw__traffic_values *s = calloc(1, sizeof *s);
    *values = s;
    if (!s)
        return gw_fail(why, GW_ENOMEM, "a simulation");
    *s = (struct gw__traffic_values){.f = f,
                                     .ranks = f->job->args->ranks,
                                     .chunks = chunks,
                                     .moves = f->job->algo->collective ==
                                              GW_ALLTOALL};
    uint64_t cells = (uint64_t)s->ranks * chunks;
    bool room;
    if (s->moves || chunks == 1 || cells <= gw__traffic_cells_max) {
        s->cells = calloc(s->moves ? chunks : cells, sizeof *s->cells);
        room = s->cells != NULL;
    } else {
        s->newest = malloc(s->ranks * sizeof *s->newest);
        for (unsigned i = 0; s->newest && i < s->ranks; i++)
            s->newest[i] = GW__NOTHING;
        room = s->newest != NULL;
    }
    if (chunks == 1) {
        s->readers = malloc(s->ranks * sizeof *s->readers);
        for (unsigned i = 0; s->readers && i < s->ranks; i++)
            s->readers[i] = GW__NOTHING;
        room = room && s->readers;
    }
    return room ? GW_OK
                : gw_fail(why, GW_ENOMEM, "a simulation of %u ranks", s->ranks);
}

void gw__traffic_values_destroy(struct gw__traffic_values **values)
{
    struct gw__traffic_values *s = *values;
    if (!s)
        return;
    free(s->cells);
    free(s->newest);
    free(s->ranges.items);
    free(s->writes.items);
    free(s->readers);
    free(s);
    *values = NULL;
}

uint64_t gw__traffic_values_room(const struct gw__traffic_values *values)
{
    return values->newest ? (uint64_t)RANK_RANGES_MAX * values->ranks
                          : UINT64_MAX;
}

/* ---- reading ---- */

/* Lets the message wait for the value; a repetition has no effect. */
static bool read_value(struct gw__traffic *f, uint32_t value, uint32_t message)
{
    uint32_t number = gw__traffic_number(value);
    uint32_t *mark = gw__traffic_kind(value) == GW__TRAFFIC_OWN
                         ? &gw__message_at(f, number)->cause
                         : &gw__extra_at(f, number)->cause;
    if (*mark == message)
        return true;
    *mark = message;
    return gw__traffic_wait(f, value,
                            gw__traffic_code(GW__TRAFFIC_MESSAGE, message));
}

static bool read_cells(struct gw__traffic_values *s, uint32_t message,
                       const struct gw__run *run)
{
    uint32_t *row = s->cells + (size_t)run->src * s->chunks, last = 0;
    for (unsigned i = 0; i < run->count; i++) {
        uint32_t *cell = &row[run->chunk + i * run->stride];
        if (*cell == 0)
            continue;
        *cell |= WAS_READ;
        if (*cell != last && !read_value(s->f, *cell & ~WAS_READ, message))
            return false;
        last = *cell;
    }
    return true;
}

static bool read_moved(struct gw__traffic_values *s, uint32_t message,
                       const struct gw__run *run)
{
    for (unsigned i = 0; i < run->count; i++) {
        uint32_t by = s->cells[run->chunk + i * run->stride];
        if (by > 0 && gw__message_at(s->f, by - 1)->dst == run->src &&
            !read_value(s->f, gw__traffic_code(GW__TRAFFIC_OWN, by - 1),
                        message))
            return false;
    }
    return true;
}

static struct chunk_range *range_at(const struct gw__traffic_values *s,
                                    uint32_t i)
{
    return (struct chunk_range *)s->ranges.items + i;
}

static bool read_ranges(struct gw__traffic_values *s, uint32_t message,
                        const struct gw__run *run)
{
    const struct gw__steps wanted =
        gw__steps_of(run->chunk, run->stride, run->count);
    for (uint32_t i = s->newest[run->src]; i != GW__NOTHING;
         i = range_at(s, i)->next) {
        struct chunk_range *range = range_at(s, i);
        if (!gw__steps_intersect(&range->chunks, &wanted))
            continue;
        if (!read_value(s->f, range->value, message))
            return false;
        if (gw__steps_cover(&range->chunks, &wanted))
            break;
    }
    return true;
}

/* Records that the rank's next value must wait for this message to leave. */
static bool record_reader(struct gw__traffic_values *s, uint32_t message,
                          unsigned rank)
{
    struct gw__vector *kept = &s->f->kept;
    while (kept->count <= message) {
        uint32_t *next = gw__vector_push(kept, sizeof *next);
        if (!next)
            return false;
        *next = GW__NOTHING;
    }
    ((uint32_t *)kept->items)[message] = s->readers[rank];
    s->readers[rank] = message;
    return true;
}

bool gw__traffic_values_read(struct gw__traffic_values *s, uint32_t message,
                             const struct gw__run *run)
{
    if (s->readers && !record_reader(s, message, run->src))
        return false;
    return s->moves   ? read_moved(s, message, run)
           : s->cells ? read_cells(s, message, run)
                      : read_ranges(s, message, run);
}

/* ---- writing ---- */

bool gw__traffic_values_write(struct gw__traffic_values *s, uint32_t message,
                              const struct gw__run *run)
{
    struct gw__traffic *f = s->f;
    if (s->moves) {
        for (unsigned i = 0; i < run->count; i++)
            s->cells[run->chunk + i * run->stride] = message + 1;
        return true;
    }
    if (f->job->reduce_us_per_byte > 0) {
        while (f->adds.count <= message) {
            uint64_t *adds = gw__vector_push(&f->adds, sizeof *adds);
            if (!adds)
                return false;
            *adds = 0;
        }
        if (run->action == GW_ADD)
            ((uint64_t *)f->adds.items)[message] += gw__traffic_bytes(f, run);
    }
    struct write *write = gw__vector_push(&s->writes, sizeof *write);
    if (!write)
        return false;
    *write = (struct write){message, run->chunk, run->stride, run->count,
                            run->action == GW_ADD};
    return true;
}

static bool is_of_step(const struct gw__traffic_values *s, uint32_t value,
                       uint32_t first)
{
    uint32_t number = gw__traffic_number(value);
    return gw__traffic_kind(value) == GW__TRAFFIC_OWN
               ? number >= first
               : number >= s->first_extra;
}

/* The run contributes to an extra value. */
static bool go_into(struct gw__traffic_values *s, uint32_t extra,
                    uint32_t message, uint64_t adds)
{
    struct gw__traffic *f = s->f;
    if (adds > 0) {
        ((uint64_t *)f->adds.items)[message] -= adds;
        gw__extra_at(f, gw__traffic_number(extra))->adds += adds;
    }
    return gw__traffic_wait(f, gw__traffic_code(GW__TRAFFIC_OWN, message),
                            extra);
}

/* Several messages of this step contribute to one value; `value` is its state
 * before `write`. Returns the extra value, or 0: out of memory. */
static uint32_t join_value(struct gw__traffic_values *s, uint32_t value,
                           const struct write *write, uint64_t bytes)
{
    struct gw__traffic *f = s->f;
    uint64_t adds = write->adds && f->adds.count > 0 ? bytes : 0;
    if (gw__traffic_kind(value) == GW__TRAFFIC_OWN) {
        struct gw__traffic_extra *extra =
            gw__vector_push(&f->extras, sizeof *extra);
        if (!extra)
            return 0;
        *extra = (struct gw__traffic_extra){
            .waiters = GW__NOTHING,
            .cause = GW__NOTHING,
            .rank = gw__message_at(f, write->message)->dst};
        uint32_t own = gw__traffic_number(value);
        value =
            gw__traffic_code(GW__TRAFFIC_EXTRA, (uint32_t)f->extras.count - 1);
        if (!go_into(s, value, own, adds))
            return 0;
    }
    return go_into(s, value, write->message, adds) ? value : 0;
}

static bool write_cells(struct gw__traffic_values *s, const struct write *write,
                        uint32_t first)
{
    struct gw__traffic *f = s->f;
    unsigned dst = gw__message_at(f, write->message)->dst;
    uint32_t *row = s->cells + (size_t)dst * s->chunks, last = 0;
    uint32_t own = gw__traffic_code(GW__TRAFFIC_OWN, write->message);
    for (unsigned i = 0; i < write->count; i++) {
        struct gw__run one = {
            .chunk = write->chunk + i * write->stride, .stride = 1, .count = 1};
        uint32_t *cell = &row[one.chunk], value = *cell & ~WAS_READ;
        if (value != 0 && value != own && is_of_step(s, value, first)) {
            *cell = join_value(s, value, write, gw__traffic_bytes(f, &one));
            if (*cell == 0)
                return false;
            continue;
        }
        if (*cell == value && value != 0 && value != own && value != last &&
            !gw__traffic_wait(f, value, own))
            return false;
        last = value;
        *cell = own;
    }
    return true;
}

/* Replaces the piece's value by `own`, or by the extra value that combines this
 * step's contributions. *value is the result. */
static bool write_over(struct gw__traffic_values *s, struct chunk_range *range,
                       const struct write *write, uint32_t first,
                       uint32_t *value)
{
    struct gw__traffic *f = s->f;
    uint32_t own = gw__traffic_code(GW__TRAFFIC_OWN, write->message);
    uint32_t there = range->value;
    if (!is_of_step(s, there, first))
        return gw__traffic_wait(f, there, own);
    if (there == *value)
        return true;
    if (*value != own) /* three runs that do not all intersect */
        return gw__traffic_wait(f, there, *value);
    struct gw__run run = {
        .chunk = write->chunk, .stride = write->stride, .count = write->count};
    *value = join_value(s, there, write, gw__traffic_bytes(f, &run));
    range->value = *value;
    return *value != 0;
}

/* The write waits for the pieces that it overlaps, even if they have been read:
 * possibly only a part of a piece was. */
static bool write_range(struct gw__traffic_values *s, const struct write *write,
                        uint32_t first)
{
    unsigned dst = gw__message_at(s->f, write->message)->dst;
    uint32_t own = gw__traffic_code(GW__TRAFFIC_OWN, write->message),
             value = own;
    const struct gw__steps chunks =
        gw__steps_of(write->chunk, write->stride, write->count);
    for (uint32_t i = s->newest[dst]; i != GW__NOTHING;
         i = range_at(s, i)->next) {
        struct chunk_range *there = range_at(s, i);
        if (there->value == own ||
            !gw__steps_intersect(&there->chunks, &chunks))
            continue;
        bool of_step = is_of_step(s, there->value, first);
        if (!write_over(s, there, write, first, &value))
            return false;
        if (!of_step && gw__steps_cover(&there->chunks, &chunks))
            break;
    }
    struct chunk_range *range = gw__vector_push(&s->ranges, sizeof *range);
    if (!range)
        return false;
    *range = (struct chunk_range){chunks, value, s->newest[dst]};
    s->newest[dst] = (uint32_t)s->ranges.count - 1;
    return true;
}

/* One chunk: the rank's new value waits for all readers of the previous one. */
static bool keep_value(struct gw__traffic_values *s, unsigned rank)
{
    struct gw__traffic *f = s->f;
    uint32_t *kept = f->kept.items, value = s->cells[rank], next;
    for (uint32_t m = s->readers[rank]; m != GW__NOTHING; m = next) {
        next = kept[m];
        kept[m] = GW__NOTHING;
        if (!gw__traffic_wait(f, gw__traffic_code(GW__TRAFFIC_LEFT, m), value))
            return false;
    }
    s->readers[rank] = GW__NOTHING;
    return true;
}

bool gw__traffic_values_step(struct gw__traffic_values *s, uint32_t first)
{
    const struct write *writes = s->writes.items;
    for (size_t i = 0; i < s->writes.count; i++)
        if (!(s->cells ? write_cells : write_range)(s, &writes[i], first))
            return false;
    for (size_t i = 0; i < s->writes.count && s->readers; i++)
        if (!keep_value(s, gw__message_at(s->f, writes[i].message)->dst))
            return false;
    s->writes.count = 0;
    s->first_extra = (uint32_t)s->f->extras.count;
    return true;
}

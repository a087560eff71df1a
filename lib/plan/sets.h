/* SPDX-License-Identifier: MIT
 *
 * Contributor sets: for each row (a rank's copy of a chunk) the ranks whose
 * data the value contains, as bits. A step is staged and then committed, so
 * that all its reads see the values from before it.
 *
 * If nothing is reduced, a chunk has one owner and a value is either present or
 * not: such plans have sets of one member.
 */
#ifndef GW__PLAN_SETS_H
#define GW__PLAN_SETS_H

#include "start.h"

struct gw__sets {
    unsigned members; /* of the full set; a bound with an explicit start */
    unsigned words;   /* 64-bit words per set */
    const struct gw__start *start; /* NULL: the collective's own start */
    uint64_t *now;                 /* values from before the step */
    uint64_t *next;                /* values after it, of the staged rows */
    bool *staged;
    uint32_t *staged_rows;
    uint32_t staged_count;
};

/* The number of `rank` as a member of sets of this plan. */
unsigned gw__sets_self(const struct gw_plan *plan, unsigned rank);
/* Memory of `rows` sets, in bytes. */
double gw__sets_bytes(const struct gw_plan *plan, size_t rows);

/* All rows are empty at first. They begin with `start` (NULL: as usual), which
 * must outlive them. */
GW_MUST_CHECK enum gw_err gw__sets_init(struct gw__sets *sets,
                                        const struct gw_plan *plan,
                                        const struct gw__start *start,
                                        uint32_t rows, struct gw_error *why);
void gw__sets_fini(struct gw__sets *sets);

/* Sets the row to the value that the rank's buffer or scratch, `place` in the
 * order of gw__row, holds of `chunk` before the first step. */
void gw__sets_begin(struct gw__sets *sets, const struct gw_plan *plan,
                    uint32_t row, uint32_t place, unsigned chunk);
/* Stages a write of row `src` into row `dst`. False when it adds (GW_ADD) and
 * the sets share a member; the union is staged all the same. */
bool gw__sets_write(struct gw__sets *sets, uint32_t dst, uint32_t src,
                    enum gw_action action);
/* Ends the step: the staged rows become the values. */
void gw__sets_commit(struct gw__sets *sets);

/* The value from before the step, and the value including the writes staged so
 * far. */
const uint64_t *gw__sets_before(const struct gw__sets *sets, uint32_t row);
const uint64_t *gw__sets_value(const struct gw__sets *sets, uint32_t row);
unsigned gw__sets_count(const struct gw__sets *sets, const uint64_t *set);
bool gw__sets_has(const uint64_t *set, unsigned member);
/* Is it the set required of `chunk` at `rank` at the end? */
bool gw__sets_is_full(const struct gw__sets *sets, const struct gw_plan *plan,
                      unsigned rank, unsigned chunk, const uint64_t *set);
/* Sets `out` to the members that `set` lacks for that; none if it only has some
 * too many. */
void gw__sets_lacking(const struct gw__sets *sets, const struct gw_plan *plan,
                      unsigned rank, unsigned chunk, const uint64_t *set,
                      uint64_t *out);
/* Sets `out` to the members that `set` has too many. */
void gw__sets_excess(const struct gw__sets *sets, const struct gw_plan *plan,
                     unsigned rank, unsigned chunk, const uint64_t *set,
                     uint64_t *out);
/* "0-3,7", or as much of it as fits and "...". */
void gw__sets_text(const struct gw__sets *sets, const uint64_t *set, char *out,
                   size_t size);

#endif

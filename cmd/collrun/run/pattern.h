/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Test data for one call whose result is known exactly: every rank fills its
 * own buffers, and then compares every element that the call should have
 * written, bit for bit, without communication.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <gradwire/gradwire.h>

/* One call, as in struct gw_call. In place, the input is in `out`, at the
 * offset of gradwire-coll(3); of a rooted collective only the root is in place.
 */
struct pattern {
    enum gw_collective collective;
    enum gw_dtype type;
    enum gw_redop op;
    unsigned ranks, root;
    const struct gw_plan *plan; /* of custom: its conditions; otherwise NULL */
    size_t count;
    bool in_place;
    bool counting; /* element i of the whole vector is i, on every rank */
    uint64_t seed; /* another seed gives other values */
};

/* `in` for struct gw_call: the buffer, or GW_IN_PLACE. */
const void *pattern_in(const struct pattern *, unsigned rank, const void *in);
/* The sizes of the buffers of `rank`, including a guard of some bytes after the
 * end of `out`. Never 0. */
size_t pattern_in_bytes(const struct pattern *, unsigned rank);
size_t pattern_out_bytes(const struct pattern *, unsigned rank);
/* Before the call: writes the input to its place, and garbage elsewhere. */
void pattern_fill(const struct pattern *, unsigned rank, void *in, void *out);
/* After the call: the number of wrong elements of the result, and of changed
 * elements of an input outside `out`. An overwritten guard counts as one.
 * *first (may be NULL) is the first wrong element of the result, SIZE_MAX when
 * there is none. */
size_t pattern_wrong(const struct pattern *, unsigned rank, const void *in,
                     const void *out, size_t *first);
/* The rank's input, before the call, and its result, after it; *count receives
 * the number of elements. */
const void *pattern_input(const struct pattern *, unsigned rank, const void *in,
                          const void *out, size_t *count);
const void *pattern_result(const struct pattern *, unsigned rank,
                           const void *out, size_t *count);
/* "17 elements are wrong, the first is 4096". */
void pattern_report(uint64_t wrong, uint64_t first, char out[96]);

#endif

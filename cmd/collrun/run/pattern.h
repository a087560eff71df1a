/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Test data for one call whose result is known exactly: every rank can fill its
 * own buffers, and then compare every element that the call should have
 * written, bit for bit, without hearing from the others.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <gradwire/gradwire.h>

/* One call, as struct gw_call has it. In place, the input lies in `out`, where
 * gradwire-coll(3) says; of a rooted collective only the root is in place. */
struct pattern {
    enum gw_collective collective;
    enum gw_dtype type;
    enum gw_redop op;
    unsigned ranks, root;
    size_t count;
    bool in_place;
    bool counting; /* element i of the whole vector is i, on every rank */
    uint64_t seed; /* another one gives other values */
};

/* `in` for struct gw_call: the buffer, or GW_IN_PLACE. */
const void *pattern_in(const struct pattern *, unsigned rank, const void *in);
/* What the buffers of `rank` must have room for; some bytes behind the end of
 * `out` are a guard. Never 0. */
size_t pattern_in_bytes(const struct pattern *, unsigned rank);
size_t pattern_out_bytes(const struct pattern *, unsigned rank);
/* Before the call: the input to where it belongs, rubbish elsewhere. */
void pattern_fill(const struct pattern *, unsigned rank, void *in, void *out);
/* After the call: how many elements of the result are not what they should be,
 * and of an input outside `out` not what they were; each guard that was written
 * into counts as one. *first (may be NULL) is the first wrong element of the
 * result, SIZE_MAX when there is none. */
size_t pattern_wrong(const struct pattern *, unsigned rank, const void *in,
                     const void *out, size_t *first);
/* Where the rank's input begins, before the call, and its result, after it;
 * *count receives how many elements. */
const void *pattern_input(const struct pattern *, unsigned rank, const void *in,
                          const void *out, size_t *count);
const void *pattern_result(const struct pattern *, unsigned rank,
                           const void *out, size_t *count);
/* "17 elements are wrong, the first is 4096". */
void pattern_tell(uint64_t wrong, uint64_t first, char out[96]);

#endif

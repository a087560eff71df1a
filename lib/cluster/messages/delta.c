/* SPDX-License-Identifier: MIT
 *
 * Makes and applies deltas; see delta.h. The bytes:
 *
 *     number of edits | edits
 *     edit    bytes to skip | bytes to copy | number of new bytes | new bytes
 *
 * Skipping and copying move on in the old bytes, and copying and the new bytes
 * extend the new ones.
 */
#include "delta.h"

#include <string.h>

/* Entries of lists contain random ids, so that SURE equal bytes are the same
 * entry. */
enum { SURE = 16, CLOSE = 128 };

struct edit {
    size_t skip, copy, insert;
};

/* ---- making ---- */

static size_t common_prefix(struct gw__span a, struct gw__span b)
{
    size_t most = a.bytes < b.bytes ? a.bytes : b.bytes, n = 0;
    while (n < most && a.data[n] == b.data[n])
        n++;
    return n;
}

static struct gw__span rest_of(struct gw__span span, size_t offset)
{
    return (struct gw__span){span.data + offset, span.bytes - offset};
}

/* Do both continue alike at these offsets? */
static bool meets(struct gw__span from, size_t skip, struct gw__span to,
                  size_t insert)
{
    if (skip > from.bytes || insert > to.bytes)
        return false;
    if (skip == from.bytes && insert == to.bytes)
        return true;
    return from.bytes - skip >= SURE && to.bytes - insert >= SURE &&
           memcmp(from.data + skip, to.data + insert, SURE) == 0;
}

/* From a difference on: what to skip and to insert until both are alike again.
 * Few bytes of both are replaced, or one entry or more have gone or come. */
static void find_change(struct gw__span from, struct gw__span to,
                        struct edit *edit)
{
    size_t most = from.bytes > to.bytes ? from.bytes : to.bytes;
    edit->copy = 0;
    for (size_t far = 1; far <= most; far++)
        for (size_t skip = 0; skip <= far; skip += far > CLOSE ? far : 1) {
            edit->skip = skip;
            edit->insert = far - skip;
            if (meets(from, skip, to, far - skip))
                return;
        }
    edit->skip = from.bytes;
    edit->insert = to.bytes;
}

static void put_edit(struct gw__writer *w, const struct edit *edit,
                     const uint8_t *inserted)
{
    gw__put_u32(w, (uint32_t)edit->skip);
    gw__put_u32(w, (uint32_t)edit->copy);
    gw__put_u32(w, (uint32_t)edit->insert);
    gw__put_bytes(w, inserted, edit->insert);
}

/* Writes the edits with `w`, or only counts them. */
static uint32_t put_edits(struct gw__writer *w, struct gw__span from,
                          struct gw__span to)
{
    uint32_t count = 0;
    size_t skip = 0;
    while (to.bytes > 0) {
        struct edit change = {.skip = 0}, edit = {.skip = skip};
        edit.copy = common_prefix(from, to);
        from = rest_of(from, edit.copy);
        to = rest_of(to, edit.copy);
        if (to.bytes > 0)
            find_change(from, to, &change);
        edit.insert = change.insert;
        if (w)
            put_edit(w, &edit, to.data);
        from = rest_of(from, change.skip);
        to = rest_of(to, change.insert);
        skip = change.skip;
        count++;
    }
    return count;
}

void gw__put_delta(struct gw__writer *w, struct gw__span from,
                   struct gw__span to)
{
    gw__put_u32(w, put_edits(NULL, from, to));
    put_edits(w, from, to);
}

/* ---- applying ---- */

size_t gw__get_delta(struct gw__reader *r, struct gw__span from, void *out,
                     size_t room)
{
    uint8_t *to = out;
    size_t used = 0;
    uint32_t count = gw__get_u32(r);
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        size_t skip = gw__get_u32(r), copy = gw__get_u32(r);
        size_t insert = gw__get_u32(r);
        gw__reader_demand(r, skip <= from.bytes && copy <= from.bytes - skip &&
                                 copy <= room - used &&
                                 insert <= room - used - copy &&
                                 insert <= r->left);
        if (r->bad)
            return 0;
        memcpy(to + used, from.data + skip, copy);
        from = rest_of(from, skip + copy);
        gw__get_bytes(r, to + used + copy, insert);
        used += copy + insert;
    }
    return r->bad ? 0 : used;
}

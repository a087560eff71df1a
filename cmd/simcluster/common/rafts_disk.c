/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See rafts_disk.h.
 */
#include "rafts_disk.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void rafts_disk_truncate(struct rafts_disk *d, raft_index index)
{
    while (d->count > 0 && d->count >= index)
        free(d->entries[--d->count].buf.base);
}

void rafts_disk_clear(struct rafts_disk *d)
{
    rafts_disk_truncate(d, 0);
    free(d->entries);
    memset(d, 0, sizeof *d);
}

static int store(struct rafts_disk *d, const struct raft_entry *entry)
{
    enum { ROOM = 64 };
    if (d->count == d->room) {
        size_t room = d->room ? 2 * d->room : ROOM;
        void *larger = realloc(d->entries, room * sizeof *d->entries);
        if (!larger)
            return RAFT_NOMEM;
        d->entries = larger;
        d->room = room;
    }
    void *copy = malloc(entry->buf.len + 1);
    if (!copy)
        return RAFT_NOMEM;
    if (entry->buf.len)
        memcpy(copy, entry->buf.base, entry->buf.len);
    d->entries[d->count] = *entry;
    d->entries[d->count].buf.base = copy;
    d->entries[d->count++].batch = NULL;
    return 0;
}

int rafts_disk_append(struct rafts_disk *d, const struct raft_entry entries[],
                      unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int failed = store(d, &entries[i]);
        if (failed)
            return failed;
    }
    return 0;
}

int rafts_disk_bootstrap(struct rafts_disk *d,
                         const struct raft_configuration *conf)
{
    struct raft_entry entry = {.term = 1, .type = RAFT_CHANGE};
    int failed = raft_configuration_encode(conf, &entry.buf);
    if (failed)
        return failed;
    d->term = 1;
    failed = store(d, &entry);
    raft_free(entry.buf.base);
    return failed;
}

/* All in one batch, as libraft expects loaded entries. */
int rafts_disk_load(const struct rafts_disk *d, raft_term *term, raft_id *vote,
                    struct raft_entry **entries, size_t *count)
{
    size_t bytes = 0, at = 0;
    *term = d->term;
    *vote = d->vote;
    *entries = NULL;
    *count = d->count;
    if (d->count == 0)
        return 0;
    for (size_t i = 0; i < d->count; i++)
        bytes += d->entries[i].buf.len;
    *entries = raft_calloc(d->count, sizeof **entries);
    uint8_t *batch = raft_malloc(bytes + 1);
    if (!*entries || !batch)
        return RAFT_NOMEM;
    for (size_t i = 0; i < d->count; i++) {
        struct raft_entry *entry = &(*entries)[i];
        *entry = d->entries[i];
        entry->batch = batch;
        entry->buf.base = batch + at;
        memcpy(entry->buf.base, d->entries[i].buf.base, entry->buf.len);
        at += entry->buf.len;
    }
    return 0;
}

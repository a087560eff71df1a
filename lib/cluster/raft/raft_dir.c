/* SPDX-License-Identifier: MIT
 *
 * Checks a controller's directory, entry after entry from the oldest one that
 * is kept, in the order in which libraft will number them; see raft_dir.h.
 * Entries up to the newest snapshot may be missing at the front.
 */
#include "raft_dir_parts.h"

#include "base/notice.h"

#include <errno.h>
#include <fcntl.h>
#include <raft.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long number; /* for printing */

/* Damage in `file` at byte `at`: entry `next`. */
GW_PRINTF(5, 6)
static enum gw_err damaged(struct gw__raft_dir *dir, unsigned file, size_t at,
                           struct gw_error *why, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dir->damage =
        (struct gw__raft_dir_damage){.place = GW__RAFT_DAMAGED_SEGMENT,
                                     .file = file,
                                     .at = at,
                                     .file_first = dir->file_first,
                                     .batch_first = dir->batch_first};
    return gw_fail(why, GW_EDATA, "%s/%s: byte %zu: entry %llu: %s", dir->path,
                   dir->files[file].name, at, (number)dir->next, text);
}

/* ---- entries ---- */

static enum gw_err check_entry(struct gw__raft_dir *dir, unsigned file,
                               size_t at,
                               const struct gw__raft_segment_entry *entry,
                               struct gw_error *why)
{
    const struct gw__raft_ack_slot *was =
        gw__raft_ack_entry(dir->ack, dir->next);
    if (dir->next == 1 && entry->type != RAFT_CHANGE)
        return damaged(dir, file, at, why,
                       "the first entry does not list the controllers");
    if (was && (was->term != entry->term || was->crc != entry->crc))
        return damaged(dir, file, at, why,
                       "it differs from the acknowledged entry");
    if (entry->term == 0 || entry->term < dir->term)
        return damaged(dir, file, at, why, "term %llu after term %llu",
                       (number)entry->term, (number)dir->term);
    gw__raft_ack_record(dir->ack, GW__ACK_ENTRY, entry->term, dir->next,
                        entry->crc);
    dir->term = entry->term;
    dir->next++;
    return GW_OK;
}

static enum gw_err check_batch(struct gw__raft_dir *dir, unsigned file,
                               const struct gw__raft_segment *segment,
                               struct gw_error *why)
{
    size_t data_at = 0;
    enum gw_err err = GW_OK;
    dir->batch_first = dir->next;
    for (unsigned i = 0; i < segment->count && !err; i++) {
        struct gw__raft_segment_entry entry =
            gw__raft_segment_entry(segment, i, &data_at);
        err = check_entry(dir, file, segment->at, &entry, why);
    }
    return err;
}

/* ---- segments ---- */

/* A torn write may be cut off only if no data follows it and it was not
 * acknowledged. */
static bool may_truncate(const struct gw__raft_dir *dir, unsigned file)
{
    uint8_t *bytes;
    size_t size;
    bool empty = true;
    for (unsigned f = file + 1; f < dir->count && empty; f++) {
        if (gw__raft_dir_read(dir, dir->files[f].name, &bytes, &size, NULL))
            return false;
        const struct gw__raft_segment s = {.bytes = bytes, .size = size};
        empty = gw__raft_segment_zeros(&s, 0);
        free(bytes);
    }
    return empty && gw__raft_ack_newest(dir->ack) < dir->next;
}

/* Refuses a full segment of wrong length, and an open one with another length
 * than libraft's, unless it ends with its last batch, because it was being
 * closed. */
static enum gw_err check_end(struct gw__raft_dir *dir, unsigned file,
                             const struct gw__raft_segment *s,
                             struct gw_error *why)
{
    const struct gw__raft_dir_file *f = &dir->files[file];
    if (!f->open && dir->next != f->last + 1)
        return damaged(dir, file, s->at, why, "the last entry should be %llu",
                       (number)f->last);
    if (f->open && s->size != s->at && s->size != GW__RAFT_SEGMENT_BYTES)
        return damaged(dir, file, s->at, why,
                       "the file has %zu bytes instead of %d", s->size,
                       GW__RAFT_SEGMENT_BYTES);
    return GW_OK;
}

static enum gw_err check_twice(struct gw__raft_dir *dir, unsigned file,
                               const struct gw__raft_segment *s, uint64_t first,
                               struct gw_error *why)
{
    dir->files[file].hash = gw_hash(s->bytes, s->at, 0) | 1;
    for (unsigned f = 0; f < file; f++)
        if (dir->files[f].hash == dir->files[file].hash) {
            dir->next = dir->batch_first = first;
            return damaged(dir, file, 0, why, "the same entries as in %s",
                           dir->files[f].name);
        }
    return GW_OK;
}

static enum gw_err check_batches(struct gw__raft_dir *dir, unsigned file,
                                 struct gw__raft_segment *s,
                                 struct gw_error *why)
{
    uint64_t first = dir->next;
    enum gw_err err = GW_OK;
    enum gw__raft_batch batch;
    while (!err && (batch = gw__raft_segment_next(s)) == GW__BATCH_WHOLE)
        err = check_batch(dir, file, s, why);
    if (err)
        return err;
    dir->batch_first = dir->next;
    if (batch == GW__BATCH_TORN && may_truncate(dir, file)) {
        dir->files[file].torn_at = s->at;
        dir->files[file].torn = dir->next;
        return GW_OK;
    }
    if (batch != GW__BATCH_NONE)
        return damaged(dir, file, s->at, why, "%s", s->wrong);
    err = check_end(dir, file, s, why);
    return err ? err : check_twice(dir, file, s, first, why);
}

/* Entries that the snapshot covers may be missing before a full segment. */
static enum gw_err check_begin(struct gw__raft_dir *dir, unsigned file,
                               struct gw_error *why)
{
    const struct gw__raft_dir_file *f = &dir->files[file];
    if (f->open || f->first == dir->next)
        return GW_OK;
    if (f->first < dir->next)
        return damaged(dir, file, 0, why, "an earlier file has it already");
    if (f->first > dir->snapshot.index + 1)
        return damaged(dir, file, 0, why, "entries before %llu are missing",
                       (number)f->first);
    dir->file_first = dir->batch_first = dir->next = f->first;
    return GW_OK;
}

static enum gw_err check_segment(struct gw__raft_dir *dir, unsigned file,
                                 struct gw_error *why)
{
    const struct gw__raft_dir_file *f = &dir->files[file];
    struct gw__raft_segment s;
    uint8_t *bytes;
    size_t size;
    dir->file_first = dir->batch_first = dir->next;
    dir->damage =
        (struct gw__raft_dir_damage){.place = GW__RAFT_DAMAGED_SEGMENT,
                                     .file = file,
                                     .file_first = dir->next,
                                     .batch_first = dir->next};
    enum gw_err err = check_begin(dir, file, why);
    if (!err)
        err = gw__raft_dir_read(dir, f->name, &bytes, &size, why);
    if (err)
        return err;
    gw__raft_segment_begin(&s, bytes, size, f->open);
    bool empty = f->open && gw__raft_segment_zeros(&s, 0);
    if (!empty)
        err = check_batches(dir, file, &s, why);
    else /* created but not yet written; libraft fails on a partial one */
        dir->files[file].remove = size != GW__RAFT_SEGMENT_BYTES;
    free(bytes);
    return err;
}

/* ---- the whole directory ---- */

/* Removes segments older than the snapshot, which remain after a lagging
 * controller has received one: libraft would number new entries after
 * theirs. */
static void remove_outdated(struct gw__raft_dir *dir)
{
    for (unsigned f = 0; f < dir->count; f++)
        dir->files[f].remove |= dir->files[f].hash != 0;
}

static enum gw_err check_found(struct gw__raft_dir *dir, struct gw_error *why)
{
    uint64_t newest = gw__raft_ack_newest(dir->ack);
    uint64_t found = dir->next - 1;
    if (found < dir->snapshot.index) {
        found = dir->snapshot.index;
        if (newest <= found)
            remove_outdated(dir);
    }
    if (newest <= found)
        return GW_OK;
    dir->damage = (struct gw__raft_dir_damage){.place = GW__RAFT_DAMAGED_END,
                                               .batch_first = found + 1};
    return gw_fail(why, GW_EDATA,
                   "%s: acknowledged entries %llu to %llu are missing at the "
                   "end of the log",
                   dir->path, (number)found + 1, (number)newest);
}

/* A controller that ended directly after its start has a vote and no log
 * yet. */
static enum gw_err check_empty(struct gw__raft_dir *dir, struct gw_error *why)
{
    if (dir->next > 1 || dir->snapshot.index > 0)
        return GW_OK;
    dir->damage = (struct gw__raft_dir_damage){.place = GW__RAFT_DAMAGED_ALL};
    if (dir->in_term > 1)
        return gw_fail(
            why, GW_EDATA,
            "%s: the log is missing, but this controller was in term %llu",
            dir->path, (number)dir->in_term);
    return GW_OK;
}

static enum gw_err scan_directory(struct gw__raft_dir *dir,
                                  struct gw_error *why)
{
    enum gw_err err = gw__raft_dir_list(dir, why);
    if (!err)
        err = gw__raft_dir_check_snapshot(dir, why);
    dir->term = 0;
    dir->next = 1;
    bool oldest_open = dir->count == 0 || dir->files[0].open;
    if (dir->snapshot.index && oldest_open)
        dir->next = dir->snapshot.index + 1;
    for (unsigned f = 0; f < dir->count && !err; f++)
        err = check_segment(dir, f, why);
    if (!err)
        err = check_found(dir, why);
    if (dir->snapshot.term > dir->term)
        dir->term = dir->snapshot.term;
    if (!err)
        err = gw__raft_dir_check_vote(dir, why);
    return err ? err : check_empty(dir, why);
}

/* ---- repair ---- */

static enum gw_err tidy_file(struct gw__raft_dir *dir,
                             const struct gw__raft_dir_file *f,
                             struct gw_error *why)
{
    if (f->remove && unlinkat(dir->folder, f->name, 0))
        return gw_fail_errno(why, "%s/%s", dir->path, f->name);
    if (f->remove || f->torn_at == 0)
        return GW_OK;
    enum gw_err err = gw__raft_dir_zero(dir, f->name, f->torn_at, why);
    if (!err)
        gw__notice("%s/%s: byte %zu: entry %llu was incomplete when the "
                   "controller ended; it was never acknowledged and is removed",
                   dir->path, f->name, f->torn_at, (number)f->torn);
    return err;
}

/* Removes data without effect. Afterwards everything left is acknowledged, as
 * libraft assumes. */
static enum gw_err tidy(struct gw__raft_dir *dir, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    for (unsigned f = 0; f < dir->count && !err; f++)
        err = tidy_file(dir, &dir->files[f], why);
    if (!err && dir->in_term > 0 && dir->next == 1 && dir->snapshot.index == 0)
        err = gw__raft_dir_lose(dir, why); /* starts again */
    if (!err && !gw__raft_ack_save(dir->ack))
        err = gw_fail_errno(why, "%s/acknowledged", dir->path);
    return err;
}

static enum gw_err check_directory(struct gw__raft_dir *dir, bool accept_loss,
                                   struct gw_error *why)
{
    struct gw_error found;
    enum gw_err err;
    while ((err = scan_directory(dir, &found)) == GW_EDATA && accept_loss) {
        gw__notice("%s; this loss is accepted", found.text);
        err = gw__raft_dir_lose(dir, why);
        if (err)
            return err;
    }
    if (err == GW_EDATA)
        return gw_fail(why, err,
                       "%s. Copy the directory of the leading controller, or "
                       "accept the loss of this entry and all later ones",
                       found.text);
    return err ? gw_fail(why, err, "%s", found.text) : tidy(dir, why);
}

enum gw_err gw__raft_dir_check(const char *directory, bool accept_loss,
                               struct gw__raft_ack **ack, struct gw_error *why)
{
    struct gw__raft_dir dir = {.path = directory};
    *ack = NULL;
    dir.folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir.folder < 0)
        return gw_fail_errno(why, "%s", directory);
    enum gw_err err = gw__raft_ack_open(directory, &dir.ack, why);
    if (!err)
        err = check_directory(&dir, accept_loss, why);
    free(dir.files);
    close(dir.folder);
    if (err)
        gw__raft_ack_close(&dir.ack);
    *ack = dir.ack;
    return err;
}

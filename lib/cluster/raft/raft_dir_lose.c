/* SPDX-License-Identifier: MIT
 *
 * Keeps the intact part of a controller's log, if the operator has accepted the
 * loss. Nothing is removed: damaged files, and those after them, move to the
 * subdirectory `lost`. See raft_dir.h.
 *
 * Each call makes the log shorter, or omits a snapshot or vote, so repeated
 * calls come to an end.
 */
#include "raft_dir_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Moves it to an unused name there. */
static enum gw_err move_away(const struct gw__raft_dir *dir, const char *name,
                             struct gw_error *why)
{
    char to[GW__RAFT_DIR_NAME_MAX + 32];
    if (mkdirat(dir->folder, "lost", 0700) && errno != EEXIST)
        return gw_fail_errno(why, "%s/lost", dir->path);
    snprintf(to, sizeof to, "lost/%s", name);
    for (unsigned n = 2; faccessat(dir->folder, to, F_OK, 0) == 0; n++)
        snprintf(to, sizeof to, "lost/%s.%u", name, n);
    if (renameat(dir->folder, name, dir->folder, to) && errno != ENOENT)
        return gw_fail_errno(why, "%s/%s", dir->path, to);
    return GW_OK;
}

static enum gw_err write_new(const struct gw__raft_dir *dir, const char *name,
                             const void *bytes, size_t size,
                             struct gw_error *why)
{
    int fd = openat(dir->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    0600);
    bool good =
        fd >= 0 && write(fd, bytes, size) == (ssize_t)size && fsync(fd) == 0;
    enum gw_err err =
        good ? GW_OK : gw_fail_errno(why, "%s/%s", dir->path, name);
    if (fd >= 0)
        close(fd);
    return err;
}

/* Keeps the batches before the damage as a full segment. */
static enum gw_err keep_begin(const struct gw__raft_dir *dir, const char *name,
                              struct gw_error *why)
{
    const struct gw__raft_dir_damage *d = &dir->damage;
    char kept[GW__RAFT_DIR_NAME_MAX];
    uint8_t *bytes;
    size_t size;
    enum gw_err err = gw__raft_dir_read(dir, name, &bytes, &size, why);
    if (!err)
        err = move_away(dir, name, why);
    snprintf(kept, sizeof kept, "%016" PRIu64 "-%016" PRIu64, d->file_first,
             d->batch_first - 1);
    if (!err)
        err = write_new(dir, kept, bytes, d->at, why);
    free(bytes);
    return err;
}

static enum gw_err lose_segments(struct gw__raft_dir *dir, struct gw_error *why)
{
    const struct gw__raft_dir_damage *d = &dir->damage;
    enum gw_err err = GW_OK;
    unsigned file = d->file;
    if (d->batch_first > d->file_first)
        err = keep_begin(dir, dir->files[file++].name, why);
    for (; file < dir->count && !err; file++)
        err = move_away(dir, dir->files[file].name, why);
    return err;
}

static enum gw_err lose_snapshot(struct gw__raft_dir *dir, struct gw_error *why)
{
    char name[GW__RAFT_DIR_NAME_MAX + 8];
    snprintf(name, sizeof name, "%s.meta", dir->snapshot.name);
    enum gw_err err = move_away(dir, dir->snapshot.name, why);
    return err ? err : move_away(dir, name, why);
}

static enum gw_err lose_all(struct gw__raft_dir *dir, struct gw_error *why)
{
    enum gw_err err = move_away(dir, "metadata1", why);
    if (!err)
        err = move_away(dir, "metadata2", why);
    if (!err && !gw__raft_ack_forget(dir->ack, 0))
        err = gw_fail_errno(why, "%s/acknowledged", dir->path);
    return err;
}

enum gw_err gw__raft_dir_lose(struct gw__raft_dir *dir, struct gw_error *why)
{
    const struct gw__raft_dir_damage *d = &dir->damage;
    enum gw_err err = GW_OK;
    gw__raft_ack_reload(dir->ack);
    switch (d->place) {
    case GW__RAFT_DAMAGED_SEGMENT:
        err = lose_segments(dir, why);
        break;
    case GW__RAFT_DAMAGED_SNAPSHOT:
        return lose_snapshot(dir, why);
    case GW__RAFT_DAMAGED_VOTE:
        return gw__raft_dir_renew_vote(dir, why);
    case GW__RAFT_DAMAGED_ALL:
        return lose_all(dir, why);
    case GW__RAFT_DAMAGED_END:
        break;
    }
    if (!err && !gw__raft_ack_forget(dir->ack, d->batch_first))
        err = gw_fail_errno(why, "%s/acknowledged", dir->path);
    return err;
}

/* SPDX-License-Identifier: MIT
 *
 * Writing of snapshots. snapshot.h explains why readers never see an incomplete
 * one.
 */
#include "snapshot_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void gw__snapshot_name(uint64_t mark, unsigned slot, char out[SLOT_NAME_MAX])
{
    snprintf(out, SLOT_NAME_MAX, "slot-%02u.%llx", slot,
             (unsigned long long)mark);
}

enum gw_err gw__snapshot_directory(const char *directory, bool make, int *fd,
                                   struct gw_error *why)
{
    if (make && mkdir(directory, 0777) != 0 && errno != EEXIST)
        return gw_fail_errno(why, "snapshot %s", directory);
    *fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT)
        return gw_fail(why, GW_EDATA,
                       "snapshot %s: the directory does not exist", directory);
    return *fd < 0 ? gw_fail_errno(why, "snapshot %s", directory) : GW_OK;
}

/* ---- writing one file atomically ---- */

static bool write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t wrote = write(fd, at, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        at += wrote;
        bytes -= (size_t)wrote;
    }
    return true;
}

static enum gw_err write_file(int folder, const char *name, const void *head,
                              size_t head_bytes, const void *data, size_t bytes,
                              struct gw_error *why)
{
    char sibling[SLOT_NAME_MAX + 32];
    snprintf(sibling, sizeof sibling, ".%s.%ld", name, (long)getpid());
    int fd =
        openat(folder, sibling, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return gw_fail_errno(why, "snapshot: %s", name);
    bool good = write_all(fd, head, head_bytes) && write_all(fd, data, bytes) &&
                fsync(fd) == 0;
    enum gw_err err = GW_OK;
    if (!good)
        err = gw_fail_errno(why, "snapshot: %s", name);
    close(fd);
    if (!err && renameat(folder, sibling, folder, name) != 0)
        err = gw_fail_errno(why, "snapshot: %s", name);
    if (err)
        unlinkat(folder, sibling, 0);
    else
        fsync(folder);
    return err;
}

enum gw_err gw__snapshot_write(const char *directory, uint64_t mark,
                               unsigned slot, unsigned slot_count,
                               const void *data, size_t bytes,
                               struct gw_error *why)
{
    char name[SLOT_NAME_MAX];
    int folder = -1;
    const struct slot_head head = {.magic = SLOT_MAGIC,
                                   .version = SNAPSHOT_VERSION,
                                   .mark = mark,
                                   .slot = slot,
                                   .slot_count = slot_count,
                                   .bytes = bytes,
                                   .hash = gw_hash(data, bytes, 0)};
    enum gw_err err = gw__snapshot_directory(directory, true, &folder, why);
    if (err)
        return err;
    gw__snapshot_name(mark, slot, name);
    err = write_file(folder, name, &head, sizeof head, data, bytes, why);
    close(folder);
    return err;
}

/* ---- the manifest ---- */

static bool read_head(int folder, uint64_t mark, unsigned slot,
                      struct slot_head *head)
{
    char name[SLOT_NAME_MAX];
    gw__snapshot_name(mark, slot, name);
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool good = read(fd, head, sizeof *head) == (ssize_t)sizeof *head &&
                head->mark == mark && head->slot == slot;
    close(fd);
    return good;
}

size_t gw__snapshot_manifest(const struct manifest *manifest,
                             char out[MANIFEST_MAX])
{
    int used = snprintf(out, MANIFEST_MAX,
                        "gradwire snapshot %d\nmark %llx\nslots %u\n",
                        SNAPSHOT_VERSION, (unsigned long long)manifest->mark,
                        manifest->slot_count);
    for (unsigned slot = 0; slot < manifest->slot_count; slot++)
        used += snprintf(out + used, MANIFEST_MAX - (size_t)used,
                         "slot %u %llu %016llx\n", slot,
                         (unsigned long long)manifest->bytes[slot],
                         (unsigned long long)manifest->hash[slot]);
    return (size_t)used;
}

/* The marker of the current complete snapshot; 0: none. */
static uint64_t former_mark(int folder)
{
    char text[128];
    unsigned version;
    unsigned long long mark;
    int fd = openat(folder, "manifest", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    return sscanf(text, "gradwire snapshot %u\nmark %llx\n", &version, &mark) ==
                   2
               ? mark
               : 0;
}

/* Deletes files of the former snapshot only: newer ones may be in progress. */
static void remove_former(int folder, uint64_t mark)
{
    char name[SLOT_NAME_MAX];
    for (unsigned slot = 0; mark && slot < GW_PS_SLOTS_MAX; slot++) {
        gw__snapshot_name(mark, slot, name);
        unlinkat(folder, name, 0);
    }
}

static enum gw_err write_manifest(int folder, uint64_t mark,
                                  unsigned slot_count, struct gw_error *why)
{
    char text[MANIFEST_MAX];
    struct manifest manifest = {.mark = mark, .slot_count = slot_count};
    struct slot_head head;
    for (unsigned slot = 0; slot < slot_count; slot++) {
        if (!read_head(folder, mark, slot, &head))
            return GW_PENDING;
        manifest.bytes[slot] = head.bytes;
        manifest.hash[slot] = head.hash;
    }
    size_t used = gw__snapshot_manifest(&manifest, text);
    uint64_t former = former_mark(folder);
    enum gw_err err = write_file(folder, "manifest", "", 0, text, used, why);
    if (!err && former != mark)
        remove_former(folder, former);
    return err;
}

enum gw_err gw__snapshot_finish(const char *directory, uint64_t mark,
                                unsigned slot_count, struct gw_error *why)
{
    int folder = -1;
    enum gw_err err = gw__snapshot_directory(directory, false, &folder, why);
    if (err)
        return err;
    err = write_manifest(folder, mark, slot_count, why);
    close(folder);
    return err;
}

/* SPDX-License-Identifier: MIT
 *
 * The files of a controller's log, by libraft's names for them. See raft_dir.h.
 * Other files do not belong to the log: temporary files of libraft ("tmp-..."),
 * and foreign files.
 */
#include "raft_dir_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 256 << 20 };

/* ---- names ---- */

static bool is_segment(const char *name, struct gw__raft_dir_file *file)
{
    int used = -1;
    memset(file, 0, sizeof *file);
    if (strlen(name) >= sizeof file->name)
        return false;
    snprintf(file->name, sizeof file->name, "%s", name);
    if (sscanf(name, "%16" SCNu64 "-%16" SCNu64 "%n", &file->first, &file->last,
               &used) == 2 &&
        used == (int)strlen(name))
        return true;
    used = -1;
    file->open = true;
    bool open = sscanf(name, "open-%" SCNu64 "%n", &file->first, &used) == 1 &&
                used == (int)strlen(name);
    file->last = file->first;
    return open;
}

static bool is_snapshot(const char *name,
                        struct gw__raft_dir_snapshot *snapshot)
{
    int used = -1;
    size_t length = strlen(name);
    if (length >= sizeof snapshot->name ||
        sscanf(name, "snapshot-%" SCNu64 "-%" SCNu64 "-%" SCNu64 ".meta%n",
               &snapshot->term, &snapshot->index, &snapshot->time,
               &used) != 3 ||
        used != (int)length)
        return false;
    snprintf(snapshot->name, sizeof snapshot->name, "%.*s",
             (int)(length - strlen(".meta")), name);
    return true;
}

/* libraft uses one only if both of its files exist. */
static bool is_whole(const struct gw__raft_dir *dir,
                     const struct gw__raft_dir_snapshot *snapshot)
{
    struct stat status;
    return fstatat(dir->folder, snapshot->name, &status, 0) == 0 &&
           status.st_size > 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool is_newer(const struct gw__raft_dir_snapshot *a,
                     const struct gw__raft_dir_snapshot *b)
{
    int order = compare_numbers(a->term, b->term);
    if (!order)
        order = compare_numbers(a->index, b->index);
    return (order ? order : compare_numbers(a->time, b->time)) > 0;
}

static int in_order(const void *a, const void *b)
{
    const struct gw__raft_dir_file *one = a, *other = b;
    if (one->open != other->open)
        return one->open ? 1 : -1;
    return compare_numbers(one->first, other->first);
}

/* ---- the list ---- */

static enum gw_err add_file(struct gw__raft_dir *dir, const char *name,
                            struct gw_error *why)
{
    struct gw__raft_dir_file file;
    struct gw__raft_dir_snapshot snapshot;
    if (is_snapshot(name, &snapshot) && is_whole(dir, &snapshot) &&
        is_newer(&snapshot, &dir->snapshot))
        dir->snapshot = snapshot;
    if (!is_segment(name, &file))
        return GW_OK;
    void *grown = realloc(dir->files, (dir->count + 1) * sizeof *dir->files);
    if (!grown)
        return gw_fail(why, GW_ENOMEM, "%s: a list of its files", dir->path);
    dir->files = grown;
    dir->files[dir->count++] = file;
    return GW_OK;
}

enum gw_err gw__raft_dir_list(struct gw__raft_dir *dir, struct gw_error *why)
{
    DIR *all = opendir(dir->path);
    struct dirent *one;
    enum gw_err err = GW_OK;
    if (!all)
        return gw_fail_errno(why, "%s", dir->path);
    dir->count = 0;
    dir->snapshot = (struct gw__raft_dir_snapshot){0};
    while (!err && (one = readdir(all)))
        err = add_file(dir, one->d_name, why);
    closedir(all);
    if (dir->count)
        qsort(dir->files, dir->count, sizeof *dir->files, in_order);
    return err;
}

/* ---- bytes ---- */

static enum gw_err read_whole_file(const struct gw__raft_dir *dir,
                                   const char *name, int fd, uint8_t **bytes,
                                   size_t *size, struct gw_error *why)
{
    struct stat status;
    if (fstat(fd, &status))
        return gw_fail_errno(why, "%s/%s", dir->path, name);
    if (!S_ISREG(status.st_mode) || status.st_size > FILE_BYTES_MAX)
        return gw_fail(why, GW_EDATA, "%s/%s: not a file of a log", dir->path,
                       name);
    *size = (size_t)status.st_size;
    *bytes = malloc(*size + 1);
    if (!*bytes)
        return gw_fail(why, GW_ENOMEM, "%s/%s", dir->path, name);
    for (size_t at = 0; at < *size;) {
        ssize_t got = pread(fd, *bytes + at, *size - at, (off_t)at);
        if (got < 0)
            return gw_fail_errno(why, "%s/%s: byte %zu", dir->path, name, at);
        if (got == 0)
            *size = at;
        at += (size_t)got;
    }
    return GW_OK;
}

enum gw_err gw__raft_dir_read(const struct gw__raft_dir *dir, const char *name,
                              uint8_t **bytes, size_t *size,
                              struct gw_error *why)
{
    *bytes = NULL;
    *size = 0;
    int fd = openat(dir->folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? GW_OK
                               : gw_fail_errno(why, "%s/%s", dir->path, name);
    enum gw_err err = read_whole_file(dir, name, fd, bytes, size, why);
    close(fd);
    if (err) {
        free(*bytes);
        *bytes = NULL;
    }
    return err;
}

enum gw_err gw__raft_dir_zero(const struct gw__raft_dir *dir, const char *name,
                              size_t at, struct gw_error *why)
{
    static const uint8_t zeros[4096];
    struct stat status;
    int fd = openat(dir->folder, name, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &status) == 0;
    for (size_t end; good && at < (size_t)status.st_size; at = end) {
        end = (size_t)status.st_size;
        end = end - at > sizeof zeros ? at + sizeof zeros : end;
        good = pwrite(fd, zeros, end - at, (off_t)at) == (ssize_t)(end - at);
    }
    good = good && fsync(fd) == 0;
    enum gw_err err =
        good ? GW_OK : gw_fail_errno(why, "%s/%s", dir->path, name);
    if (fd >= 0)
        close(fd);
    return err;
}

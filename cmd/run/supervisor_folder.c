/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run's directory. Whoever holds the lock on it is the supervisor of that
 * run; the lock goes with the process, however it ends, so a directory without
 * one is what a dead run left, and may be taken over.
 */
#include "supervisor_parts.h"

#include "common/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 1000, DEPTH_MAX = 4 };

/* ---- taking it ---- */

/* Empties a directory that is open at `fd`; what a run leaves is not deep. */
static void empty(int fd, unsigned depth)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    if (!folder) {
        if (again >= 0)
            close(again);
        return;
    }
    while ((entry = readdir(folder))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (unlinkat(fd, name, 0) == 0 || depth == DEPTH_MAX)
            continue;
        int inner =
            openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0)
            continue;
        empty(inner, depth + 1);
        close(inner);
        unlinkat(fd, name, AT_REMOVEDIR);
    }
    closedir(folder);
}

static bool is_empty(int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    unsigned entries = 0;
    if (!folder)
        return false;
    while (readdir(folder))
        entries++;
    closedir(folder);
    return entries == 2; /* itself and its parent */
}

/* Nothing else is ever emptied: each run's log is the first thing in it. */
static bool is_a_runs(int fd)
{
    struct stat log;
    if (fstatat(fd, "log", &log, AT_SYMLINK_NOFOLLOW) == 0)
        return S_ISREG(log.st_mode);
    return is_empty(fd);
}

/* GW_PENDING: a living run has it. */
static enum gw_err take(struct run *run, const char *folder, const char *name,
                        bool must_be_new, struct gw_error *why)
{
    int length =
        snprintf(run->directory, sizeof run->directory, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof run->directory - 32)
        return gw_fail(why, GW_EINVAL, "$GRADWIRE_RUNS is too long");
    bool made = mkdir(run->directory, 0777) == 0;
    if (!made && errno != EEXIST)
        return gw_fail_errno(why, "%s", run->directory);
    if (!made && must_be_new)
        return GW_PENDING;
    int fd = open(run->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return gw_fail_errno(why, "%s", run->directory);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return GW_PENDING;
    }
    if (!is_a_runs(fd)) {
        close(fd);
        return gw_fail(why, GW_EINVAL, "%s is no run's directory",
                       run->directory);
    }
    run->folder_fd = fd;
    snprintf(run->name, sizeof run->name, "%s", name);
    empty(fd, 0);
    return GW_OK;
}

/* A name that nobody has had; if all are taken, one whose run has ended. */
static enum gw_err take_any(struct run *run, const char *folder,
                            struct gw_error *why)
{
    char name[RUN_NAME_MAX];
    uint64_t chance = gw_now_ns() / 1000;
    for (unsigned i = 0; i < 2 * ATTEMPTS; i++) {
        run_name_pick(chance, i % ATTEMPTS, name);
        enum gw_err code = take(run, folder, name, i < ATTEMPTS, why);
        if (code != GW_PENDING)
            return code;
    }
    return gw_fail(why, GW_ENOSPC, "all names of runs in %s are taken", folder);
}

enum gw_err folder_open(struct run *run, struct gw_error *why)
{
    char folder[PATH_MAX];
    const char *name = run->options.name;
    attach_folder(folder, sizeof folder);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return gw_fail_errno(why, "%s", folder);
    if (!name)
        return take_any(run, folder, why);
    enum gw_err code = take(run, folder, name, false, why);
    if (code == GW_PENDING)
        return gw_fail(why, GW_EINVAL,
                       "there is a run %s already; end it by: ringctl down "
                       "--run %s",
                       name, name);
    return code;
}

/* ---- what lies in it ---- */

enum gw_err folder_log(struct run *run, struct gw_error *why)
{
    int fd = openat(run->folder_fd, "log",
                    O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return gw_fail_errno(why, "%s/log", run->directory);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
    return GW_OK;
}

/* Whole or not at all. */
enum gw_err folder_write(struct run *run, const char *file, const char *text,
                         struct gw_error *why)
{
    char half[64];
    snprintf(half, sizeof half, ".%s", file);
    int fd = openat(run->folder_fd, half,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return gw_fail_errno(why, "%s/%s", run->directory, file);
    size_t bytes = strlen(text);
    bool written = write(fd, text, bytes) == (ssize_t)bytes;
    if (!written && errno == 0)
        errno = ENOSPC;
    enum gw_err code = GW_OK;
    if (close(fd) != 0 || !written ||
        renameat(run->folder_fd, half, run->folder_fd, file) != 0) {
        code = gw_fail_errno(why, "%s/%s", run->directory, file);
        unlinkat(run->folder_fd, half, 0);
    }
    return code;
}

enum gw_err folder_write_json(struct run *run, const char *file, json_t *json,
                              struct gw_error *why)
{
    char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    if (!text)
        return gw_fail(why, GW_ENOMEM, "no memory for %s", file);
    errno = 0;
    enum gw_err code = folder_write(run, file, text, why);
    free(text);
    return code;
}

void folder_latest(struct run *run)
{
    char folder[PATH_MAX], link[PATH_MAX + 16], half[PATH_MAX + 64];
    attach_folder(folder, sizeof folder);
    snprintf(link, sizeof link, "%s/latest", folder);
    snprintf(half, sizeof half, "%s/.latest-%s", folder, run->name);
    unlink(half);
    if (symlink(run->name, half) != 0 || rename(half, link) != 0)
        fprintf(stderr, "%s: %s\n", link, strerror(errno));
}

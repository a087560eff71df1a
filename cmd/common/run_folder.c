/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See run_folder.h.
 */
#include "run_folder.h"

#include "rpc_client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 1000, DEPTH_MAX = 4 };

/* ---- taking a folder ---- */

/* Empties a directory that is open at `fd`; a run's files are not deep. */
static void empty(int fd, unsigned depth)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    if (!entries) {
        if (again >= 0)
            close(again);
        return;
    }
    while ((entry = readdir(entries))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (unlinkat(fd, name, 0) == 0 || depth == DEPTH_MAX)
            continue;
        int subfolder =
            openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (subfolder < 0)
            continue;
        empty(subfolder, depth + 1);
        close(subfolder);
        unlinkat(fd, name, AT_REMOVEDIR);
    }
    closedir(entries);
}

static bool is_empty(int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    unsigned count = 0;
    if (!entries)
        return false;
    while (readdir(entries))
        count++;
    closedir(entries);
    return count == 2; /* itself and its parent */
}

/* Nothing else is ever emptied: the log is the first file of each run. */
static bool is_a_runs(int fd)
{
    struct stat log;
    if (fstatat(fd, "log", &log, AT_SYMLINK_NOFOLLOW) == 0)
        return S_ISREG(log.st_mode);
    return is_empty(fd);
}

/* Restricts the directory to this user, also if it existed before. */
static enum gw_err make_private(int fd, const char *path, struct gw_error *why)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return gw_fail_errno(why, "%s", path);
    if (info.st_uid != geteuid())
        return gw_fail(why, GW_EINVAL,
                       "%s belongs to another user (%u); set "
                       "GRADWIRE_RUNS to a directory of your "
                       "own",
                       path, (unsigned)info.st_uid);
    if ((info.st_mode & 077) && fchmod(fd, 0700) != 0)
        return gw_fail_errno(why, "%s", path);
    return GW_OK;
}

/* GW_PENDING: a run that is alive has it. */
static enum gw_err lock_folder(struct run_folder *folder, const char *runs,
                               const char *name, bool must_be_new,
                               struct gw_error *why)
{
    int length =
        snprintf(folder->path, sizeof folder->path, "%s/%s", runs, name);
    if (length < 0 || (size_t)length >= sizeof folder->path - 32)
        return gw_fail(why, GW_EINVAL, "$GRADWIRE_RUNS is too long");
    bool made = mkdir(folder->path, 0700) == 0;
    if (!made && errno != EEXIST)
        return gw_fail_errno(why, "%s", folder->path);
    if (!made && must_be_new)
        return GW_PENDING;
    int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return gw_fail_errno(why, "%s", folder->path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return GW_PENDING;
    }
    enum gw_err err = make_private(fd, folder->path, why);
    if (!err && !is_a_runs(fd))
        err = gw_fail(why, GW_EINVAL, "%s is not the directory of a run",
                      folder->path);
    if (err) {
        close(fd);
        return err;
    }
    folder->fd = fd;
    snprintf(folder->name, sizeof folder->name, "%s", name);
    empty(fd, 0);
    return GW_OK;
}

/* Takes an unused name; if all are taken, one whose run has ended. */
static enum gw_err lock_any_folder(struct run_folder *folder, const char *runs,
                                   struct gw_error *why)
{
    char name[RUN_NAME_MAX];
    uint64_t chance = gw_now_ns() / 1000;
    for (unsigned i = 0; i < 2 * ATTEMPTS; i++) {
        run_name_pick(chance, i % ATTEMPTS, name);
        enum gw_err code = lock_folder(folder, runs, name, i < ATTEMPTS, why);
        if (code != GW_PENDING)
            return code;
    }
    return gw_fail(
        why, GW_ENOSPC,
        "all run names in %s are in use; end a run or set GRADWIRE_RUNS", runs);
}

enum gw_err run_folder_open(struct run_folder *folder, const char *name,
                            struct gw_error *why)
{
    char runs[PATH_MAX];
    *folder = (struct run_folder){
        .fd = -1, .began_ns = gw_now_ns(), .began_s = (json_int_t)time(NULL)};
    rpc_client_folder(runs, sizeof runs);
    if (mkdir(runs, 0700) != 0 && errno != EEXIST)
        return gw_fail_errno(why, "%s", runs);
    if (!name)
        return lock_any_folder(folder, runs, why);
    enum gw_err code = lock_folder(folder, runs, name, false, why);
    if (code == GW_PENDING)
        return gw_fail(why, GW_EINVAL,
                       "a run %s already exists; use another name, or see its "
                       "owner with: ringctl status --run %s",
                       name, name);
    return code;
}

/* ---- its files ---- */

enum gw_err run_folder_log(const struct run_folder *folder,
                           struct gw_error *why)
{
    int fd = openat(folder->fd, "log",
                    O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return gw_fail_errno(why, "%s/log", folder->path);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
    return GW_OK;
}

/* Whole or not at all. */
enum gw_err run_folder_write(const struct run_folder *folder, const char *file,
                             const char *text, struct gw_error *why)
{
    char half[64];
    snprintf(half, sizeof half, ".%s", file);
    int fd = openat(folder->fd, half, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                    0600);
    if (fd < 0)
        return gw_fail_errno(why, "%s/%s", folder->path, file);
    size_t bytes = strlen(text);
    bool written = write(fd, text, bytes) == (ssize_t)bytes;
    if (!written && errno == 0)
        errno = ENOSPC;
    enum gw_err code = GW_OK;
    if (close(fd) != 0 || !written ||
        renameat(folder->fd, half, folder->fd, file) != 0) {
        code = gw_fail_errno(why, "%s/%s", folder->path, file);
        unlinkat(folder->fd, half, 0);
    }
    return code;
}

/* Steals `json`. */
static enum gw_err run_folder_write_json(const struct run_folder *folder,
                                         const char *file, json_t *json,
                                         struct gw_error *why)
{
    char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    if (!text)
        return gw_fail(why, GW_ENOMEM, "no memory for %s", file);
    errno = 0;
    enum gw_err code = run_folder_write(folder, file, text, why);
    free(text);
    return code;
}

enum gw_err run_folder_publish(const struct run_folder *folder, json_t *facts,
                               const char *endpoint, struct gw_error *why)
{
    json_t *own = json_pack("{s:s, s:s, s:I}", "run", folder->name, "version",
                            GW_VERSION, "began", folder->began_s);
    json_object_update(facts, own);
    json_decref(own);
    enum gw_err code = run_folder_write_json(folder, "run.json", facts, why);
    return code ? code : run_folder_write(folder, "endpoint", endpoint, why);
}

void run_folder_conclude(const struct run_folder *folder, json_t *summary,
                         const char *error)
{
    struct gw_error why;
    double seconds = (double)(gw_now_ns() - folder->began_ns) * 1e-9;
    json_t *own = json_pack("{s:I, s:f, s:o}", "began", folder->began_s,
                            "seconds", seconds, "error",
                            error ? json_string_nocheck(error) : json_null());
    json_object_update_missing(summary, own);
    json_decref(own);
    if (folder->fd < 0) {
        json_decref(summary);
        return;
    }
    if (summary && run_folder_write_json(folder, "summary.json", summary, &why))
        fprintf(stderr, "%s\n", why.text);
    unlinkat(folder->fd, "endpoint", 0);
}

void run_folder_latest(const struct run_folder *folder)
{
    char runs[PATH_MAX], link[PATH_MAX + 16], half[PATH_MAX + 64];
    rpc_client_folder(runs, sizeof runs);
    snprintf(link, sizeof link, "%s/latest", runs);
    snprintf(half, sizeof half, "%s/.latest-%s", runs, folder->name);
    unlink(half);
    if (symlink(folder->name, half) != 0 || rename(half, link) != 0)
        fprintf(stderr, "%s: %s\n", link, strerror(errno));
}

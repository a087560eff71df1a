/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See archive.h. The list is that of GNU tar:
 *
 *     -rw------- 0/0            1234 2026-01-01 00:00 tiger/run.json
 */
#include "archive.h"

#include "ringctl/child_process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024, LIST_BYTES_MAX = 1 << 20 };

/* ---- checking ---- */

static bool part_is_safe(const char *part, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    bool dots = (length == 1 && part[0] == '.') ||
                (length == 2 && part[0] == '.' && part[1] == '.');
    return length > 0 && !dots && strspn(part, letters) >= length;
}

bool archive_name_is_safe(const char *name)
{
    for (;;) {
        size_t length = strcspn(name, "/");
        if (!part_is_safe(name, length))
            return false;
        if (!name[length])
            return true;
        name += length + 1;
    }
}

/* Removes the slash that ends the name of a directory. */
static void trim(char *entry, char kind)
{
    size_t length = strcspn(entry, "\n");
    entry[length] = 0;
    if (kind == 'd' && length > 1 && entry[length - 1] == '/')
        entry[length - 1] = 0;
}

static enum gw_err check_folder(const char *entry, char name[RUN_NAME_MAX],
                                struct gw_error *why)
{
    size_t length = strcspn(entry, "/");
    if (!*name && length < RUN_NAME_MAX)
        memcpy(name, entry, length), name[length] = 0;
    if (strlen(name) != length || strncmp(name, entry, length) != 0)
        return gw_fail(why, GW_EDATA, "%.200s is outside of the folder %s",
                       entry, name);
    return run_name_check(name, why) ? GW_EDATA : GW_OK;
}

enum gw_err archive_check(const char *line, char name[RUN_NAME_MAX],
                          uint64_t *bytes, struct gw_error *why)
{
    char kind, entry[LINE_MAX_BYTES];
    uint64_t size;
    /* Only a whole line is a line of tar: the rest of a long name is not. */
    if (!strchr(line, '\n') ||
        sscanf(line, "%c%*s %*s %" SCNu64 " %*s %*s %1023[^\n]", &kind, &size,
               entry) != 3)
        return gw_fail(why, GW_EDATA, "the list of tar cannot be read: %.200s",
                       line);
    trim(entry, kind);
    if (kind != '-' && kind != 'd')
        return gw_fail(why, GW_EDATA,
                       "%.200s is not a plain file (its type is %c)", entry,
                       kind);
    if (!archive_name_is_safe(entry))
        return gw_fail(why, GW_EDATA,
                       "\"%.200s\" is not a name that ringctl export writes; "
                       "it must be relative, without \"..\"",
                       entry);
    if (size > ARCHIVE_BYTES_MAX || (*bytes += size) > ARCHIVE_BYTES_MAX)
        return gw_fail(why, GW_EDATA,
                       "its files have more than %" PRIu64
                       " MiB; the limit of an archive",
                       ARCHIVE_BYTES_MAX >> 20);
    return check_folder(entry, name, why);
}

static enum gw_err check_list(FILE *list, char name[RUN_NAME_MAX],
                              struct gw_error *why)
{
    char line[LINE_MAX_BYTES];
    uint64_t bytes = 0;
    unsigned count = 0;
    enum gw_err err = GW_OK;
    *name = 0;
    rewind(list);
    while (!err && fgets(line, sizeof line, list)) {
        if (++count > ARCHIVE_ENTRIES_MAX)
            return gw_fail(why, GW_EDATA, "it has more than %d entries",
                           ARCHIVE_ENTRIES_MAX);
        err = archive_check(line, name, &bytes, why);
    }
    return err || count ? err : gw_fail(why, GW_EDATA, "it is empty");
}

/* ---- tar ---- */

static enum gw_err run_tar(const char *const *words, FILE *output,
                           uint64_t file_bytes, struct gw_error *why)
{
    const struct child_process tar = {
        .words = words, .output = output, .file_bytes = file_bytes};
    int status;
    enum gw_err err = child_process_run(&tar, &status, why);
    if (!err && status != 0)
        err = gw_fail(why, GW_EDATA, "tar failed with status %d", status);
    return err;
}

static char *word_of(const char *option, const char *value)
{
    char *word;
    return asprintf(&word, "%s%s", option, value) < 0 ? NULL : word;
}

enum gw_err archive_pack(const char *file, const char *directory,
                         const char *name, struct gw_error *why)
{
    char *to = word_of("--file=", file),
         *in = word_of("--directory=", directory), *folder = word_of("", name);
    const char *const words[] = {"tar",
                                 "--create",
                                 "--force-local",
                                 "--format=ustar",
                                 "--dereference",
                                 "--sort=name",
                                 "--owner=0",
                                 "--group=0",
                                 "--numeric-owner",
                                 to,
                                 in,
                                 folder,
                                 NULL};
    enum gw_err err = to && in && folder ? run_tar(words, NULL, 0, why)
                                         : gw_fail(why, GW_ENOMEM, "tar");
    free(to);
    free(in);
    free(folder);
    return err ? gw_wrap(why, err, "%s", file) : GW_OK;
}

static enum gw_err list_and_check(const char *from, char name[RUN_NAME_MAX],
                                  struct gw_error *why)
{
    const char *const words[] = {"tar",
                                 "--list",
                                 "--verbose",
                                 "--force-local",
                                 "--absolute-names",
                                 "--numeric-owner",
                                 "--quoting-style=escape",
                                 from,
                                 NULL};
    FILE *list = tmpfile();
    if (!list)
        return gw_fail_errno(why, "a temporary file");
    enum gw_err err = run_tar(words, list, LIST_BYTES_MAX, why);
    if (!err)
        err = check_list(list, name, why);
    fclose(list);
    return err;
}

enum gw_err archive_unpack(const char *file, const char *directory,
                           char name[RUN_NAME_MAX], struct gw_error *why)
{
    char *from = word_of("--file=", file),
         *in = word_of("--directory=", directory);
    const char *const words[] = {"tar",
                                 "--extract",
                                 "--force-local",
                                 "--keep-old-files",
                                 "--no-same-owner",
                                 "--no-same-permissions",
                                 from,
                                 in,
                                 NULL};
    enum gw_err err = from && in ? GW_OK : gw_fail(why, GW_ENOMEM, "tar");
    if (!err && access(file, R_OK) != 0)
        err = gw_fail_errno(why, "archive");
    if (!err)
        err = list_and_check(from, name, why);
    if (!err)
        err = run_tar(words, NULL, ARCHIVE_BYTES_MAX, why);
    free(from);
    free(in);
    return err ? gw_wrap(why, err, "%s", file) : GW_OK;
}

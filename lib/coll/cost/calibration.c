/* SPDX-License-Identifier: MIT
 *
 * Finds, reads and replaces the calibration file. A reader sees the old file or
 * the new one, never a part: a new file is written separately and then renamed.
 */
#include "calibration.h"

#include "base/cache.h"
#include "base/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = GW__PATH_BYTES, FILE_BYTES_MAX = 1 << 24 };

/* $GRADWIRE_CALIBRATION, $XDG_CACHE_HOME/gradwire/costs.json, ~/.cache/... */
bool gw__calibration_path(char path[PATH_BYTES])
{
    const char *named = getenv("GRADWIRE_CALIBRATION");
    if (!named || !*named)
        return gw__cache_path("costs.json", path);
    int n = snprintf(path, PATH_BYTES, "%s", named);
    return n > 0 && n < PATH_BYTES;
}

static void rename_member(json_t *object, const char *old, const char *new)
{
    json_t *value = json_object_get(object, old);
    if (!value)
        return;
    if (!json_object_get(object, new))
        json_object_set(object, new, value);
    json_object_del(object, old);
}

/* Files from before the names became standard: gradwire(7), HISTORY. */
static void rename_old_members(json_t *file)
{
    static const char *const coefficients[][2] = {
        {"lend_us", "borrow_us"},
        {"meet_us", "rendezvous_us"},
        {"look_us", "poll_us"},
    };
    const char *name, *ranks;
    json_t *wire, *costs;
    rename_member(file, "rules", "tuning_rules");
    json_object_foreach(json_object_get(file, "wires"), name, wire)
    {
        json_object_foreach(json_object_get(wire, "ranks"), ranks, costs)
        {
            for (size_t i = 0; i < sizeof coefficients / sizeof *coefficients;
                 i++)
                rename_member(costs, coefficients[i][0], coefficients[i][1]);
        }
    }
}

/* NULL: the file is missing, invalid, or larger than FILE_BYTES_MAX. */
static json_t *read_file(const char *path)
{
    char *text;
    size_t bytes;
    if (gw__text_load(path, FILE_BYTES_MAX, &text, &bytes, NULL))
        return NULL;
    json_t *file =
        bytes <= FILE_BYTES_MAX ? json_loadb(text, bytes, 0, NULL) : NULL;
    free(text);
    rename_old_members(file);
    return file;
}

json_t *gw__calibration_load(void)
{
    char path[PATH_BYTES];
    return gw__calibration_path(path) ? read_file(path) : NULL;
}

enum gw_err gw__calibration_edit(json_t **file, struct gw_error *why)
{
    char path[PATH_BYTES];
    *file = NULL;
    if (!gw__calibration_path(path))
        return gw_fail(why, GW_EINVAL,
                       "no path for the calibration file: set "
                       "GRADWIRE_CALIBRATION or HOME");
    *file = read_file(path);
    if (!json_is_object(*file)) {
        json_decref(*file);
        *file = json_object();
    }
    return *file ? GW_OK : gw_fail(why, GW_ENOMEM, "reading %s", path);
}

json_t *gw__calibration_member(json_t *parent, const char *name)
{
    json_t *member = json_object_get(parent, name);
    if (json_is_object(member))
        return member;
    json_object_set_new(parent, name, json_object());
    return json_object_get(parent, name);
}

static enum gw_err replace_file(json_t *file, const char *path,
                                struct gw_error *why)
{
    char fresh[PATH_BYTES + 16];
    snprintf(fresh, sizeof fresh, "%s.%d", path, (int)getpid());
    if (json_dump_file(file, fresh, JSON_INDENT(2) | JSON_SORT_KEYS) != 0) {
        enum gw_err err = gw_fail_errno(why, "writing %s", fresh);
        unlink(fresh);
        return err;
    }
    if (rename(fresh, path) != 0) {
        enum gw_err err = gw_fail_errno(why, "renaming to %s", path);
        unlink(fresh);
        return err;
    }
    return GW_OK;
}

enum gw_err gw__calibration_save(json_t *file, struct gw_error *why)
{
    char path[PATH_BYTES];
    enum gw_err err = gw__calibration_path(path)
                          ? gw__make_folders(path, why)
                          : gw_fail(why, GW_EINVAL,
                                    "no path for the calibration file: set "
                                    "GRADWIRE_CALIBRATION or HOME");
    if (!err)
        err = replace_file(file, path, why);
    json_decref(file);
    return err;
}

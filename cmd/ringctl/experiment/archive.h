/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The archive of an experiment: a file of tar(1), with one folder that has the
 * name of the run. tar writes and reads it; nothing is unpacked before its list
 * has been checked.
 */
#ifndef ARCHIVE_H
#define ARCHIVE_H

#include "common/run_folder.h"

enum { ARCHIVE_ENTRIES_MAX = 256 };
#define ARCHIVE_BYTES_MAX (UINT64_C(1) << 30) /* unpacked */

/* Packs the folder `name` of `directory` into `file`. Symbolic links in it are
 * replaced by the files. */
GW_MUST_CHECK enum gw_err archive_pack(const char *file, const char *directory,
                                       const char *name, struct gw_error *why);
/* Unpacks `file` into `directory`; `name` is its folder. GW_EDATA, and nothing
 * is written: it is not an archive, it has an entry other than a plain file or
 * a directory, or a name that is absolute, has a part "..", or is outside of
 * the folder, or it is too large. */
GW_MUST_CHECK enum gw_err archive_unpack(const char *file,
                                         const char *directory,
                                         char name[RUN_NAME_MAX],
                                         struct gw_error *why);
/* Checks a line of tar's verbose list. `name`: of the folder; "": not known
 * yet, and the first line sets it. Adds the size to *bytes. */
GW_MUST_CHECK enum gw_err archive_check(const char *line,
                                        char name[RUN_NAME_MAX],
                                        uint64_t *bytes, struct gw_error *why);
/* May an entry of an archive have this name? Letters, digits, "._-", and "/"
 * between parts, none of which is "", "." or "..". */
bool archive_name_is_safe(const char *name);

#endif

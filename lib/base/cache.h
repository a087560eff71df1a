/* SPDX-License-Identifier: MIT
 *
 * Files of one user that are kept from run to run: in $XDG_CACHE_HOME/gradwire,
 * else in ~/.cache/gradwire.
 */
#ifndef GW__BASE_CACHE_H
#define GW__BASE_CACHE_H

#include <gradwire/base.h>

enum { GW__PATH_BYTES = 4096 };

/* The path of the file `name` of the cache. False: there is no place for it. */
bool gw__cache_path(const char *name, char path[GW__PATH_BYTES]);
/* Makes the folders that `path` is in. */
GW_MUST_CHECK enum gw_err gw__make_folders(const char *path,
                                           struct gw_error *why);

#endif

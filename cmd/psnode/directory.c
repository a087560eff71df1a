/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Directories that this tool has made for itself: they hold files, and nothing
 * of anybody else.
 */
#include "psnode.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

void directory_remove(const char *directory)
{
    DIR *listing = opendir(directory);
    const struct dirent *entry;
    if (!listing)
        return;
    while ((entry = readdir(listing)))
        unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
    rmdir(directory);
}

/* SPDX-License-Identifier: MIT
 *
 * Where the rows of a LibSVM file begin, and what must be known of all of them
 * before one is read: labels, features, the largest value, whether indices begin
 * at 0 or 1.
 *
 * The first process that opens a file reads it once, checks each line and keeps
 * the index in the user's cache (base/cache.h); the next ones map it. An index
 * counts only if the size, the time of change and the inode of the data are
 * those that it was made of, and its own hash is right; otherwise it is made
 * again.
 *
 * The hash is that of the index, not of the data: data that were changed with
 * the same size, within a tick of the file system's clock and in place are
 * noticed only where a row does not fit the index any more.
 *
 *     header | labels, ascending: f64 each | offsets: u64 each, rows + 1
 */
#ifndef GW__ROW_INDEX_H
#define GW__ROW_INDEX_H

#include <gradwire/learn.h>

struct gw__row_index {
    struct gw_dataset shape;  /* of all rows; it has no row itself */
    const uint64_t *offsets;  /* of row r; [rows]: the size of the file */
    struct row_header *bytes; /* the whole index */
    size_t byte_count;
    float largest; /* absolute value */
    bool mapped;   /* else allocated */
};

/* `fd` is a regular file, open at its begin; `targets`: labels are numbers, and
 * have no classes. GW_EDATA: it is not, or a line is wrong. */
GW_MUST_CHECK enum gw_err gw__row_index_open(struct gw__row_index *index,
                                             const char *path, int fd,
                                             bool targets,
                                             struct gw_error *why);
void gw__row_index_close(struct gw__row_index *index);

#endif

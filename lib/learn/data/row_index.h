/* SPDX-License-Identifier: MIT
 *
 * The offsets of a LibSVM file's rows, and the properties of all rows that are
 * needed before any is used: labels, number of features, largest value, index
 * base.
 *
 * The first process that opens a file reads it once, checks each line and
 * stores the index in the user's cache (base/cache.h); later processes map it.
 * A stored index is valid only if the size, modification time and inode of the
 * data file are the same, and its own hash is correct; otherwise it is made
 * again.
 *
 * The hash covers the index, not the data. A file that was changed in place,
 * with the same size and within one tick of the file system's clock, is only
 * detected when a row does not match the index.
 *
 *     header | labels, ascending: f64 each | offsets: u64 each, rows + 1
 */
#ifndef GW__ROW_INDEX_H
#define GW__ROW_INDEX_H

#include <gradwire/learn.h>

struct gw__row_index {
    struct gw_dataset shape;  /* of all rows; without any row itself */
    const uint64_t *offsets;  /* of each row; [rows]: the size of the file */
    struct row_header *bytes; /* the whole index */
    size_t byte_count;
    float largest; /* absolute value */
    bool mapped;   /* otherwise allocated */
};

/* `fd` is a regular file at offset 0. With `targets` labels are numbers,
 * without classes. GW_EDATA: not a regular file, or an invalid line. */
GW_MUST_CHECK enum gw_err gw__row_index_open(struct gw__row_index *index,
                                             const char *path, int fd,
                                             bool targets,
                                             struct gw_error *why);
void gw__row_index_close(struct gw__row_index *index);

#endif

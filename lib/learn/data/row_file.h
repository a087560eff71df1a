/* SPDX-License-Identifier: MIT
 *
 * A LibSVM file whose rows stay in the file. A worker reads the rows it needs
 * on demand, so the file may be larger than memory. The index (row_index.h) has
 * the offset of each row.
 */
#ifndef GW__ROW_FILE_H
#define GW__ROW_FILE_H

#include "reader.h"
#include "row_index.h"

#include <stdatomic.h>

struct gw__row_file {
    struct gw__row_index index;
    char *path;
    int fd;
    bool targets;
    /* for rows, without the creation of the index */
    _Atomic uint64_t bytes_read;
};

/* GW_EDATA: not a regular file, or an error of gw_libsvm_load. */
GW_MUST_CHECK enum gw_err gw__row_file_open(const char *path, bool targets,
                                            struct gw__row_file **file,
                                            struct gw_error *why);
void gw__row_file_close(struct gw__row_file **file);

/* The last rows read by one thread. Zero it before the first use. */
struct gw__row_reader {
    struct gw__dataset_builder rows; /* rows.data: the rows read, from row 0 */
    char *text;
    size_t capacity;
};

/* Reads `count` rows: the listed ones, or all from `first` on. GW_EDATA: the
 * file has changed since it was opened. */
GW_MUST_CHECK enum gw_err gw__row_file_read(struct gw__row_file *file,
                                            struct gw__row_reader *reader,
                                            const uint32_t *listed,
                                            size_t first, size_t count,
                                            struct gw_error *why);
/* Drops the rows read before; allocates memory at the first call. */
GW_MUST_CHECK enum gw_err gw__row_reader_begin(struct gw__row_reader *reader,
                                               const char *name, bool targets,
                                               struct gw_error *why);
/* Appends `count` adjacent rows: the text of row i is from offsets[i] to
 * offsets[i + 1]. GW_EDATA: a text is not a valid row. */
GW_MUST_CHECK enum gw_err gw__row_reader_read(struct gw__row_reader *reader,
                                              int fd, const uint64_t *offsets,
                                              size_t count,
                                              struct gw_error *why);
void gw__row_reader_fini(struct gw__row_reader *reader);

#endif

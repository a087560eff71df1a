/* SPDX-License-Identifier: MIT
 *
 * A LibSVM file whose rows stay in the file: a worker reads those that it
 * needs, when it needs them, so the file may be larger than memory. The index
 * (row_index.h) says where each row begins.
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
    _Atomic uint64_t bytes_read; /* of rows; the making of an index aside */
};

/* GW_EDATA: not a regular file, or what gw_libsvm_load says of it. */
GW_MUST_CHECK enum gw_err gw__row_file_open(const char *path, bool targets,
                                            struct gw__row_file **file,
                                            struct gw_error *why);
void gw__row_file_close(struct gw__row_file **file);

/* The rows that one thread has read last. Zeroed before the first use. */
struct gw__row_reader {
    struct gw__growing rows; /* rows.data: row 0 is the first of them */
    char *text;
    size_t capacity;
};

/* Reads `count` rows: those listed, or all from `first` on. GW_EDATA: the file
 * has changed since it was opened. */
GW_MUST_CHECK enum gw_err gw__row_file_read(struct gw__row_file *file,
                                            struct gw__row_reader *reader,
                                            const uint32_t *listed,
                                            size_t first, size_t count,
                                            struct gw_error *why);
/* What it has read is forgotten; the first time memory is got. */
GW_MUST_CHECK enum gw_err gw__row_reader_begin(struct gw__row_reader *reader,
                                               const char *name, bool targets,
                                               struct gw_error *why);
/* Appends `count` rows that lie side by side: row i of them is the text from
 * offsets[i] to offsets[i + 1]. GW_EDATA: it is not, or it is no row. */
GW_MUST_CHECK enum gw_err gw__row_reader_take(struct gw__row_reader *reader,
                                              int fd, const uint64_t *offsets,
                                              size_t count,
                                              struct gw_error *why);
void gw__row_reader_fini(struct gw__row_reader *reader);

#endif

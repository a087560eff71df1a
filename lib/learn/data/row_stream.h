/* SPDX-License-Identifier: MIT
 *
 * LibSVM rows that arrive once, from a pipe, for many workers. One process
 * writes them to a directory as they arrive. Each worker reads the rows of its
 * units from there as soon as they are available. Row t of the stream is row t
 * of an endless epoch.
 *
 *     rows   the text
 *     ends   u64 each: the end of row t in it; finally END
 *
 * A row's text is written before its end, so the rows in `ends` are complete.
 */
#ifndef GW__ROW_STREAM_H
#define GW__ROW_STREAM_H

#include "row_file.h"

/* ---- the writing process ---- */

struct gw__row_spool {
    int rows, ends;
    uint64_t bytes;
    bool in_line, in_row; /* the current line has characters; it has a row */
};

/* The directory must exist. */
GW_MUST_CHECK enum gw_err gw__row_spool_open(struct gw__row_spool *spool,
                                             const char *folder,
                                             struct gw_error *why);
/* Appends text, split at any position. */
GW_MUST_CHECK enum gw_err gw__row_spool_add(struct gw__row_spool *spool,
                                            const char *text, size_t bytes,
                                            struct gw_error *why);
/* Ends the stream. */
GW_MUST_CHECK enum gw_err gw__row_spool_close(struct gw__row_spool *spool,
                                              struct gw_error *why);

/* ---- reading processes ---- */

struct gw__row_stream {
    int rows, ends;
    uint32_t features;
    _Atomic uint64_t bytes_read;
};

GW_MUST_CHECK enum gw_err gw__row_stream_open(const char *folder,
                                              uint32_t features,
                                              struct gw__row_stream **stream,
                                              struct gw_error *why);
void gw__row_stream_close(struct gw__row_stream **stream);
/* The number of rows available. */
uint64_t gw__row_stream_count(const struct gw__row_stream *stream);
/* Reads rows [first, first + count), or *got rows if the stream ends earlier.
 * GW_PENDING: not all of them are available yet. GW_EDATA: an invalid row. */
GW_MUST_CHECK enum gw_err gw__row_stream_read(struct gw__row_stream *stream,
                                              struct gw__row_reader *reader,
                                              uint64_t first, size_t count,
                                              size_t *got,
                                              struct gw_error *why);

#endif

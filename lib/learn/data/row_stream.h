/* SPDX-License-Identifier: MIT
 *
 * LibSVM rows that come once, from a pipe, and go to many workers: one process
 * writes them into a folder as they come, the workers read those of their units
 * from there as soon as they are there. Row t of the stream is row t of an
 * epoch without end.
 *
 *     rows   the text
 *     ends   u64 each: where row t ends in it; at last END, when no more come
 *
 * A row's text is written before its end is, so what `ends` has is whole.
 */
#ifndef GW__ROW_STREAM_H
#define GW__ROW_STREAM_H

#include "row_file.h"

/* ---- one process writes ---- */

struct gw__row_spool {
    int rows, ends;
    uint64_t bytes;
    bool in_line, in_row; /* the line under way has something, that is a row */
};

/* The folder is there. */
GW_MUST_CHECK enum gw_err gw__row_spool_open(struct gw__row_spool *spool,
                                             const char *folder,
                                             struct gw_error *why);
/* What comes next, cut anywhere. */
GW_MUST_CHECK enum gw_err gw__row_spool_add(struct gw__row_spool *spool,
                                            const char *text, size_t bytes,
                                            struct gw_error *why);
/* No more come. */
GW_MUST_CHECK enum gw_err gw__row_spool_close(struct gw__row_spool *spool,
                                              struct gw_error *why);

/* ---- others read ---- */

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
/* Rows that have come. */
uint64_t gw__row_stream_count(const struct gw__row_stream *stream);
/* Rows [first, first + count), or, if the stream ends before, *got of them.
 * GW_PENDING: they have not all come yet. GW_EDATA: a row is wrong. */
GW_MUST_CHECK enum gw_err gw__row_stream_read(struct gw__row_stream *stream,
                                              struct gw__row_reader *reader,
                                              uint64_t first, size_t count,
                                              size_t *got,
                                              struct gw_error *why);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The training rows of a model of gradwire-learn(3): all in memory, or read
 * from their file on demand (row_file.h). The sums have the same bits in both
 * cases.
 */
#ifndef GW__ROW_SOURCE_H
#define GW__ROW_SOURCE_H

#include "row_file.h"

struct gw__row_source {
    /* of all rows; from a file it has no row itself */
    const struct gw_dataset *shape;
    struct gw_dataset *data;      /* all rows, or NULL */
    struct gw__row_file *file;    /* the file of the rows, or NULL */
    struct gw__row_reader reader; /* the last rows read from it */
    float factor;                 /* factor for all values */
};

/* `on_demand`: the rows stay in their file. This is also the case if it has
 * more bytes than a process may read. */
GW_MUST_CHECK enum gw_err gw__row_source_open(struct gw__row_source *source,
                                              const char *path, bool on_demand,
                                              struct gw_error *why);
/* *source may be zeroed. */
void gw__row_source_close(struct gw__row_source *source);

/* The largest absolute value in the file. */
float gw__row_source_largest(const struct gw__row_source *source);
/* Call it once, before rows are used. */
void gw__row_source_scale(struct gw__row_source *source, float factor);

/* Bytes read for rows so far; bytes of all rows. */
uint64_t gw__row_source_bytes_read(const struct gw__row_source *source);
uint64_t gw__row_source_bytes(const struct gw__row_source *source);

/* As gw_model_gradient and gw_model_evaluate; they set `sums`. GW_EDATA: the
 * file has changed since it was opened. */
GW_MUST_CHECK enum gw_err gw__row_source_gradient(struct gw__row_source *source,
                                                  const struct gw_model *model,
                                                  const uint32_t *rows,
                                                  size_t row_count,
                                                  struct gw_sums *sums,
                                                  struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__row_source_evaluate(struct gw__row_source *source,
                                                  const struct gw_model *model,
                                                  size_t begin, size_t end,
                                                  struct gw_sums *sums,
                                                  struct gw_error *why);

#endif

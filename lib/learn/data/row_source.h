/* SPDX-License-Identifier: MIT
 *
 * The rows that a model of gradwire-learn(3) is trained on: all in memory, or
 * in their file, of which those are read that are asked for (row_file.h). The
 * sums have the same bits either way.
 */
#ifndef GW__ROW_SOURCE_H
#define GW__ROW_SOURCE_H

#include "row_file.h"

struct gw__row_source {
    const struct gw_dataset *shape; /* of all rows; of a file it has none */
    struct gw_dataset *data;        /* all rows, or */
    struct gw__row_file *file;      /* where they are, */
    struct gw__row_reader reader;   /* and those that were read last */
    float factor;                   /* what all values are multiplied by */
};

/* `on_demand`: the rows stay in their file, as they do if it has more bytes than
 * a process may read. */
GW_MUST_CHECK enum gw_err gw__row_source_open(struct gw__row_source *source,
                                              const char *path, bool on_demand,
                                              struct gw_error *why);
/* A zeroed one may be closed as well. */
void gw__row_source_close(struct gw__row_source *source);

/* The largest absolute value in the file. */
float gw__row_source_largest(const struct gw__row_source *source);
/* Once, before rows are used. */
void gw__row_source_scale(struct gw__row_source *source, float factor);

/* Bytes of rows that were read on demand, and those of all rows. */
uint64_t gw__row_source_bytes_read(const struct gw__row_source *source);
uint64_t gw__row_source_bytes(const struct gw__row_source *source);

/* As gw_model_gradient and gw_model_evaluate (whose `sums` they set). GW_EDATA:
 * the file has changed since it was opened. */
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

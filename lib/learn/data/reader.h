/* SPDX-License-Identifier: MIT
 *
 * A data set while it is loaded, row by row. libsvm.c divides the input into
 * lines, libsvm_row.c parses a line, dataset_builder.c has the memory and the
 * labels.
 */
#ifndef GW__READER_H
#define GW__READER_H

#include <gradwire/learn.h>

#include <locale.h>

/* A distinct label; ids are in order of arrival. */
struct gw__label {
    double value;
    uint32_t id;
};

struct gw__dataset_builder {
    struct gw_dataset *data; /* label[] has ids, index[] is as in the file */
    size_t row_capacity;
    size_t nonzero_capacity;
    struct gw__label *labels; /* sorted by value */
    size_t label_capacity;
    unsigned last_label; /* index in `labels`: rows often repeat it */
    uint32_t index_max;  /* the largest seen */
    bool zero_seen;      /* index 0 occurred */
    uint32_t *scratch;   /* a row's indices, sorted */
    size_t scratch_capacity;
    locale_t c_locale;
    const char *name; /* of the input, for errors */
    size_t line;      /* current line, from 1 */
    bool targets;     /* labels are numbers, not classes */
    double target;    /* of the current row */
};

enum gw_err gw__dataset_builder_init(struct gw__dataset_builder *g,
                                     const char *name, bool targets,
                                     struct gw_error *why);
void gw__dataset_builder_fini(struct gw__dataset_builder *g);
/* Makes room for a row with up to `nonzeros` entries. */
enum gw_err gw__dataset_builder_reserve(struct gw__dataset_builder *g,
                                        size_t nonzeros, struct gw_error *why);
/* Finds or creates the id of a label; a target has no id. */
enum gw_err gw__dataset_builder_label(struct gw__dataset_builder *g,
                                      double value, uint32_t *id,
                                      struct gw_error *why);
/* Appends the row whose entries are at data->nonzeros and after. */
void gw__dataset_builder_row(struct gw__dataset_builder *g, uint32_t label,
                             size_t nonzeros);
/* Returns an index that occurs twice in the row to be appended; *found is false
 * if there is none. */
enum gw_err gw__dataset_builder_repeated(struct gw__dataset_builder *g,
                                         size_t nonzeros, uint32_t *index,
                                         bool *found, struct gw_error *why);
/* Sorts the classes, converts indices to start at 0, and returns the
 * data set. */
enum gw_err gw__dataset_builder_finish(struct gw__dataset_builder *g,
                                       enum gw_index_base base,
                                       struct gw_dataset **data,
                                       struct gw_error *why);

/* Called after each line, with the offset of its beginning in the file. */
struct gw__line_visitor {
    enum gw_err (*visit)(void *context, struct gw__dataset_builder *g,
                         uint64_t offset, struct gw_error *why);
    void *context;
};

/* Reads all lines of a file of any size; the visitor controls memory. */
enum gw_err gw__libsvm_visit(struct gw__dataset_builder *g, int fd,
                             enum gw_index_base base,
                             const struct gw__line_visitor *visitor,
                             struct gw_error *why);

/* Parses one line, which ends with '\n' at `end`, into the data set. */
enum gw_err gw__libsvm_row(struct gw__dataset_builder *g, const char *line,
                           const char *end, enum gw_index_base base,
                           struct gw_error *why);

#endif

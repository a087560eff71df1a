/* SPDX-License-Identifier: MIT
 *
 * See row_file.h. Adjacent rows are read together, up to a limit of memory.
 */
#include "row_file.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 1 << 20 }; /* bytes */

enum gw_err gw__row_file_open(const char *path, bool targets,
                              struct gw__row_file **file, struct gw_error *why)
{
    struct gw__row_file *f = *file = calloc(1, sizeof *f);
    if (!f)
        return gw_fail(why, GW_ENOMEM, "%s", path);
    f->targets = targets;
    f->path = strdup(path);
    enum gw_err code = f->path ? gw__file_open(path, &f->fd, why)
                               : gw_fail(why, GW_ENOMEM, "%s", path);
    if (!code) {
        code = gw__row_index_open(&f->index, path, f->fd, targets, why);
        if (code)
            close(f->fd);
    }
    if (code) {
        free(f->path);
        free(f);
        *file = NULL;
    }
    return code;
}

void gw__row_file_close(struct gw__row_file **file)
{
    if (!*file)
        return;
    gw__row_index_close(&(*file)->index);
    close((*file)->fd);
    free((*file)->path);
    free(*file);
    *file = NULL;
}

static enum gw_err changed(const struct gw__row_file *file,
                           struct gw_error *why)
{
    return gw_fail(why, GW_EDATA,
                   "%s: the file has changed since it was opened", file->path);
}

/* Translates labels to the classes of the whole file. */
static enum gw_err begin_reader(const struct gw__row_file *file,
                                struct gw__row_reader *reader,
                                struct gw_error *why)
{
    const struct gw_dataset *shape = &file->index.shape;
    uint32_t id;
    bool fresh = !reader->rows.data;
    enum gw_err code =
        gw__row_reader_begin(reader, file->path, file->targets, why);
    for (unsigned c = 0; fresh && c < shape->class_count && !code; c++)
        code = gw__dataset_builder_label(&reader->rows, shape->classes[c], &id,
                                         why);
    return code;
}

static bool reserve_text(struct gw__row_reader *reader, size_t bytes)
{
    if (bytes <= reader->capacity)
        return true;
    char *moved = realloc(reader->text, bytes);
    if (!moved)
        return false;
    reader->text = moved;
    reader->capacity = bytes;
    return true;
}

static bool read_text(int fd, char *into, size_t bytes, uint64_t offset)
{
    for (size_t got = 0; got < bytes;) {
        ssize_t n = pread(fd, into + got, bytes - got, (off_t)(offset + got));
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

enum gw_err gw__row_reader_begin(struct gw__row_reader *reader,
                                 const char *name, bool targets,
                                 struct gw_error *why)
{
    enum gw_err code =
        reader->rows.data
            ? GW_OK
            : gw__dataset_builder_init(&reader->rows, name, targets, why);
    if (!code)
        reader->rows.data->rows = reader->rows.data->nonzeros = 0;
    return code;
}

enum gw_err gw__row_reader_read(struct gw__row_reader *reader, int fd,
                                const uint64_t *offsets, size_t count,
                                struct gw_error *why)
{
    struct gw__dataset_builder *g = &reader->rows;
    size_t bytes = (size_t)(offsets[count] - offsets[0]);
    size_t wanted = g->data->rows + count;
    if (!reserve_text(reader, bytes + 1))
        return gw_fail(why, GW_ENOMEM, "%s: %zu rows", g->name, count);
    if (!read_text(fd, reader->text, bytes, offsets[0]))
        return gw_fail(why, GW_EDATA, "%s: the file is cut short", g->name);
    reader->text[bytes] = '\n'; /* the last line may lack it */
    enum gw_err code = GW_OK;
    for (const char *at = reader->text, *end;
         at < reader->text + bytes && !code; at = end + 1) {
        end = memchr(at, '\n', (size_t)(reader->text + bytes + 1 - at));
        g->line++;
        code = gw__libsvm_row(g, at, end, GW_BASE_AUTO, why);
    }
    if (!code && g->data->rows != wanted)
        return gw_fail(why, GW_EDATA,
                       "%s: the file has changed since it was opened", g->name);
    if (!code)
        g->data->row_begin[wanted] = g->data->nonzeros;
    return code;
}

/* Rows [first, first + count), which are adjacent in the file. */
static enum gw_err read_run(struct gw__row_file *file,
                            struct gw__row_reader *reader, size_t first,
                            size_t count, struct gw_error *why)
{
    const uint64_t *offsets = file->index.offsets + first;
    enum gw_err code =
        gw__row_reader_read(reader, file->fd, offsets, count, why);
    if (code)
        return code == GW_ENOMEM ? code : changed(file, why);
    atomic_fetch_add(&file->bytes_read, offsets[count] - offsets[0]);
    return GW_OK;
}

/* Checks the parsed rows against the index: a changed file may still parse. */
static bool fits(const struct gw__row_file *file,
                 const struct gw__dataset_builder *g)
{
    const struct gw_dataset *shape = &file->index.shape;
    uint32_t low = (uint32_t)shape->index_base;
    for (size_t i = 0; i < g->data->nonzeros; i++)
        if (g->data->index[i] < low ||
            g->data->index[i] - low >= shape->features)
            return false;
    return g->targets || g->data->class_count == shape->class_count;
}

enum gw_err gw__row_file_read(struct gw__row_file *file,
                              struct gw__row_reader *reader,
                              const uint32_t *listed, size_t first,
                              size_t count, struct gw_error *why)
{
    enum gw_err code = begin_reader(file, reader, why);
    if (code)
        return code;
    struct gw_dataset *data = reader->rows.data;
    const uint64_t *offsets = file->index.offsets;
    for (size_t i = 0, run; i < count && !code; i += run) {
        size_t from = listed ? listed[i] : first + i;
        run = 1;
        while (i + run < count && (!listed || listed[i + run] == from + run) &&
               offsets[from + run + 1] - offsets[from] <= AT_ONCE)
            run++;
        code = read_run(file, reader, from, run, why);
    }
    if (code)
        return code;
    if (!fits(file, &reader->rows))
        return changed(file, why);
    for (size_t i = 0; i < data->nonzeros; i++)
        data->index[i] -= (uint32_t)file->index.shape.index_base;
    return GW_OK;
}

void gw__row_reader_fini(struct gw__row_reader *reader)
{
    if (reader->rows.data)
        gw__dataset_builder_fini(&reader->rows);
    free(reader->text);
    *reader = (struct gw__row_reader){.text = NULL};
}

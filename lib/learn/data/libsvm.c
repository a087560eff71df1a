/* SPDX-License-Identifier: MIT
 *
 * Reads LibSVM text from a file, a pipe or memory, block by block. The text
 * after a block's last newline moves to the front of the buffer before the next
 * read. A buffer without any newline doubles, up to GW_LINE_BYTES_MAX. So each
 * line is parsed once, in one piece, and the memory needed is one block plus
 * the data set.
 *
 * Continue with libsvm_row.c (one line) and dataset_builder.c (memory and
 * labels).
 */
#include "reader.h"

#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The input: a file descriptor, or memory if fd < 0. */
struct source {
    int fd;
    const char *text;
    size_t bytes_left; /* of the text; for a file: the limit */
};

struct block {
    char *bytes;
    size_t capacity;
    size_t filled;
    size_t searched; /* no newline before this offset */
    uint64_t offset; /* of the block's first byte in the file */
    bool at_end;
};

/* A signal interrupts a read from a pipe, so that Ctrl-C works. */
static enum gw_err unreadable(struct gw_error *why, const char *name)
{
    if (errno == EINTR)
        return gw_fail_errno(why, "%s", name);
    return gw_fail(why, GW_EDATA, "%s: cannot be read: %s", name,
                   strerror(errno));
}

static enum gw_err read_some(struct source *source, char *into, size_t room,
                             size_t *got, const char *name,
                             struct gw_error *why)
{
    if (source->fd < 0) {
        *got = room < source->bytes_left ? room : source->bytes_left;
        assert(*got == 0 || (into && source->text));
        if (*got > 0)
            memcpy(into, source->text, *got);
        source->text += *got;
        source->bytes_left -= *got;
        return GW_OK;
    }
    ssize_t n = read(source->fd, into, room);
    if (n < 0)
        return unreadable(why, name);
    *got = (size_t)n;
    if (*got > source->bytes_left)
        return gw__file_too_long(name, why);
    source->bytes_left -= *got;
    return GW_OK;
}

static enum gw_err reserve_block(struct gw__dataset_builder *g,
                                 struct block *block, struct gw_error *why)
{
    enum { BLOCK_BYTES = 1 << 18 };
    /* One byte stays free for a missing final newline. */
    if (block->filled + 1 < block->capacity)
        return GW_OK;
    if (block->capacity >= GW_LINE_BYTES_MAX)
        return gw_fail(why, GW_EDATA, "%s:%zu:1: the line is longer than %d MB",
                       g->name, g->line + 1, GW_LINE_BYTES_MAX >> 20);
    size_t capacity = block->capacity ? 2 * block->capacity : BLOCK_BYTES;
    char *moved = realloc(block->bytes, capacity);
    if (!moved)
        return gw_fail(why, GW_ENOMEM, "%s: line %zu", g->name, g->line + 1);
    block->bytes = moved;
    block->capacity = capacity;
    return GW_OK;
}

/* Parses the complete lines of the block and moves the rest to its front. */
static enum gw_err parse_lines(struct gw__dataset_builder *g,
                               struct block *block, enum gw_index_base base,
                               const struct gw__line_visitor *visitor,
                               struct gw_error *why)
{
    assert(block->bytes);
    const char *line = block->bytes;
    const char *unsearched = block->bytes + block->searched;
    const char *filled = block->bytes + block->filled;
    enum gw_err code = GW_OK;
    while (!code && line < filled) {
        const char *end =
            memchr(unsearched, '\n', (size_t)(filled - unsearched));
        if (!end)
            break;
        g->line++;
        code = gw__libsvm_row(g, line, end, base, why);
        if (!code && visitor)
            code = visitor->visit(
                visitor->context, g,
                block->offset + (uint64_t)(line - block->bytes), why);
        line = unsearched = end + 1;
    }
    block->offset += (uint64_t)(line - block->bytes);
    block->filled = block->searched = (size_t)(filled - line);
    memmove(block->bytes, line, block->filled);
    return code;
}

static enum gw_err parse_block(struct gw__dataset_builder *g,
                               struct source *source, struct block *block,
                               enum gw_index_base base,
                               const struct gw__line_visitor *visitor,
                               struct gw_error *why)
{
    size_t got = 0;
    enum gw_err code = reserve_block(g, block, why);
    if (!code)
        code =
            read_some(source, block->bytes + block->filled,
                      block->capacity - block->filled - 1, &got, g->name, why);
    if (code)
        return code;
    block->filled += got;
    block->at_end = got == 0;
    if (block->at_end && block->filled > 0)
        block->bytes[block->filled++] = '\n';
    return parse_lines(g, block, base, visitor, why);
}

static enum gw_err parse_all(struct gw__dataset_builder *g,
                             struct source *source, enum gw_index_base base,
                             const struct gw__line_visitor *visitor,
                             struct gw_error *why)
{
    struct block block = {0};
    enum gw_err code = GW_OK;
    while (!code && !block.at_end)
        code = parse_block(g, source, &block, base, visitor, why);
    free(block.bytes);
    return code;
}

static enum gw_err read_source(struct source *source, const char *name,
                               enum gw_index_base base, bool targets,
                               struct gw_dataset **data, struct gw_error *why)
{
    struct gw__dataset_builder builder;
    enum gw_err code = gw__dataset_builder_init(&builder, name, targets, why);
    if (code)
        return code;
    code = parse_all(&builder, source, base, NULL, why);
    if (!code)
        code = gw__dataset_builder_finish(&builder, base, data, why);
    gw__dataset_builder_fini(&builder);
    return code;
}

enum gw_err gw__libsvm_visit(struct gw__dataset_builder *g, int fd,
                             enum gw_index_base base,
                             const struct gw__line_visitor *visitor,
                             struct gw_error *why)
{
    struct source source = {.fd = fd, .bytes_left = SIZE_MAX};
    return parse_all(g, &source, base, visitor, why);
}

static enum gw_err load_file(const char *path, enum gw_index_base base,
                             bool targets, struct gw_dataset **data,
                             struct gw_error *why)
{
    *data = NULL;
    struct source source = {.bytes_left = (size_t)gw__file_bytes_max()};
    enum gw_err code = gw__file_open(path, &source.fd, why);
    if (code)
        return code;
    code = read_source(&source, path, base, targets, data, why);
    close(source.fd);
    return code;
}

enum gw_err gw_libsvm_load(const char *path, enum gw_index_base base,
                           struct gw_dataset **data, struct gw_error *why)
{
    return load_file(path, base, false, data, why);
}

enum gw_err gw_libsvm_load_targets(const char *path, enum gw_index_base base,
                                   struct gw_dataset **data,
                                   struct gw_error *why)
{
    return load_file(path, base, true, data, why);
}

enum gw_err gw_libsvm_parse(const void *text, size_t bytes, const char *name,
                            enum gw_index_base base, struct gw_dataset **data,
                            struct gw_error *why)
{
    *data = NULL;
    struct source source = {.fd = -1, .text = text, .bytes_left = bytes};
    return read_source(&source, name, base, false, data, why);
}

/* SPDX-License-Identifier: MIT
 *
 * Creation, caching and checks of row indexes; see row_index.h.
 */
#include "row_index.h"

#include "base/cache.h"
#include "base/file.h"
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct row_header {
    char magic[8];
    uint64_t hash;                     /* of all bytes after this field */
    uint64_t size, changed_ns, number; /* of the data file; number: its inode */
    uint64_t rows, features, nonzeros;
    uint32_t class_count, index_base;
    float largest;
    uint32_t zero; /* explicit padding */
};

static const char magic[8] = "gwrows2";

static uint64_t hash_of(const struct row_header *header, size_t bytes)
{
    size_t skipped = offsetof(struct row_header, size);
    return gw_hash((const char *)header + skipped, bytes - skipped, 0);
}

static void describe_data(struct row_header *header, const struct stat *data)
{
    memcpy(header->magic, magic, sizeof magic);
    header->size = (uint64_t)data->st_size;
    header->changed_ns = (uint64_t)data->st_mtim.tv_sec * 1000000000U +
                         (uint64_t)data->st_mtim.tv_nsec;
    header->number = data->st_ino;
}

static size_t index_bytes(const struct row_header *header)
{
    return sizeof *header + header->class_count * sizeof(double) +
           (header->rows + 1) * sizeof(uint64_t);
}

static void view(struct gw__row_index *index)
{
    struct row_header *header = index->bytes;
    double *classes = (double *)(header + 1);
    index->shape = (struct gw_dataset){.rows = header->rows,
                                       .features = header->features,
                                       .nonzeros = header->nonzeros,
                                       .classes = classes,
                                       .class_count = header->class_count,
                                       .index_base = header->index_base};
    const void *offsets = classes + header->class_count;
    index->offsets = offsets;
    index->largest = header->largest;
}

/* ---- cached index ---- */

static bool cache_path(const char *path, bool targets,
                       char kept[GW__PATH_BYTES])
{
    char whole[PATH_MAX], name[40];
    if (!realpath(path, whole))
        return false;
    snprintf(name, sizeof name, "rows/%016" PRIx64,
             gw_hash(whole, strlen(whole), targets));
    return gw__cache_path(name, kept);
}

static bool is_of(const struct row_header *header, size_t bytes,
                  const struct row_header *wanted)
{
    return bytes >= sizeof *header &&
           memcmp(header->magic, magic, sizeof magic) == 0 &&
           header->size == wanted->size &&
           header->changed_ns == wanted->changed_ns &&
           header->number == wanted->number && header->rows < UINT32_MAX &&
           header->class_count <= GW_CLASSES_MAX &&
           bytes == index_bytes(header) &&
           header->hash == hash_of(header, bytes);
}

static bool map_kept(struct gw__row_index *index, const char *kept,
                     const struct row_header *wanted)
{
    struct stat about;
    int fd = open(kept, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t bytes = fstat(fd, &about) == 0 ? (size_t)about.st_size : 0;
    void *at =
        bytes ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (at == MAP_FAILED)
        return false;
    if (!is_of(at, bytes, wanted)) {
        munmap(at, bytes);
        return false;
    }
    *index = (struct gw__row_index){
        .bytes = at, .byte_count = bytes, .mapped = true};
    return true;
}

/* An error is harmless: each process then makes its own index, which only costs
 * time. */
static void store_index(const struct gw__row_index *index, const char *kept)
{
    char fresh[GW__PATH_BYTES + 16];
    snprintf(fresh, sizeof fresh, "%s.%d", kept, (int)getpid());
    if (gw__make_folders(kept, NULL))
        return;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    bool written = gw__file_write(fd, index->bytes, index->byte_count);
    if (close(fd) != 0 || !written || rename(fresh, kept) != 0)
        unlink(fresh);
}

/* ---- creation ---- */

struct making {
    uint64_t *offsets;
    size_t rows, capacity, nonzeros;
    float largest;
};

/* Records the row's offset and drops its contents. */
static enum gw_err add_row(void *context, struct gw__dataset_builder *g,
                           uint64_t offset, struct gw_error *why)
{
    struct making *m = context;
    if (g->data->rows == 0)
        return GW_OK;
    if (m->rows + 1 >= m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 1024;
        uint64_t *moved = realloc(m->offsets, capacity * sizeof *moved);
        if (!moved)
            return gw_fail(why, GW_ENOMEM, "%s: the index of its rows",
                           g->name);
        m->offsets = moved;
        m->capacity = capacity;
    }
    if (m->rows == UINT32_MAX - 1)
        return gw_fail(why, GW_EDATA, "%s: more than %u rows", g->name,
                       UINT32_MAX - 1);
    m->offsets[m->rows++] = offset;
    m->nonzeros += g->data->nonzeros;
    m->largest = fmaxf(m->largest, gw_dataset_largest(g->data));
    g->data->rows = g->data->nonzeros = 0;
    return GW_OK;
}

static enum gw_err assemble(struct gw__row_index *index,
                            const struct gw__dataset_builder *g,
                            struct making *m, const struct row_header *about,
                            struct gw_error *why)
{
    struct row_header header = *about;
    header.rows = m->rows;
    header.nonzeros = m->nonzeros;
    header.largest = m->largest;
    header.class_count = g->targets ? 0 : g->data->class_count;
    header.index_base = !g->zero_seen;
    if (m->nonzeros)
        header.features = g->index_max + (uint64_t)1 - header.index_base;
    size_t bytes = index_bytes(&header);
    struct row_header *all = malloc(bytes);
    if (!all)
        return gw_fail(why, GW_ENOMEM, "%s: the index of its rows", g->name);
    *all = header;
    double *classes = (double *)(all + 1);
    for (unsigned i = 0; i < header.class_count; i++)
        classes[i] = g->labels[i].value;
    m->offsets[m->rows] = header.size;
    memcpy(classes + header.class_count, m->offsets,
           (m->rows + 1) * sizeof *m->offsets);
    all->hash = hash_of(all, bytes);
    *index = (struct gw__row_index){.bytes = all, .byte_count = bytes};
    return GW_OK;
}

static enum gw_err make_index(struct gw__row_index *index, const char *path,
                              int fd, bool targets,
                              const struct row_header *about,
                              struct gw_error *why)
{
    struct making making = {0};
    const struct gw__line_visitor visitor = {add_row, &making};
    struct gw__dataset_builder builder;
    enum gw_err code = gw__dataset_builder_init(&builder, path, targets, why);
    if (code)
        return code;
    code = gw__libsvm_visit(&builder, fd, GW_BASE_AUTO, &visitor, why);
    if (!code && making.rows == 0)
        code = gw_fail(why, GW_EDATA, "%s: the file has no row", path);
    if (!code)
        code = assemble(index, &builder, &making, about, why);
    free(making.offsets);
    gw__dataset_builder_fini(&builder);
    return code;
}

enum gw_err gw__row_index_open(struct gw__row_index *index, const char *path,
                               int fd, bool targets, struct gw_error *why)
{
    char kept[GW__PATH_BYTES];
    struct row_header wanted = {.rows = 0};
    struct stat data;
    *index = (struct gw__row_index){.bytes = NULL};
    if (fstat(fd, &data) != 0)
        return gw_fail_errno(why, "%s", path);
    if (!S_ISREG(data.st_mode))
        return gw_fail(
            why, GW_EDATA,
            "%s: rows can be read on demand from a regular file only", path);
    describe_data(&wanted, &data);
    bool place = cache_path(path, targets, kept);
    enum gw_err code = GW_OK;
    if (!place || !map_kept(index, kept, &wanted)) {
        code = make_index(index, path, fd, targets, &wanted, why);
        if (!code && place)
            store_index(index, kept);
    }
    if (!code)
        view(index);
    return code;
}

void gw__row_index_close(struct gw__row_index *index)
{
    if (index->mapped)
        munmap(index->bytes, index->byte_count);
    else
        free(index->bytes);
    index->bytes = NULL;
}

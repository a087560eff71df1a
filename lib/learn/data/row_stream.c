/* SPDX-License-Identifier: MIT
 *
 * Writing and reading of a row stream; see row_stream.h.
 */
#include "row_stream.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define END UINT64_MAX

enum { ENDS = 512 }; /* written at once */

static void path_of(const char *folder, const char *name, char path[400])
{
    snprintf(path, 400, "%.380s/%s", folder, name);
}

/* ---- writing ---- */

enum gw_err gw__row_spool_open(struct gw__row_spool *spool, const char *folder,
                               struct gw_error *why)
{
    enum { HOW = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC };
    char rows[400], ends[400];
    path_of(folder, "rows", rows);
    path_of(folder, "ends", ends);
    *spool = (struct gw__row_spool){.rows = open(rows, HOW, 0600)};
    if (spool->rows < 0)
        return gw_fail_errno(why, "%s", rows);
    spool->ends = open(ends, HOW, 0600);
    if (spool->ends >= 0)
        return GW_OK;
    close(spool->rows);
    return gw_fail_errno(why, "%s", ends);
}

/* Scans the text while there is room for the ends of its rows; returns the
 * length scanned. */
static size_t find_ends(struct gw__row_spool *spool, const char *text,
                        size_t bytes, uint64_t ends[ENDS], size_t *count)
{
    size_t i = 0;
    for (*count = 0; i < bytes && *count < ENDS; i++) {
        spool->bytes++;
        if (text[i] == '\n') {
            if (spool->in_row)
                ends[(*count)++] = spool->bytes;
            spool->in_line = spool->in_row = false;
        } else if (!spool->in_line && !strchr(" \t\r", text[i])) {
            spool->in_line = true;
            spool->in_row = text[i] != '#';
        }
    }
    return i;
}

enum gw_err gw__row_spool_add(struct gw__row_spool *spool, const char *text,
                              size_t bytes, struct gw_error *why)
{
    uint64_t ends[ENDS];
    size_t count;
    if (!gw__file_write(spool->rows, text, bytes))
        return gw_fail_errno(why, "the stream");
    for (size_t at = 0; at < bytes;) {
        at += find_ends(spool, text + at, bytes - at, ends, &count);
        if (!gw__file_write(spool->ends, ends, count * sizeof *ends))
            return gw_fail_errno(why, "the stream");
    }
    return GW_OK;
}

enum gw_err gw__row_spool_close(struct gw__row_spool *spool,
                                struct gw_error *why)
{
    const uint64_t end = END;
    enum gw_err code = GW_OK;
    if (spool->in_row) /* the last line may lack its newline */
        code = gw__row_spool_add(spool, "\n", 1, why);
    if (!code && !gw__file_write(spool->ends, &end, sizeof end))
        code = gw_fail_errno(why, "the stream");
    close(spool->rows);
    close(spool->ends);
    return code;
}

/* ---- reading ---- */

enum gw_err gw__row_stream_open(const char *folder, uint32_t features,
                                struct gw__row_stream **stream,
                                struct gw_error *why)
{
    char rows[400], ends[400];
    struct gw__row_stream *s = *stream = calloc(1, sizeof *s);
    if (!s)
        return gw_fail(why, GW_ENOMEM, "a stream");
    path_of(folder, "rows", rows);
    path_of(folder, "ends", ends);
    s->features = features;
    s->rows = open(rows, O_RDONLY | O_CLOEXEC);
    s->ends = open(ends, O_RDONLY | O_CLOEXEC);
    if (s->rows >= 0 && s->ends >= 0)
        return GW_OK;
    enum gw_err code =
        gw_fail(why, GW_EDATA,
                "%.200s: the directory does not contain a stream", folder);
    gw__row_stream_close(stream);
    return code;
}

void gw__row_stream_close(struct gw__row_stream **stream)
{
    if (!*stream)
        return;
    if ((*stream)->rows >= 0)
        close((*stream)->rows);
    if ((*stream)->ends >= 0)
        close((*stream)->ends);
    free(*stream);
    *stream = NULL;
}

/* The number of rows available, and whether the stream has ended. */
static uint64_t count_arrived(const struct gw__row_stream *stream, bool *over)
{
    struct stat about;
    uint64_t last = 0, size = sizeof last;
    uint64_t entries =
        fstat(stream->ends, &about) == 0 ? (uint64_t)about.st_size / size : 0;
    *over = entries > 0 &&
            pread(stream->ends, &last, size, (off_t)((entries - 1) * size)) ==
                (ssize_t)size &&
            last == END;
    return entries - *over;
}

uint64_t gw__row_stream_count(const struct gw__row_stream *stream)
{
    bool over;
    return count_arrived(stream, &over);
}

/* The offset of row `first`, and the ends of it and the next rows. */
static enum gw_err read_offsets(const struct gw__row_stream *stream,
                                uint64_t *offsets, uint64_t first, size_t count,
                                struct gw_error *why)
{
    size_t skipped = first == 0,
           bytes = (count + 1 - skipped) * sizeof(uint64_t);
    off_t at = (off_t)((first - !skipped) * sizeof(uint64_t));
    offsets[0] = 0;
    return pread(stream->ends, offsets + skipped, bytes, at) == (ssize_t)bytes
               ? GW_OK
               : gw_fail(why, GW_EDATA, "the stream was cut short");
}

/* Checks that indices are from 1 to the configured number of features. */
static enum gw_err check_rows(const struct gw__row_stream *stream,
                              struct gw_dataset *data, struct gw_error *why)
{
    for (size_t i = 0; i < data->nonzeros; i++) {
        if (data->index[i] < 1 || data->index[i] > stream->features)
            return gw_fail(why, GW_EDATA,
                           "the stream has feature %u; with features=%u they "
                           "must be 1 to %u",
                           data->index[i], stream->features, stream->features);
        data->index[i]--;
    }
    return GW_OK;
}

enum gw_err gw__row_stream_read(struct gw__row_stream *stream,
                                struct gw__row_reader *reader, uint64_t first,
                                size_t count, size_t *got, struct gw_error *why)
{
    bool over;
    uint64_t arrived = count_arrived(stream, &over);
    *got = 0;
    if (!over && arrived < first + count)
        return gw_fail(why, GW_PENDING,
                       "row %llu of the stream has not arrived",
                       (unsigned long long)(first + count));
    enum gw_err code = gw__row_reader_begin(reader, "the stream", true, why);
    if (code || first >= arrived)
        return code;
    *got = first + count > arrived ? (size_t)(arrived - first) : count;
    uint64_t *offsets = malloc((*got + 1) * sizeof *offsets);
    if (!offsets)
        return gw_fail(why, GW_ENOMEM, "%zu rows of the stream", *got);
    code = read_offsets(stream, offsets, first, *got, why);
    reader->rows.line = (size_t)first;
    if (!code)
        code = gw__row_reader_read(reader, stream->rows, offsets, *got, why);
    if (!code)
        atomic_fetch_add(&stream->bytes_read, offsets[*got] - offsets[0]);
    free(offsets);
    return code ? code : check_rows(stream, reader->rows.data, why);
}

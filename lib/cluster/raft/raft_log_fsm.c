/* SPDX-License-Identifier: MIT
 *
 * Applies committed entries to the log's own replica and passes them on, in
 * order; snapshots are of that replica.
 */
#include "raft_log_parts.h"

#include <string.h>

enum { HEAD = 8 };

int gw__raft_pack(const void *data, size_t bytes, struct raft_buffer *out)
{
    out->len = HEAD + (bytes + 7) / 8 * 8;
    out->base = raft_calloc(1, out->len);
    if (!out->base)
        return RAFT_NOMEM;
    struct gw__writer w = gw__writer_on(out->base, out->len);
    gw__put_u64(&w, bytes);
    gw__put_bytes(&w, data, bytes);
    return 0;
}

/* The bytes in it; NULL if it is invalid. */
static const void *unpack(const struct raft_buffer *in, size_t *bytes)
{
    struct gw__reader r = gw__reader_on(in->base, in->len);
    uint64_t length = gw__get_u64(&r);
    *bytes = !r.bad && length <= r.left ? length : 0;
    return r.at;
}

static int apply_entry(struct raft_fsm *fsm, const struct raft_buffer *buffer,
                       void **result)
{
    struct gw__raft_log *log = fsm->data;
    uint8_t answer[GW__ANSWER_BYTES_MAX];
    size_t bytes;
    const void *command = unpack(buffer, &bytes);
    uint64_t index = log->replica->index + 1;
    *result = NULL;
    gw__registry_apply(log->replica, command, bytes, index, answer);
    log->config.on_entry(log->config.context, index, command, bytes);
    return 0;
}

static int snapshot(struct raft_fsm *fsm, struct raft_buffer *buffers[],
                    unsigned *count)
{
    struct gw__raft_log *log = fsm->data;
    size_t bytes = gw__registry_snapshot(log->replica, NULL, 0);
    uint8_t *data = raft_malloc(bytes);
    *buffers = raft_malloc(sizeof **buffers);
    *count = 1;
    int failed = data && *buffers ? 0 : RAFT_NOMEM;
    if (!failed) {
        gw__registry_snapshot(log->replica, data, bytes);
        failed = gw__raft_pack(data, bytes, *buffers);
    }
    raft_free(data);
    if (failed)
        raft_free(*buffers);
    return failed;
}

/* The buffer belongs to this function on success. */
static int restore(struct raft_fsm *fsm, struct raft_buffer *buffer)
{
    struct gw__raft_log *log = fsm->data;
    struct gw_error why;
    size_t bytes;
    const void *data = unpack(buffer, &bytes);
    if (gw__registry_restore(log->replica, data, bytes, &why)) {
        gw__raft_log_fail(log, why.code, "%s", why.text);
        return RAFT_MALFORMED;
    }
    log->config.on_snapshot(log->config.context, data, bytes);
    raft_free(buffer->base);
    return 0;
}

void gw__raft_fsm_init(struct gw__raft_log *log)
{
    log->fsm = (struct raft_fsm){.version = 1,
                                 .data = log,
                                 .apply = apply_entry,
                                 .snapshot = snapshot,
                                 .restore = restore};
}

/* SPDX-License-Identifier: MIT
 *
 * Buffers for the values of replies, in gw_alloc memory, so that a worker on
 * the same host reads them in place. A buffer returns when its message has been
 * sent, and is used again for a reply of similar size. The memory of free
 * buffers is bounded.
 */
#include "server_parts.h"

#include <gradwire/wire.h>

#include <stdlib.h>

enum { SMALLEST = 65536 };
#define KEPT ((size_t)128 << 20)

static void unlink_buffer(struct gw__buffer **list, struct gw__buffer *buffer)
{
    *(buffer->before ? &buffer->before->next : list) = buffer->next;
    if (buffer->next)
        buffer->next->before = buffer->before;
}

static void link_buffer(struct gw__buffer **list, struct gw__buffer *buffer)
{
    buffer->before = NULL;
    buffer->next = *list;
    if (*list)
        (*list)->before = buffer;
    *list = buffer;
}

static size_t round_up(size_t bytes)
{
    size_t size = SMALLEST;
    while (size < bytes)
        size *= 2;
    return size;
}

static struct gw__buffer *make_buffer(size_t bytes)
{
    struct gw__buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->bytes = bytes;
    buffer->data = gw_alloc(bytes, NULL);
    if (!buffer->data) {
        free(buffer);
        return NULL;
    }
    return buffer;
}

static void destroy(struct gw__buffer *buffer)
{
    gw_free(buffer->data);
    free(buffer);
}

struct gw__buffer *gw__buffer_acquire(struct gw__server *server, size_t bytes)
{
    size_t size = round_up(bytes);
    struct gw__buffer *buffer = server->buffers_free;
    while (buffer && buffer->bytes != size)
        buffer = buffer->next;
    if (buffer) {
        unlink_buffer(&server->buffers_free, buffer);
        server->buffers_bytes -= size;
    } else {
        buffer = make_buffer(size);
    }
    if (!buffer)
        return NULL;
    buffer->server = server;
    link_buffer(&server->buffers_out, buffer);
    return buffer;
}

void gw__buffer_back(void *context)
{
    struct gw__buffer *buffer = context;
    struct gw__server *server = buffer->server;
    if (!server) {
        destroy(buffer);
        return;
    }
    unlink_buffer(&server->buffers_out, buffer);
    if (server->buffers_bytes + buffer->bytes > KEPT) {
        destroy(buffer);
        return;
    }
    link_buffer(&server->buffers_free, buffer);
    server->buffers_bytes += buffer->bytes;
}

void gw__buffers_fini(struct gw__server *server)
{
    struct gw__buffer *next;
    for (struct gw__buffer *b = server->buffers_free; b; b = next) {
        next = b->next;
        destroy(b);
    }
    server->buffers_free = NULL;
    for (struct gw__buffer *b = server->buffers_out; b; b = b->next)
        b->server = NULL;
    server->buffers_out = NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * A small run for the tests of the sinks (rank 0 sends chunk 2 to rank 1), and
 * a page that holds a sink's output.
 */
#ifndef EVENT_RUN_H
#define EVENT_RUN_H

#include <gradwire/event.h>

#include <check.h>
#include <stdlib.h>

static const struct gw_event begin = {
    .kind = GW_EV_OP_BEGIN,
    .time_ns = 1000,
    .op = 3,
    .peer = GW_NONE,
    .step = GW_NONE,
    .chunk = GW_NONE,
    .value = 2,
};
static const struct gw_event sent = {
    .kind = GW_EV_SEND,
    .time_ns = 2345,
    .peer = 1,
    .op = 3,
    .step = 1,
    .chunk = 2,
    .bytes = 4096,
    .value = 1,
};
static const struct gw_event applied = {
    .kind = GW_EV_APPLY,
    .time_ns = 6789,
    .rank = 1,
    .peer = 0,
    .op = 3,
    .step = 1,
    .chunk = 2,
    .bytes = 4096,
    .value = 1,
};
static const struct gw_event loss = {
    .kind = GW_EV_LOSS,
    .time_ns = 9000,
    .peer = GW_NONE,
    .op = GW_NONE,
    .step = GW_NONE,
    .chunk = GW_NONE,
    .value = 693147181,
};

/* A sink's output to a FILE, as a string. */
struct text_buffer {
    FILE *file;
    char *text;
    size_t bytes;
};

static inline void text_buffer_open(struct text_buffer *buffer)
{
    buffer->file = open_memstream(&buffer->text, &buffer->bytes);
    ck_assert_ptr_nonnull(buffer->file);
}

static inline void text_buffer_close(struct text_buffer *buffer)
{
    ck_assert_int_eq(fclose(buffer->file), 0);
    free(buffer->text);
}

#endif

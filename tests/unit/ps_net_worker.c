/* SPDX-License-Identifier: MIT
 *
 * The workers of ps_net.h: a request goes to the primaries of its slots,
 * repeatedly, until each slot is done.
 */
#include "ps_net.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void send_request(struct net *net, unsigned number)
{
    struct net_request *r = &net->requests[number];
    r->requested_ns = net->now_ns;
    for (unsigned server = 0; server < net->server_count; server++) {
        struct {
            struct gw__ps_head head;
            struct gw__ps_segment segments[GW_PS_SEGMENTS_MAX];
        } out = {
            .head = {.magic = GW__PS_MAGIC,
                     .kind = (uint16_t)r->kind,
                     .flags = r->half ? GW__PS_HALF : 0,
                     .request = number + 1 + ((uint64_t)(r->sent + 1) << 32),
                     .routes = net->routes.version,
                     .sequence = r->sequence,
                     .low_watermark = r->low_watermark,
                     .clock = r->clock,
                     .closed = r->closed,
                     .table = (uint16_t)r->table}};
        size_t width = net->routes.tables[r->table].width, keys = 0;
        uint64_t carried = 0;
        uint64_t *key_data = malloc(r->count * sizeof *key_data + 1);
        float *values = malloc(r->count * width * sizeof *values + 1);
        for (unsigned s = 0; s < net->routes.slot_count; s++) {
            if (!(r->todo >> s & 1) || net->routes.slots[s].primary != server)
                continue;
            size_t before = keys;
            for (size_t i = 0; i < r->count; i++) {
                if (gw__route_slot(&net->routes, &net->routes.tables[r->table],
                                   r->keys[i]) != s)
                    continue;
                memcpy(values + keys * width, r->values + i * width,
                       width * sizeof *values);
                key_data[keys++] = r->keys[i];
            }
            carried |= UINT64_C(1) << s;
            out.segments[out.head.segments++] =
                (struct gw__ps_segment){s, (uint32_t)(keys - before)};
        }
        out.head.keys = keys;
        if (net->signatures && keys > 0) {
            out.head.key_list = gw__ps_key_list(out.segments, out.head.segments,
                                                key_data, keys, r->table);
            out.head.flags |= GW__PS_CACHE;
        }
        struct gw__message_out message = {.node = server, .part_count = 3};
        message.parts[0] = (struct gw__messenger_part){
            &out, sizeof out.head + out.head.segments * sizeof *out.segments};
        message.parts[1] =
            (struct gw__messenger_part){key_data, keys * sizeof *key_data};
        message.parts[2] = (struct gw__messenger_part){
            values, r->kind != GW__PS_PULL ? keys * width * sizeof *values : 0};
        message.borrowed = 1U << 2;
        if (keys > 0)
            net_enqueue(net, NET_WORKER_NODE + r->worker, &message);
        r->memory = realloc(r->memory, (r->sent + 1) * sizeof *r->memory);
        r->carried = realloc(r->carried, (r->sent + 1) * sizeof *r->carried);
        r->carried[r->sent] = carried;
        r->memory[r->sent++] = values;
        free(key_data);
    }
}

static void send_clock(struct net *net, unsigned number)
{
    struct net_request *r = &net->requests[number];
    r->requested_ns = net->now_ns;
    unsigned slot = gw__clock_slot(r->table, net->routes.slot_count);
    uint8_t data[GW__CLOCK_COMMAND_MAX];
    struct gw__ps_head head = {.magic = GW__PS_MAGIC,
                               .kind = GW__PS_CLOCK,
                               .request = number + 1,
                               .routes = net->routes.version,
                               .group = (uint8_t)r->table};
    struct gw__message_out message = {.node = net->routes.slots[slot].primary,
                                      .part_count = 2};
    message.parts[0] = (struct gw__messenger_part){&head, sizeof head};
    message.parts[1] = (struct gw__messenger_part){
        data, gw__clock_encode(&r->command, data, sizeof data)};
    if (message.node < net->server_count)
        net_enqueue(net, NET_WORKER_NODE + r->worker, &message);
}

void net_repeat(struct net *net, unsigned request)
{
    if (net->requests[request].kind == GW__PS_CLOCK)
        send_clock(net, request);
    else
        send_request(net, request);
}

static uint64_t low_watermark_of(const struct net *net, unsigned worker)
{
    uint64_t low_watermark = net->sequences[worker];
    for (unsigned i = 0; i < net->request_count; i++) {
        const struct net_request *r = &net->requests[i];
        if (r->worker == worker && r->sequence > 0 && !r->done && !r->failed &&
            r->sequence <= low_watermark)
            low_watermark = r->sequence - 1;
    }
    return low_watermark;
}

static struct net_request *new_request(struct net *net, unsigned worker,
                                       unsigned kind, unsigned table,
                                       const uint64_t *keys, size_t count)
{
    ck_assert_uint_lt(net->request_count, NET_PUSHES);
    struct net_request *r = &net->requests[net->request_count++];
    size_t width = net->routes.tables[table].width;
    *r = (struct net_request){.used = true,
                              .worker = worker,
                              .kind = kind,
                              .table = table,
                              .clock = GW__NO_CLOCK,
                              .count = count};
    r->keys = malloc(count * sizeof *keys + 1);
    r->values = calloc(count * width + 1, sizeof(float));
    if (count > 0)
        memcpy(r->keys, keys, count * sizeof *keys);
    for (size_t i = 0; i < count; i++)
        r->todo |= UINT64_C(1) << gw__route_slot(
                       &net->routes, &net->routes.tables[table], keys[i]);
    return r;
}

static unsigned push(struct net *net, unsigned worker, unsigned kind,
                     unsigned table, const uint64_t *keys, size_t count,
                     const float *values, uint64_t clock)
{
    uint64_t low_watermark = low_watermark_of(net, worker);
    struct net_request *r = new_request(net, worker, kind, table, keys, count);
    memcpy(r->values, values,
           count * net->routes.tables[table].width * sizeof *values);
    r->clock = clock;
    r->sequence = ++net->sequences[worker];
    r->low_watermark = low_watermark;
    send_request(net, net->request_count - 1);
    return net->request_count - 1;
}

unsigned net_push(struct net *net, unsigned worker, unsigned table,
                  const uint64_t *keys, size_t count, const float *values,
                  uint64_t clock)
{
    return push(net, worker, GW__PS_PUSH, table, keys, count, values, clock);
}

unsigned net_push_pull(struct net *net, unsigned worker, unsigned table,
                       const uint64_t *keys, size_t count, const float *values)
{
    return push(net, worker, GW__PS_PUSH_PULL, table, keys, count, values,
                GW__NO_CLOCK);
}

unsigned net_pull(struct net *net, unsigned worker, unsigned table,
                  const uint64_t *keys, size_t count, uint64_t closed)
{
    struct net_request *r =
        new_request(net, worker, GW__PS_PULL, table, keys, count);
    r->closed = closed;
    send_request(net, net->request_count - 1);
    return net->request_count - 1;
}

unsigned net_clock(struct net *net, unsigned worker, unsigned group,
                   const struct gw__clock_command *command)
{
    struct net_request *r = new_request(net, worker, GW__PS_CLOCK, 0, NULL, 0);
    r->table = group;
    r->todo = 1;
    r->command = *command;
    r->command.who = (struct gw__alive){
        NET_WORKER_NODE + worker, net_incarnation(NET_WORKER_NODE + worker)};
    send_clock(net, net->request_count - 1);
    return net->request_count - 1;
}

static void copy_values(struct net *net, struct net_request *r, uint64_t done,
                        const struct gw__message_in *message)
{
    size_t width = net->routes.tables[r->table].width, at = 0;
    const float *values = message->parts[2].data;
    for (unsigned s = 0; s < net->routes.slot_count; s++)
        for (size_t i = 0; i < r->count && done >> s & 1; i++) {
            if (gw__route_slot(&net->routes, &net->routes.tables[r->table],
                               r->keys[i]) != s)
                continue;
            memcpy(r->values + i * width, values + at * width,
                   width * sizeof *values);
            at++;
        }
    ck_assert_uint_eq(message->parts[2].bytes, at * width * sizeof *values);
}

static void overwrite(struct net *net, struct net_request *r)
{
    size_t floats = r->count * net->routes.tables[r->table].width;
    for (unsigned i = 0; i < r->sent; i++)
        for (size_t j = 0; j < floats; j++)
            ((float *)r->memory[i])[j] = 12345;
}

/* The slots that the reply acknowledges. Its request names the attempt; 0: the
 * test has made the message. */
static uint64_t slots_done(const struct net_request *r,
                           const struct gw__ps_head *head)
{
    unsigned attempt = (unsigned)(head->request >> 32);
    uint64_t done = head->done, slots = 0;
    for (uint64_t rest = attempt ? r->carried[attempt - 1] : r->todo; rest;
         rest &= rest - 1, done >>= 1)
        if (done & 1)
            slots |= rest & -rest;
    return slots;
}

void net_on_reply(struct net *net, struct gw__message_in *message)
{
    const struct gw__ps_head *head;
    const struct gw__ps_segment *segments;
    struct gw_error why;
    ck_assert_int_eq(gw__ps_check(message, &head, &segments, &why), GW_OK);
    ck_assert_int_eq(head->kind, GW__PS_REPLY);
    unsigned number = (uint32_t)head->request;
    ck_assert(number >= 1 && number <= net->request_count);
    struct net_request *r = &net->requests[number - 1];
    if (r->done || r->failed)
        return;
    r->reply = *head;
    bool failed = head->code < 0;
    if (failed && !(head->flags & GW__PS_NEWER)) {
        size_t bytes = message->parts[1].bytes;
        memcpy(r->text, message->parts[1].data,
               bytes < sizeof r->text ? bytes : sizeof r->text - 1);
    }
    if (r->kind == GW__PS_CLOCK) {
        if (message->parts[2].bytes == sizeof r->work)
            memcpy(&r->work, message->parts[2].data, sizeof r->work);
        r->todo = head->code == GW_OK ? 0 : r->todo;
    } else {
        uint64_t done = slots_done(r, head);
        if (r->kind != GW__PS_PUSH && done)
            copy_values(net, r, done, message);
        r->todo &= ~done;
    }
    r->failed = failed;
    r->done = !failed && r->todo == 0;
    if (r->done && r->kind == GW__PS_PUSH)
        overwrite(net, r);
}

void net_repeat_requests(struct net *net)
{
    for (unsigned i = 0; i < net->request_count; i++) {
        struct net_request *r = &net->requests[i];
        if (!r->done && !r->failed && net->alive[r->worker] &&
            net->now_ns - r->requested_ns >= 40 * NET_MS)
            net_repeat(net, i);
    }
}

bool net_done(const struct net *net, unsigned request)
{
    return net->requests[request].done;
}

struct net_request *net_wait(struct net *net, unsigned request)
{
    struct net_request *r = &net->requests[request];
    for (unsigned i = 0; i < 10000 && !r->done && !r->failed; i++)
        net_run(net, 1);
    if (!r->done && !r->failed)
        net_explain(net);
    ck_assert_msg(r->done || r->failed, "seed %llu: request %u is not done",
                  (unsigned long long)net->seed, request);
    return r;
}

float net_value(struct net *net, unsigned table, uint64_t key)
{
    return net_wait(net, net_pull(net, 0, table, &key, 1, 0))->values[0];
}

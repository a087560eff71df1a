/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the server of the parameter server with messages: those of a worker,
 * or of an apparent server, are either refused or valid.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... \
 *         tests/fuzz/fuzz_ps_message.c
 *
 * The input is a list of messages: a byte for the kind, one for the sender, the
 * lengths of three parts, then the parts. Half of the time the header's magic
 * number, kind and sizes are corrected, so that the code after these checks is
 * reached.
 */
#include "mute.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { SLOTS = 4, SERVERS = 2, WORKER = 9 };

static uint64_t now_ns = 1000000000;

static void free_message(struct gw__message_in *message)
{
    for (unsigned i = 0; i < message->part_count; i++)
        free((void *)(uintptr_t)message->parts[i].data);
    free(message);
}

static struct gw__server *make_server(void)
{
    static struct gw__membership_update update;
    struct gw__server_config config = {
        .node = 0,
        .incarnation = {1, 1},
        .out = {.send = mute_send, .propose = mute_propose}};
    struct gw_ps_table_config table = {.name = "t", .width = 2};
    struct gw__server *server;
    unsigned number;
    gw__routes_init(&update.routes);
    if (gw__routes_open(&update.routes, SLOTS, SERVERS, SERVERS, NULL) ||
        gw__routes_table(&update.routes, &table, &number, NULL) ||
        gw__server_new(&config, &server, NULL))
        abort();
    gw__routes_servers(&update.routes, 3);
    update.index = 1;
    update.ps_member_count = 3;
    for (unsigned i = 0; i < 3; i++)
        update.ps_members[i] = (struct gw__ps_member){
            .node = i < SERVERS ? i : WORKER,
            .role = i < SERVERS ? GW__SERVER : GW__WORKER,
            .incarnation = {1, 1 + i}};
    gw__server_update(server, now_ns, &update);
    gw__server_lease(server, now_ns, UINT64_MAX);
    return server;
}

static void mend(struct gw__ps_head *head, const struct gw__message_in *message,
                 uint8_t kind)
{
    head->magic = GW__PS_MAGIC;
    head->kind = kind % GW__PS_KINDS;
    head->table %= 2;
    head->group %= GW_PS_GROUPS_MAX;
    if (head->kind > GW__PS_PUSH_PULL)
        return;
    head->low_watermark = 0;
    head->sequence = 1 + head->sequence % 64;
    head->segments = (uint32_t)((message->parts[0].bytes - sizeof *head) /
                                sizeof(struct gw__ps_segment));
    struct gw__ps_segment *segments =
        (struct gw__ps_segment *)(void *)(head + 1);
    head->keys = message->parts[1].bytes / 8;
    for (unsigned i = 0; i < head->segments; i++)
        segments[i].slot %= SLOTS;
    if (head->segments == 1)
        segments[0].keys = (uint32_t)head->keys;
}

static size_t feed(struct gw__server *server, const uint8_t *bytes, size_t size)
{
    struct gw__message_in *message = calloc(1, sizeof *message);
    size_t used = 5;
    if (!message)
        abort();
    message->part_count = 3;
    message->free = free_message;
    message->from = bytes[1] % 4 == 0 ? 1 : WORKER;
    message->incarnation_high = 1;
    message->incarnation_low = message->from == 1 ? 2 : 3;
    atomic_init(&message->holds, 1);
    for (unsigned i = 0; i < 3; i++) {
        size_t wanted = bytes[2 + i];
        size_t some = wanted < size - used ? wanted : size - used;
        void *data = malloc(some + 1);
        if (!data)
            abort();
        memcpy(data, bytes + used, some);
        message->parts[i] = (struct gw__messenger_part){data, some};
        used += some;
    }
    if (bytes[1] & 16 && message->parts[0].bytes >= sizeof(struct gw__ps_head))
        mend((struct gw__ps_head *)(uintptr_t)message->parts[0].data, message,
             bytes[0]);
    gw__server_message_in(server, now_ns, message);
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gw__server *server = make_server();
    size_t at = 0;
    while (size - at >= 5) {
        at += feed(server, bytes + at, size - at);
        now_ns += 1000000;
        gw__server_flush(server, now_ns);
        if (bytes[at - 1] % 8 == 0)
            gw__server_tick(server, now_ns);
    }
    gw__server_destroy(&server);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the data that peers and strangers can send: slices, control messages,
 * addresses and rendezvous messages. Any bytes are either refused with an error
 * or valid.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_frame.c
 */
#include <wire/rendezvous/rendezvous_message.h>
#include <wire/socket/socket_wire.h>
#include <wire/zmq/zmq_wire.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void try_slice(const uint8_t *bytes, size_t size, bool more)
{
    struct gw__header header;
    struct gw_error why = {.code = GW_OK};
    unsigned char token[GW__TOKEN_BYTES] = {0};
    if (size >= GW__SLICE_TOKEN_BYTES)
        memcpy(token, bytes, GW__SLICE_TOKEN_BYTES);
    if (gw__frame_head(bytes, size, more, token, &header, &why)) {
        expect(why.code == GW_EDATA && why.text[0]);
        return;
    }
    expect(more ? size == GW__SLICE_HEAD_BYTES && header.bytes > 0
                : size == GW__SLICE_HEAD_BYTES + header.bytes);
    token[0] ^= 1;
    expect(gw__frame_head(bytes, size, more, token, &header, &why) == GW_EDATA);
    memcpy(&header, bytes + GW__SLICE_TOKEN_BYTES, sizeof header);
    expect(gw__frame_body(&header, header.bytes, false, &why) == GW_OK);
    expect(gw__frame_body(&header, header.bytes, true, &why) == GW_EDATA);
    expect(gw__frame_body(&header, (size_t)header.bytes + 1, false, &why) ==
           GW_EDATA);
}

static void try_control_frame(const uint8_t *bytes, size_t size)
{
    struct gw__control_message frame;
    struct gw_error why = {.code = GW_OK};
    if (gw__control_read(bytes, size, bytes[0] & 3, bytes[1] & 3, &frame,
                         &why)) {
        expect(why.code == GW_EDATA && why.text[0]);
        return;
    }
    expect(strnlen(frame.text, sizeof frame.text) < sizeof frame.text);
    expect(frame.kind != GW__ABORT || frame.code < 0);
    expect(gw__control_seal(&frame) <= size);
}

static void try_address(const uint8_t *bytes, size_t size)
{
    static struct gw__address address;
    static struct gw__zmq_endpoint_address parsed;
    struct gw__zmq_endpoint_address mine = {
        .magic = GW__ZMQ_MAGIC, .transport = GW__ZMQ_TCP, .lanes = 2};
    char endpoint[128];
    enum { RANKS = 5, RANK = 1 };
    if (size > GW__ADDRESS_MAX)
        return;
    address.bytes = size;
    memcpy(address.blob, bytes, size);
    if (gw__zmq_endpoint_address_read(&address, RANK, RANKS, &mine, &parsed,
                                      NULL))
        return;
    for (unsigned peer = RANK + 1; peer < RANKS; peer++)
        for (unsigned lane = 0; lane <= mine.lanes; lane++) {
            gw__zmq_endpoint(&parsed, RANK, peer, lane, endpoint);
            expect(strncmp(endpoint, "tcp://", 6) == 0);
            expect(strpbrk(endpoint, "@*; \n") == NULL);
        }
}

static void try_socket_address(const uint8_t *bytes, size_t size)
{
    static struct gw__address address;
    struct gw__socket_address parsed;
    struct gw__socket_address mine = {.magic = GW__SOCKET_MAGIC,
                                      .transport = GW__SOCKET_TCP,
                                      .lanes = 2,
                                      .size = 5};
    struct gw_error why = {.code = GW_OK};
    if (size > GW__ADDRESS_MAX)
        return;
    address.bytes = size;
    memcpy(address.blob, bytes, size);
    if (gw__socket_address_read(&address, 1, &mine, &parsed, &why)) {
        expect(why.text[0]);
        return;
    }
    expect(parsed.transport == GW__SOCKET_TCP && parsed.lanes == 2);
    expect(strnlen(parsed.host, sizeof parsed.host) < sizeof parsed.host);
}

static void try_rendezvous(const uint8_t *bytes, size_t size)
{
    static struct gw__address table[8];
    struct gw__rendezvous_message head;
    const void *payload;
    size_t length;
    if (!gw__rendezvous_read(bytes, size, &head, &payload, &length))
        return;
    expect(sizeof head + length == size);
    expect(head.size > 0 && head.size <= GW__WIRE_PEERS_MAX);
    expect(head.kind != GW__RENDEZVOUS_JOIN ||
           (head.rank < head.size && length <= GW__ADDRESS_MAX));
    if (!gw__rendezvous_unpack(payload, length, table, 8))
        return;
    void *packed;
    expect(gw__rendezvous_pack(table, 8, &packed) == length);
    expect(memcmp(packed, payload, length) == 0);
    free(packed);
}

/* Sets the magic numbers, so that the fuzzer gets past them. */
static void try_with_magic(void (*try)(const uint8_t *, size_t),
                           const char *magic, const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size);
    if (!copy)
        return;
    memcpy(copy, bytes, size);
    memcpy(copy, magic, 4);
    try(copy, size);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    try_slice(bytes, size, false);
    try_slice(bytes, size, true);
    try_address(bytes, size);
    try_rendezvous(bytes, size);
    if (size < 4)
        return 0;
    try_control_frame(bytes, size);
    try_with_magic(try_control_frame, "gwn2", bytes, size);
    try_with_magic(try_address, "gwz3", bytes, size);
    try_with_magic(try_socket_address, "gws1", bytes, size);
    try_with_magic(try_rendezvous, "gwm1", bytes, size);
    return 0;
}

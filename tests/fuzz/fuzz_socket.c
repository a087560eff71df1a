/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the receiver of the socket wires with what a member that went wrong
 * may send. The input is a program: it says which bytes come, how much at a time,
 * and which slices the executor expects. Each slice has the bytes that its
 * header announces, at their place in the stream, or the connection ends.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_socket.c
 */
#include <wire/socket/socket_wire.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { PEER = 1, STREAM_MAX = 160 << 10, SLICE_MAX = 48 << 10 };

static struct {
    const uint8_t *bytes;
    size_t left;
} program;

static unsigned char stream[STREAM_MAX], user_memory[SLICE_MAX];
static size_t made, sent, used; /* bytes of the stream */

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static unsigned take(unsigned limit)
{
    unsigned value = 0;
    for (unsigned i = 0; i < 3 && program.left > 0; i++, program.left--)
        value = value << 8 | *program.bytes++;
    return value % limit;
}

static void put(const void *bytes, size_t size)
{
    if (size > STREAM_MAX - made)
        size = STREAM_MAX - made;
    memcpy(stream + made, bytes, size);
    made += size;
}

/* A slice of up to 48 KiB, the number of which is in its data. */
static void put_slice(unsigned number)
{
    static unsigned char data[SLICE_MAX];
    struct gw__header header = {.op = 1, .bytes = take(SLICE_MAX)};
    header.chunk = take(2);
    for (size_t i = 0; i < header.bytes; i++)
        data[i] = (unsigned char)(number * 31 + i + (i >> 8));
    put(&header, sizeof header);
    put(data, header.bytes);
    memset(data, 0, 8);
    put(data, gw__socket_padding(header.bytes));
}

static void make_stream(void)
{
    made = sent = used = 0;
    for (unsigned left = take(6) + 1; left > 0; left--)
        if (take(8) > 0) {
            put_slice(left);
        } else {
            size_t size = take(200);
            size = size < program.left ? size : program.left;
            put(program.bytes, size);
            program.bytes += size;
            program.left -= size;
        }
}

/* More arrives, or the end. */
static void send_some(int *fd)
{
    size_t bytes = program.left ? take(1 << 17) + 1 : STREAM_MAX;
    size_t left = made - sent;
    ssize_t taken = send(*fd, stream + sent, bytes < left ? bytes : left,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
    sent += taken > 0 ? (size_t)taken : 0;
    if (sent == made) {
        close(*fd);
        *fd = -1;
    }
}

/* The executor expects the slice that will come, or another one. */
static void expect_slice(struct gw__socket *s)
{
    struct gw__header next = {0};
    if (made - used >= sizeof next)
        memcpy(&next, stream + used, sizeof next);
    next.chunk ^= take(4) == 0;
    next.bytes = next.bytes < SLICE_MAX ? next.bytes : SLICE_MAX;
    gw__socket_expect(&s->wire, PEER, &next, take(2) ? user_memory : NULL);
}

/* The slice in the view is the next one of the stream. */
static void check_view(struct gw__socket *s)
{
    struct gw__socket_in *in = &s->links[PEER].lanes[0].in;
    const struct gw__header *header = in->view.header;
    expect(made - used >= sizeof *header);
    expect(memcmp(header, stream + used, sizeof *header) == 0);
    if (in->ended && in->taken == 0 && in->got < header->bytes)
        return; /* it was not the one expected: its data are of no use */
    used += sizeof *header;
    expect(made - used >= header->bytes);
    expect(memcmp(in->view.data, stream + used, header->bytes) == 0);
    expect((uintptr_t)in->view.data % 8 == 0 || in->view.data == user_memory);
    used += header->bytes + gw__socket_padding(header->bytes);
}

static bool pull_all(struct gw__socket *s)
{
    struct gw__socket_in *in = &s->links[PEER].lanes[0].in;
    struct gw_error why = {.code = GW_OK};
    for (;;) {
        expect_slice(s);
        in->readable = !in->ended;
        enum gw_err err = gw__socket_in_pull(s, PEER, 0, &why);
        if (err) {
            expect(err == GW_PENDING || why.text[0]);
            return err == GW_PENDING && !in->ended;
        }
        check_view(s);
        gw__socket_in_release(in);
        if (in->ended)
            return false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int ends[2];
    struct gw__socket_lane lane = {0};
    struct gw__socket_link links[2] = {[PEER] = {.lanes = &lane}};
    struct gw__socket s = {.lanes = 1, .links = links};
    program.bytes = bytes;
    program.left = size;
    make_stream();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        abort();
    lane.fd = ends[0];
    lane.in.buffer = aligned_alloc(64, GW__SOCKET_BUFFER_BYTES);
    expect(lane.in.buffer);
    do
        if (ends[1] >= 0)
            send_some(&ends[1]);
    while (pull_all(&s) && (ends[1] >= 0 || lane.in.readable));
    if (ends[1] >= 0)
        close(ends[1]);
    close(ends[0]);
    free(lane.in.buffer);
    free(lane.in.staging);
    return 0;
}

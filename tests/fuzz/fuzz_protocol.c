/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the messages between members and controllers, and the machine that
 * receives them: any bytes are refused, or equal their own encoding.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_protocol.c
 *
 * The first byte of the input selects: the rest is one message, tried against
 * every decoder, or a list of inputs to the service machine: kind, node and
 * length, then the bytes.
 */
#include <cluster/controller/service.h>
#include <cluster/member/client.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint8_t again[GW__MESSAGE_MAX];

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void same(const uint8_t *bytes, size_t size, size_t used)
{
    expect(used == size && memcmp(again, bytes, size) == 0);
}

static void same_report(const struct gw__report *x, const struct gw__report *y)
{
    uint8_t a[GW__REPORT_BYTES_MAX], b[GW__REPORT_BYTES_MAX];
    struct gw__writer first = gw__writer_on(a, sizeof a);
    struct gw__writer second = gw__writer_on(b, sizeof b);
    gw__put_report(&first, x);
    gw__put_report(&second, y);
    expect(first.used == second.used && memcmp(a, b, first.used) == 0);
}

/* The same reports can be written as other runs, and as more messages. */
static void try_reported(struct gw__reported *reported)
{
    static struct gw__report reports[GW__NODES_MAX], report;
    struct gw_nodes nodes = {{0}}, left;
    struct gw__reported copy;
    struct gw_error why;
    unsigned node;
    while (gw__reported_next(reported, &node, &report)) {
        reports[node] = report;
        gw__nodes_add(&nodes, node);
    }
    left = nodes;
    while (!gw__nodes_is_empty(left)) {
        size_t used = gw__reported_encode(reported->flush_epoch, reports, &left,
                                          again, sizeof again);
        expect(used && !gw__reported_decode(again, used, &copy, &why));
        while (gw__reported_next(&copy, &node, &report)) {
            same_report(&reports[node], &report);
            gw__nodes_remove(&nodes, node);
        }
    }
    expect(gw__nodes_is_empty(nodes));
}

/* Also as the changes of the update before it. */
static void try_update(const uint8_t *bytes, size_t size)
{
    static struct gw__membership_update known, update, copy;
    static struct gw__update_body before, whole, changes, body;
    static struct gw_error why;
    if (gw__membership_update_decode(bytes, size, &known, &update, &why))
        return;
    gw__membership_update_whole(&known, &before);
    gw__membership_update_whole(&update, &whole);
    gw__membership_update_changes(&before, &whole, &changes);
    size_t used =
        gw__membership_update_encode(&update, &changes, again, sizeof again);
    expect(used && used <= size + sizeof(uint64_t) + 1);
    expect(!gw__membership_update_decode(again, used, &known, &copy, &why));
    gw__membership_update_whole(&copy, &body);
    expect(body.bytes == whole.bytes &&
           memcmp(body.data, whole.data, whole.bytes) == 0);
    gw__membership_update_copy(&known, &update);
}

static void try_decoders(const uint8_t *bytes, size_t size)
{
    static struct gw__hello hello;
    static struct gw__lease lease;
    struct gw__reported reported;
    struct gw__reply reply;
    struct gw_error why;
    if (!gw__hello_decode(bytes, size, &hello, &why))
        same(bytes, size, gw__hello_encode(&hello, again, sizeof again));
    try_update(bytes, size);
    if (!gw__lease_decode(bytes, size, &lease, &why))
        same(bytes, size, gw__lease_encode(&lease, again, sizeof again));
    if (!gw__reported_decode(bytes, size, &reported, &why))
        try_reported(&reported);
    if (!gw__reply_decode(bytes, size, &reply, &why))
        same(bytes, size, gw__reply_encode(&reply, again, sizeof again));
}

/* ---- the service ---- */

static void check_send(void *driver, uint32_t to, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    (void)driver;
    expect(to < GW__NODES_MAX && size > 0 && size <= GW__MESSAGE_MAX);
    expect(bytes[0] > 0 && bytes[0] < GW__PROTOCOL_KINDS);
}

static void check_notification(void *driver, const void *data, size_t size)
{
    char endpoint[GW__ENDPOINT_MAX];
    struct gw__command command;
    struct gw_error why;
    unsigned node;
    (void)driver;
    expect(gw__service_sends_endpoint(data, size, &node, endpoint) ||
           gw__command_decode(data, size, &command, &why) == GW_OK);
}

static void check_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    (void)driver, (void)at_ns;
    expect(timer < GW__TIMERS_MAX);
}

static const struct gw__actions actions = {
    .send = check_send, .notify = check_notification, .set_timer = check_timer};

static void try_service(void *state, const uint8_t *bytes, size_t size)
{
    struct gw__reader r = gw__reader_on(bytes, size);
    struct gw__input input = {.kind = GW__START, .from = 63, .incarnation = 1};
    gw__service_machine.step(state, &input, &actions);
    while (r.left > 0) {
        input.kind = (enum gw__input_kind)(1 + gw__get_u8(&r) % 4);
        input.from = gw__get_u8(&r);
        input.incarnation = gw__get_u8(&r);
        input.bytes = gw__get_u8(&r);
        input.bytes = input.bytes < r.left ? input.bytes : r.left;
        input.data = r.at;
        input.now_ns += 10000000;
        gw__get_bytes(&r, again, input.bytes);
        gw__service_machine.step(state, &input, &actions);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void *state;
    if (size == 0)
        return 0;
    if (bytes[0] % 2 == 0) {
        try_decoders(bytes + 1, size - 1);
        return 0;
    }
    if (!state)
        state = malloc(gw__service_machine.state_bytes);
    expect(state);
    memset(state, 0, gw__service_machine.state_bytes);
    try_service(state, bytes + 1, size - 1);
    return 0;
}

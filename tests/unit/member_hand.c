/* SPDX-License-Identifier: MIT
 *
 * A member machine that the test drives; see member_hand.h.
 */
#include "member_hand.h"
#include "node_bits.h"

#include <stdlib.h>
#include <string.h>

struct member_hand hand;

static void on_send(void *driver, uint32_t to, const void *data, size_t bytes)
{
    (void)driver;
    ck_assert_uint_lt(hand.sent_count, SENT_MOST);
    ck_assert_uint_le(bytes, sizeof hand.sent->data);
    struct member_sent *sent = &hand.sent[hand.sent_count++];
    sent->to = to;
    sent->bytes = bytes;
    memcpy(sent->data, data, bytes);
}

static void on_timer(void *driver, uint32_t timer, uint64_t at_ns)
{
    (void)driver;
    ck_assert_uint_lt(timer, 2);
    if (timer == 0)
        hand.due_ns = at_ns;
    else
        hand.detector_ns = at_ns;
}

static void on_notify(void *driver, const void *data, size_t bytes)
{
    (void)driver;
    struct gw__notification notification;
    ck_assert_uint_eq(bytes, sizeof notification);
    memcpy(&notification, data, sizeof notification);
    if (notification.kind == GW__NOTIFY_UPDATE)
        return;
    ck_assert_uint_lt(hand.notification_count, NOTIFICATIONS_MOST);
    hand.notification[hand.notification_count++] = notification;
}

static void on_inspect(void *driver, uint32_t node, uint64_t incarnation)
{
    (void)driver;
    ck_assert_uint_eq(incarnation, hand_id_of(node).low);
    hand.inspected |= 1U << node;
}

static void input(struct gw__input in)
{
    const struct gw__actions act = {.send = on_send,
                                    .set_timer = on_timer,
                                    .notify = on_notify,
                                    .inspect =
                                        hand.inspects ? on_inspect : NULL};
    in.now_ns = hand.now_ns;
    in.incarnation = in.from + 100;
    in.seed = 5;
    gw__member_machine.step(hand.state, &in, &act);
}

void hand_input(enum gw__input_kind kind, uint32_t from, const void *data,
                size_t bytes)
{
    input((struct gw__input){
        .kind = kind, .from = from, .data = data, .bytes = bytes});
}

void hand_pass_watching(uint64_t ms)
{
    uint64_t until = hand.now_ns + ms * MS;
    for (;;) {
        bool own = hand.due_ns &&
                   (!hand.detector_ns || hand.due_ns <= hand.detector_ns);
        uint64_t *due_ns = own ? &hand.due_ns : &hand.detector_ns;
        if (*due_ns == 0 || *due_ns > until)
            break;
        if (*due_ns > hand.now_ns)
            hand.now_ns = *due_ns;
        *due_ns = 0;
        input(
            (struct gw__input){.kind = GW__TIMER, .from = SELF, .timer = !own});
    }
    hand.now_ns = until;
}

void hand_pass(uint64_t ms)
{
    uint64_t until = hand.now_ns + ms * MS;
    while (hand.due_ns && hand.due_ns <= until) {
        hand.now_ns = hand.due_ns;
        hand.due_ns = 0;
        hand_input(GW__TIMER, SELF, NULL, 0);
    }
    hand.now_ns = until;
}

struct gw__id hand_id_of(unsigned node)
{
    return (struct gw__id){9, node + 100};
}

void hand_clear(void)
{
    hand.notification_count = hand.sent_count = 0;
}

const struct gw__notification *
hand_notification(enum gw__notification_kind kind)
{
    for (unsigned i = 0; i < hand.notification_count; i++)
        if (hand.notification[i].kind == kind)
            return &hand.notification[i];
    return NULL;
}

bool hand_request(enum gw__command_kind kind, struct gw__command *command)
{
    struct gw_error why;
    for (unsigned i = hand.sent_count; i > 0; i--) {
        const struct member_sent *s = &hand.sent[i - 1];
        if (s->data[0] == GW__PROTOCOL_REQUEST &&
            gw__command_decode(s->data + 1, s->bytes - 1, command, &why) ==
                GW_OK &&
            command->kind == kind)
            return true;
    }
    return false;
}

void hand_answer(const struct gw__command *command, enum gw_err code,
                 const char *text)
{
    uint8_t bytes[GW__ANSWER_BYTES_MAX], out[GW__REPLY_BYTES_MAX];
    struct gw__answer a = {.code = code, .node = SELF};
    strncpy(a.text, text, sizeof a.text - 1);
    const struct gw__reply reply = {.protocol = GW__PROTOCOL_ANSWER,
                                    .client = command->client,
                                    .sequence = command->sequence,
                                    .answer = bytes,
                                    .answer_bytes =
                                        gw__answer_encode(&a, bytes)};
    size_t used = gw__reply_encode(&reply, out, sizeof out);
    hand_input(GW__MESSAGE, 0, out, used);
}

/* ---- membership updates ---- */

void hand_send_update_at(uint64_t index)
{
    static uint8_t out[GW__MESSAGE_MAX];
    static struct gw__update_body whole;
    hand.update.index = index;
    gw__membership_update_whole(&hand.update, &whole);
    size_t bytes =
        gw__membership_update_encode(&hand.update, &whole, out, sizeof out);
    ck_assert_uint_gt(bytes, 0);
    hand_input(GW__MESSAGE, 0, out, bytes);
}

void hand_send_update(void)
{
    hand_send_update_at(hand.update.index + 1);
}

void hand_ring_is(uint64_t epoch, unsigned count, const unsigned *nodes)
{
    hand.update.view.epoch = hand.update.view.ring_epoch = epoch;
    hand.update.view.ring_count = count;
    for (unsigned i = 0; i < count; i++)
        hand.update.view.ring[i] = (struct gw__ring_member){
            .node = nodes[i], .incarnation = hand_id_of(nodes[i])};
}

void hand_start(enum gw__role role)
{
    struct gw__member_config config = {.node = hand.drawn ? GW__NODE_ANY : SELF,
                                       .role = role,
                                       .ring =
                                           role == GW__WORKER && !hand.in_ps,
                                       .incarnation = hand_id_of(SELF),
                                       .client = {3, 3},
                                       .endpoint = "here",
                                       .controller_count = 2,
                                       .controllers = {0, 1}};
    hand.update.incarnation = hand_id_of(SELF);
    hand.update.state = GW__ACTIVE;
    hand_input(GW__START, SELF, &config, sizeof config);
}

void hand_setup(void)
{
    memset(&hand, 0, sizeof hand);
    hand.state = calloc(1, gw__member_machine.state_bytes);
    ck_assert_ptr_nonnull(hand.state);
    hand.now_ns = 1000 * MS;
}

void hand_teardown(void)
{
    free(hand.state);
}

void hand_in_ring(void)
{
    struct gw__command c;
    hand_start(GW__WORKER);
    ck_assert(hand_request(GW__CMD_REGISTER, &c));
    hand_answer(&c, GW_OK, "joining");
    hand_ring_is(1, 3, (const unsigned[]){SELF, LEFT, RIGHT});
    hand_send_update();
    ck_assert_ptr_nonnull(hand_notification(GW__NOTIFY_VIEW));
    hand_clear();
}

void hand_flush_begins(uint64_t epoch)
{
    hand_ring_is(epoch, 2, (const unsigned[]){SELF, LEFT});
    hand.update.flushing = true;
    hand.update.flush_epoch = epoch;
    hand.update.reported = node_set(0);
    hand_send_update();
}

void hand_submit(const struct gw__member_request *request)
{
    hand_input(GW__REQUESTED, SELF, request, sizeof *request);
}

void hand_give_report(uint64_t flush_epoch)
{
    const struct gw__member_request request = {
        .kind = GW__REQUEST_REPORT,
        .flush = {.epoch = flush_epoch, .report = {.low_watermark = 7}}};
    hand_submit(&request);
}

void hand_reported(uint64_t flush_epoch, unsigned node)
{
    static uint8_t out[4096];
    static struct gw__report reports[GW__NODES_MAX];
    struct gw_nodes nodes = gw__nodes_only(node);
    reports[node].low_watermark = node;
    size_t bytes =
        gw__reported_encode(flush_epoch, reports, &nodes, out, sizeof out);
    hand_input(GW__MESSAGE, 1, out, bytes);
}

void hand_is_decided(void)
{
    hand.update.flushing = false;
    hand.update.reported = node_set(1U << SELF | 1U << LEFT);
    hand_send_update();
}

/* SPDX-License-Identifier: MIT
 *
 * Two controllers that the test drives; see fronts.h.
 */
#include "fronts.h"

#include "hold.h"

#include <stdlib.h>
#include <string.h>

struct fronts fronts;

/* The last updates that a front has sent to any node, and the number of all. An
 * update may be the changes of one of them. */
enum { KNOWN = 4 };
static struct known {
    struct gw__membership_update updates[KNOWN];
    unsigned count;
} known[FRONTS];

static void step(unsigned front, struct gw__input input)
{
    struct front *f = &fronts.front[front];
    input.now_ns = fronts.now_ns;
    gw__service_machine.step(f->state, &input, &f->act);
}

void fronts_input(unsigned front, struct gw__input input)
{
    step(front, input);
}

struct gw__process fronts_process(unsigned node, unsigned life)
{
    return (struct gw__process){node, {.high = 100 + life, .low = node + 1}};
}

static void start(unsigned front)
{
    struct front *f = &fronts.front[front];
    struct gw__process self = fronts_process(FRONT_NODE + front, 0);
    const struct gw__service_config config = {.node = self.node,
                                              .incarnation = self.incarnation,
                                              .endpoint = "ipc://@front"};
    f->state = calloc(1, gw__service_machine.state_bytes);
    ck_assert_ptr_nonnull(f->state);
    f->act = mail_actions(&f->mail);
    mail_clear(&f->mail);
    step(front, (struct gw__input){.kind = GW__START,
                                   .from = self.node,
                                   .incarnation = self.incarnation.low,
                                   .data = &config,
                                   .bytes = sizeof config});
}

void fronts_setup(void)
{
    fronts.now_ns = 7000 * MS;
    fronts.next_index = 1;
    fronts.down = 0;
    memset(known, 0, sizeof known);
    for (unsigned i = 0; i < FRONTS; i++)
        start(i);
}

void fronts_teardown(void)
{
    for (unsigned i = 0; i < FRONTS; i++)
        free(fronts.front[i].state);
}

const struct gw__registry *fronts_registry(unsigned front)
{
    return gw__service_registry_of(fronts.front[front].state);
}

void fronts_wait(uint64_t ns)
{
    uint64_t until_ns = fronts.now_ns + ns;
    for (;;) {
        unsigned next =
            fronts.front[1].mail.timer_ns < fronts.front[0].mail.timer_ns;
        uint64_t at_ns = fronts.front[next].mail.timer_ns;
        if (at_ns > until_ns)
            break;
        if (at_ns > fronts.now_ns)
            fronts.now_ns = at_ns;
        step(next, (struct gw__input){.kind = GW__TIMER});
    }
    fronts.now_ns = until_ns;
}

void fronts_sleep(uint64_t ns)
{
    fronts.now_ns += ns;
}

/* ---- the log ---- */

void fronts_lead(unsigned front, bool keep)
{
    uint8_t out[GW__SERVICE_REQUEST_MAX];
    unsigned node = front < FRONTS ? FRONT_NODE + front : GW__NODES_MAX;
    size_t bytes = gw__service_request_leader(out, node);
    for (unsigned i = 0; i < FRONTS; i++) {
        step(i, (struct gw__input){
                    .kind = GW__REQUESTED, .data = out, .bytes = bytes});
        if (!keep)
            fronts.front[i].mail.notified_count = 0;
    }
}

static void append(const void *data, size_t bytes)
{
    uint8_t out[GW__SERVICE_REQUEST_MAX];
    size_t used =
        gw__service_request_applied(out, fronts.next_index++, data, bytes);
    ck_assert_uint_gt(used, 0);
    for (unsigned i = 0; i < FRONTS; i++)
        if (!(fronts.down >> i & 1))
            step(i, (struct gw__input){
                        .kind = GW__REQUESTED, .data = out, .bytes = used});
    if (!fronts.down)
        ck_assert_uint_eq(gw__registry_digest(fronts_registry(0)),
                          gw__registry_digest(fronts_registry(1)));
}

void fronts_append(const struct gw__command *command)
{
    uint8_t out[GW__COMMAND_BYTES_MAX];
    size_t bytes = gw__command_encode(command, out, sizeof out);
    ck_assert_uint_gt(bytes, 0);
    append(out, bytes);
}

unsigned fronts_commit(void)
{
    unsigned count = 0;
    struct gw__command command;
    for (unsigned i = 0; i < FRONTS; i++)
        for (; mail_command(&fronts.front[i].mail, &command); count++)
            fronts_append(&command);
    return count;
}

/* ---- messages ---- */

static struct gw__id client_of(unsigned node)
{
    return (struct gw__id){77, node + 1};
}

static void send(unsigned front, struct gw__process from, const void *data,
                 size_t bytes)
{
    step(front, (struct gw__input){.kind = GW__MESSAGE,
                                   .from = from.node,
                                   .incarnation = from.incarnation.low,
                                   .data = data,
                                   .bytes = bytes});
}

void fronts_request(unsigned front, unsigned node, uint64_t sequence,
                    struct gw__command command)
{
    uint8_t out[1 + GW__COMMAND_BYTES_MAX] = {GW__PROTOCOL_REQUEST};
    command.client = client_of(node);
    command.sequence = sequence;
    size_t bytes = gw__command_encode(&command, out + 1, sizeof out - 1);
    ck_assert_uint_gt(bytes, 0);
    send(front, fronts_process(node, 0), out, 1 + bytes);
}

bool fronts_reply(unsigned front, unsigned node, struct gw__reply *reply,
                  struct gw__answer *answer)
{
    struct mail *mail = &fronts.front[front].mail;
    const struct sent_message *message =
        mail_pop(mail, node, GW__PROTOCOL_ANSWER);
    if (!message)
        message = mail_pop(mail, node, GW__PROTOCOL_REDIRECT);
    if (!message)
        return false;
    ck_assert_int_eq(
        gw__reply_decode(message->data, message->bytes, reply, NULL), GW_OK);
    ck_assert(gw__id_equal(reply->client, client_of(node)));
    if (reply->protocol == GW__PROTOCOL_ANSWER)
        ck_assert_int_eq(
            gw__answer_decode(reply->answer, reply->answer_bytes, answer, NULL),
            GW_OK);
    return true;
}

void fronts_hello(unsigned front, struct gw__process who, uint64_t index,
                  uint64_t reports)
{
    uint8_t out[64];
    const struct gw__hello hello = {who.incarnation, index, node_set(reports),
                                    fronts.now_ns};
    size_t bytes = gw__hello_encode(&hello, out, sizeof out);
    send(front, who, out, bytes);
}

static void read_update(struct known *k, const struct sent_message *message,
                        struct gw__membership_update *update)
{
    enum gw_err err = GW_PENDING;
    struct gw__membership_update *next = &k->updates[k->count % KNOWN];
    for (unsigned i = 0; i < KNOWN && err == GW_PENDING; i++)
        err = gw__membership_update_decode(message->data, message->bytes,
                                           &k->updates[i], update, NULL);
    ck_assert_int_eq(err, GW_OK);
    if (k->count && k->updates[(k->count - 1) % KNOWN].index >= update->index)
        return;
    gw__membership_update_copy(next, update);
    k->count++;
}

bool fronts_update(unsigned front, unsigned node,
                   struct gw__membership_update *update)
{
    const struct sent_message *message =
        mail_pop(&fronts.front[front].mail, node, GW__PROTOCOL_UPDATE);
    if (message)
        read_update(&known[front], message, update);
    return message;
}

void fronts_clear(void)
{
    static struct gw__membership_update update;
    for (unsigned i = 0; i < FRONTS; i++) {
        struct mail *mail = &fronts.front[i].mail;
        for (unsigned k = 0; k < mail->sent_count; k++)
            if (mail->sent[k].data[0] == GW__PROTOCOL_UPDATE)
                read_update(&known[i], &mail->sent[k], &update);
        mail_clear(mail);
    }
}

/* ---- members ---- */

void fronts_ring_of(unsigned count)
{
    struct gw__command all = {.kind = GW__CMD_ADMIT};
    for (unsigned i = 0; i < count; i++) {
        struct gw__command join = {.kind = GW__CMD_REGISTER,
                                   .who = fronts_process(i, 0),
                                   .join = {GW__WORKER, true, "ipc://@w"}};
        all.admit.joiners[all.admit.count++] = join.who;
        fronts_append(&join);
    }
    fronts_append(&all);
    ck_assert_uint_eq(fronts_registry(0)->view.ring_count, count);
    fronts_clear();
}

void fronts_suspect(unsigned by, unsigned node)
{
    fronts_append(&(struct gw__command){
        .kind = GW__CMD_SUSPECT,
        .who = fronts_process(by, 0),
        .suspect = {.suspected = fronts_process(node, 0), .certain = true}});
}

void fronts_report(unsigned node, uint64_t op)
{
    struct gw__command c = {.kind = GW__CMD_REPORT,
                            .who = fronts_process(node, 0),
                            .flush = {.epoch = fronts_registry(0)->view.epoch}};
    c.flush.report.low_watermark = op;
    c.flush.report.op_count = 1;
    c.flush.report.ops[0] = hold_before(fronts_registry(0), 0, 0, 0);
    fronts_append(&c);
}

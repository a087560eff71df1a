/* SPDX-License-Identifier: MIT
 *
 * Two replicas of a registry; see registry_pair.h.
 */
#include "registry_pair.h"

#include <stdlib.h>

struct registry_pair pair;

void pair_setup(void)
{
    pair.first = calloc(1, sizeof *pair.first);
    pair.second = calloc(1, sizeof *pair.second);
    ck_assert(pair.first && pair.second);
    gw__registry_init(pair.first);
    gw__registry_init(pair.second);
    pair.next_index = pair.now_ms = 1;
}

void pair_teardown(void)
{
    free(pair.first);
    free(pair.second);
}

void pair_apply_bytes(const void *data, size_t bytes)
{
    uint8_t a[GW__ANSWER_BYTES_MAX], b[GW__ANSWER_BYTES_MAX];
    size_t used =
        gw__registry_apply(pair.first, data, bytes, pair.next_index, a);
    ck_assert_uint_eq(
        gw__registry_apply(pair.second, data, bytes, pair.next_index++, b),
        used);
    ck_assert_mem_eq(a, b, used);
    ck_assert_uint_eq(gw__registry_digest(pair.first),
                      gw__registry_digest(pair.second));
    ck_assert_int_eq(gw__answer_decode(a, used, &pair.answer, NULL), GW_OK);
}

enum gw_err pair_apply(struct gw__command command)
{
    uint8_t bytes[GW__COMMAND_BYTES_MAX];
    command.time_ms = pair.now_ms;
    size_t used = gw__command_encode(&command, bytes, sizeof bytes);
    ck_assert_uint_gt(used, 0);
    pair_apply_bytes(bytes, used);
    return pair.answer.code;
}

void pair_expect_text(const char *sentence)
{
    ck_assert_str_eq(pair.answer.text, sentence);
}

struct gw__process pair_process(unsigned node, unsigned life)
{
    return (struct gw__process){
        node, {.high = (100 + life) << GW__LIFE_BITS, .low = node}};
}

enum gw_err pair_join(unsigned node, unsigned life, enum gw__role role)
{
    return pair_apply(
        (struct gw__command){.kind = GW__CMD_REGISTER,
                             .who = pair_process(node, life),
                             .join = {role, role == GW__WORKER, "tcp://a:1"}});
}

enum gw_err pair_admit(unsigned node, unsigned life, uint64_t from_op)
{
    return pair_apply((struct gw__command){
        .kind = GW__CMD_ADMIT,
        .admit = {.from_op = from_op,
                  .count = 1,
                  .joiners = {pair_process(node, life)},
                  .ring_epoch = pair.first->view.ring_epoch}});
}

void pair_ring_of(unsigned count)
{
    struct gw__command all = {.kind = GW__CMD_ADMIT};
    for (unsigned i = 0; i < count; i++) {
        ck_assert_int_eq(pair_join(i, 0, GW__WORKER), GW_OK);
        all.admit.joiners[all.admit.count++] = pair_process(i, 0);
    }
    ck_assert_int_eq(pair_apply(all), GW_OK);
    ck_assert_uint_eq(pair.first->view.epoch, 1);
}

enum gw_err pair_suspect(struct gw__process by, struct gw__process whom,
                         bool certain)
{
    return pair_apply((struct gw__command){
        .kind = GW__CMD_SUSPECT,
        .who = by,
        .suspect = {.suspected = whom, .certain = certain}});
}

enum gw_err pair_leave(unsigned node)
{
    return pair_apply((struct gw__command){.kind = GW__CMD_LEAVE,
                                           .who = pair_process(node, 0)});
}

enum gw_err pair_deadline(uint64_t epoch)
{
    return pair_apply(
        (struct gw__command){.kind = GW__CMD_DEADLINE, .epoch = epoch});
}

enum gw_err pair_report(unsigned node, uint64_t op, uint64_t set0,
                        uint64_t set1, uint64_t finals)
{
    struct gw__command c = {.kind = GW__CMD_REPORT,
                            .who = pair_process(node, 0),
                            .flush = {.epoch = pair.first->view.epoch}};
    struct gw__holdings *held = &c.flush.report.ops[0];
    c.flush.report.low_watermark = op;
    c.flush.report.op_count = 1;
    held->chunks = held->members = pair.first->flush.before_count;
    for (unsigned i = 0; i < held->chunks; i++) {
        held->sets[i] = i == 0 ? set0 : set1;
        held->finals[0] |= (finals >> (i > 0) & 1) << i;
    }
    return pair_apply(c);
}

void pair_ring_is(unsigned count, const unsigned *nodes)
{
    ck_assert_uint_eq(pair.first->view.ring_count, count);
    for (unsigned i = 0; i < count; i++) {
        ck_assert_uint_eq(pair.first->view.ring[i].node, nodes[i]);
        ck_assert_int_eq(gw__view_rank(&pair.first->view, nodes[i]), (int)i);
    }
}

/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the inputs of the registry: the bytes of commands, of answers and of
 * snapshots. Any bytes are either refused or valid; and after any commands a
 * snapshot restores the state.
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_registry.c
 *
 * The input is a list of pieces. A piece begins with a byte: below 224 it is
 * the kind of a command whose fields are drawn from the next bytes, small so
 * that they collide; above, the next bytes are a raw command.
 */
#include <cluster/registry/registry.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct gw__registry state, restored;
static uint8_t snapshot[1 << 20];
enum { RAW = 224, RAW_BYTES = 80 };

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static struct gw__process draw_process(struct gw__reader *r)
{
    unsigned x = gw__get_u8(r);
    return (struct gw__process){x % 9 ? x % 9 : 70, {1, 1 + x / 9 % 2}};
}

static void draw_report(struct gw__reader *r, struct gw__report *report)
{
    report->low_watermark = gw__get_u8(r) % 4;
    report->op_count = gw__get_u8(r) % 3;
    for (unsigned i = 0; i < report->op_count; i++) {
        static const unsigned nodes[] = {1, 2, 3, 4, 5, 6, 7, 8};
        const struct gw__places places = {1 + gw__get_u8(r) % 8, nodes};
        struct gw__held_chunk held[8];
        for (unsigned c = 0; c < places.count; c++) {
            held[c].set = (struct gw_nodes){{2U + 2U * gw__get_u8(r)}};
            held[c].final = gw__get_u8(r) % 2;
        }
        gw__holdings_pack(&report->ops[i], &places, held, places.count);
    }
}

/* Mostly of a slot in its present state. */
static void draw_slot(struct gw__reader *r, struct gw__command *c)
{
    unsigned number = gw__get_u8(r) % 8, other = gw__get_u8(r);
    const struct gw__slot_route *slot = &state.routes.slots[number];
    c->slot.slot = number;
    c->slot.term = other & 1 ? slot->term : other;
    c->slot.node = c->kind == GW__CMD_PROMOTE ? slot->learner : slot->successor;
    if (other & 2)
        c->slot.node = other % 8;
    if (slot->primary != GW__NO_NODE)
        c->who = (struct gw__process){slot->primary,
                                      state.members[slot->primary].incarnation};
}

static void draw_body(struct gw__reader *r, struct gw__command *c)
{
    unsigned how;
    switch (c->kind) {
    case GW__CMD_REGISTER:
        c->join.role = (enum gw__role)(gw__get_u8(r) % GW__ROLES);
        c->join.ring = c->join.role == GW__WORKER;
        break;
    case GW__CMD_ADMIT:
        c->admit.from_op = gw__get_u8(r) % 4;
        c->admit.ring_epoch = gw__get_u8(r) % 4;
        c->admit.count = gw__get_u8(r) % 4;
        for (unsigned i = 0; i < c->admit.count; i++)
            c->admit.joiners[i] = draw_process(r);
        c->admit.order = (struct gw__order){2, {3, 1}};
        break;
    case GW__CMD_SUSPECT:
        c->suspect.suspected = draw_process(r);
        how = gw__get_u8(r);
        c->suspect.certain = how & 1;
        c->suspect.alone = how & 2;
        c->suspect.more_count = how & 1 ? how / 4 % 3 : 0;
        for (unsigned i = 0; i < c->suspect.more_count; i++)
            c->suspect.more[i] = draw_process(r);
        break;
    case GW__CMD_REPORT:
        c->flush.epoch = gw__get_u8(r) & 1 ? state.view.epoch : gw__get_u8(r);
        draw_report(r, &c->flush.report);
        break;
    case GW__CMD_DEADLINE:
        c->epoch = gw__get_u8(r) & 1 ? state.view.epoch : 3;
        break;
    case GW__CMD_ROUTES:
        c->routes.slots = 1 + gw__get_u8(r) % 8;
        c->routes.replicas = 1 + gw__get_u8(r) % 3;
        c->routes.servers = 1 + gw__get_u8(r) % 3;
        break;
    case GW__CMD_TABLE:
        c->table.name[0] = (char)('a' + gw__get_u8(r) % 20);
        c->table.width = gw__get_u8(r);
        break;
    case GW__CMD_PLACE:
        memset(c->advice.node, GW__NO_NODE, sizeof c->advice.node);
        c->advice.slots = gw__get_u8(r) % 9;
        for (unsigned i = 0; i < c->advice.slots; i++)
            c->advice.node[i][0] = gw__get_u8(r) % 4;
        break;
    case GW__CMD_PROMOTE:
    case GW__CMD_HANDOVER:
        draw_slot(r, c);
        break;
    default:
        break;
    }
}

static size_t draw(struct gw__reader *r, unsigned kind, uint8_t *out)
{
    struct gw__command c = {
        .kind = (enum gw__command_kind)(kind % GW__COMMAND_KINDS)};
    c.time_ms = state.time_ms + gw__get_u8(r) * 100U;
    c.client.low = gw__get_u8(r) % 3;
    c.sequence = gw__get_u8(r);
    c.who = draw_process(r);
    draw_body(r, &c);
    return gw__command_encode(&c, out, GW__COMMAND_BYTES_MAX);
}

static void try_commands(const uint8_t *bytes, size_t size)
{
    struct gw__reader r = gw__reader_on(bytes, size);
    uint8_t command[GW__COMMAND_BYTES_MAX], out[GW__ANSWER_BYTES_MAX];
    struct gw__answer answer;
    gw__registry_init(&state);
    while (r.left > 0) {
        unsigned kind = gw__get_u8(&r);
        size_t used = r.left < RAW_BYTES ? r.left : RAW_BYTES;
        if (kind < RAW)
            used = draw(&r, kind, command);
        else
            gw__get_bytes(&r, command, used);
        used = gw__registry_apply(&state, command, used, state.index + 1, out);
        expect(gw__answer_decode(out, used, &answer, NULL) == GW_OK);
        expect(answer.code == GW_OK || answer.text[0]);
    }
    size_t used = gw__registry_snapshot(&state, snapshot, sizeof snapshot);
    expect(used <= sizeof snapshot);
    expect(gw__registry_restore(&restored, snapshot, used, NULL) == GW_OK);
    expect(gw__registry_digest(&state) == gw__registry_digest(&restored));
}

static void try_bytes(const uint8_t *bytes, size_t size)
{
    static uint8_t again[GW__COMMAND_BYTES_MAX];
    struct gw__command command;
    struct gw__answer answer;
    if (!gw__command_decode(bytes, size, &command, NULL)) {
        expect(gw__command_encode(&command, again, sizeof again) == size);
        expect(memcmp(again, bytes, size) == 0);
    }
    if (!gw__answer_decode(bytes, size, &answer, NULL))
        expect(gw__answer_encode(&answer, again) == size);
    if (!gw__registry_restore(&restored, bytes, size, NULL))
        expect(gw__registry_digest(&restored) == gw_hash(bytes, size, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    try_bytes(bytes, size);
    try_commands(bytes, size);
    return 0;
}

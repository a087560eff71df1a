/* SPDX-License-Identifier: MIT
 *
 * Encodes and decodes commands; see command.h. Each kind has one line in each
 * of the two switches, which handle its fields in the same order.
 */
#include "command.h"

#include <stddef.h>
#include <string.h>

enum { MAGIC = 'G' | 'R' << 8, VERSION = 8 };

static const char *const names[GW__COMMAND_KINDS] = {
#define X(kind, name) name,
    GW__COMMANDS(X)
#undef X
};

/* The report is larger than all others but the lists of ADMIT. */
void gw__command_clear(struct gw__command *command)
{
    memset(command, 0,
           offsetof(struct gw__command, flush) + sizeof command->flush);
}

const char *gw__command_name(enum gw__command_kind kind)
{
    return kind < GW__COMMAND_KINDS ? names[kind] : "?";
}

const char *gw__role_name(enum gw__role role)
{
    static const char *const roles[GW__ROLES] = {
        [GW__WORKER] = "worker",         [GW__SERVER] = "server",
        [GW__CONTROLLER] = "controller", [GW__OBSERVER] = "observer",
        [GW__AGGREGATOR] = "aggregator",
    };
    return role < GW__ROLES ? roles[role] : "?";
}

void gw__put_process(struct gw__writer *w, struct gw__process who)
{
    gw__put_node(w, who.node);
    gw__put_id(w, who.incarnation);
}

struct gw__process gw__get_process(struct gw__reader *r)
{
    unsigned node = gw__get_u16(r);
    return (struct gw__process){.node = node, .incarnation = gw__get_id(r)};
}

static bool names_a_process(enum gw__command_kind kind)
{
    switch (kind) {
    case GW__CMD_ADMIT:
    case GW__CMD_DEADLINE:
    case GW__CMD_ROUTES:
    case GW__CMD_TABLE:
    case GW__CMD_PLACE:
        return false;
    default:
        return true;
    }
}

static void put_admit(struct gw__writer *w, const struct gw__command *c)
{
    gw__put_u64(w, c->admit.from_op);
    gw__put_u64(w, c->admit.ring_epoch);
    gw__put_u16(w, c->admit.count);
    for (unsigned i = 0; i < c->admit.count; i++)
        gw__put_process(w, c->admit.joiners[i]);
    gw__put_order(w, &c->admit.order);
}

static void get_admit(struct gw__reader *r, struct gw__command *c)
{
    c->admit.from_op = gw__get_u64(r);
    c->admit.ring_epoch = gw__get_u64(r);
    c->admit.count = gw__get_u16_below(r, GW__NODES_MAX + 1);
    for (unsigned i = 0; i < c->admit.count; i++)
        c->admit.joiners[i] = gw__get_process(r);
    gw__get_order(r, &c->admit.order);
}

static void put_suspect(struct gw__writer *w, const struct gw__command *c)
{
    gw__put_process(w, c->suspect.suspected);
    gw__put_u8(w, c->suspect.certain);
    gw__put_u8(w, c->suspect.alone);
    gw__put_u8(w, c->suspect.more_count);
    for (unsigned i = 0; i < c->suspect.more_count; i++)
        gw__put_process(w, c->suspect.more[i]);
}

static void get_suspect(struct gw__reader *r, struct gw__command *c)
{
    c->suspect.suspected = gw__get_process(r);
    c->suspect.certain = gw__get_bool(r);
    c->suspect.alone = gw__get_bool(r);
    c->suspect.more_count = gw__get_u8_below(r, GW__SUSPECT_MORE_MAX + 1);
    gw__reader_demand(r, c->suspect.certain || c->suspect.more_count == 0);
    for (unsigned i = 0; i < c->suspect.more_count; i++)
        c->suspect.more[i] = gw__get_process(r);
}

static void put_body(struct gw__writer *w, const struct gw__command *c)
{
    switch (c->kind) {
    case GW__CMD_REGISTER:
        gw__put_u8(w, c->join.role);
        gw__put_u8(w, c->join.ring);
        gw__put_text(w, c->join.endpoint);
        break;
    case GW__CMD_ADMIT:
        put_admit(w, c);
        break;
    case GW__CMD_SUSPECT:
        put_suspect(w, c);
        break;
    case GW__CMD_REPORT:
        gw__put_u64(w, c->flush.epoch);
        gw__put_report(w, &c->flush.report);
        break;
    case GW__CMD_DEADLINE:
        gw__put_u64(w, c->epoch);
        break;
    case GW__CMD_ROUTES:
        gw__put_u16(w, c->routes.slots);
        gw__put_u8(w, c->routes.replicas);
        gw__put_u16(w, c->routes.servers);
        break;
    case GW__CMD_TABLE:
        gw__put_table(w, &c->table);
        break;
    case GW__CMD_PLACE:
        gw__put_advice(w, &c->advice);
        break;
    case GW__CMD_PROMOTE:
    case GW__CMD_HANDOVER:
        gw__put_u8(w, c->slot.slot);
        gw__put_u64(w, c->slot.term);
        gw__put_node(w, c->slot.node);
        break;
    default: /* LEAVE and DRAIN have no body */
        break;
    }
}

static void get_body(struct gw__reader *r, struct gw__command *c)
{
    switch (c->kind) {
    case GW__CMD_REGISTER:
        c->join.role = (enum gw__role)gw__get_u8_below(r, GW__ROLES);
        c->join.ring = gw__get_bool(r);
        gw__get_text(r, c->join.endpoint, sizeof c->join.endpoint);
        break;
    case GW__CMD_ADMIT:
        get_admit(r, c);
        break;
    case GW__CMD_SUSPECT:
        get_suspect(r, c);
        break;
    case GW__CMD_REPORT:
        c->flush.epoch = gw__get_u64(r);
        gw__get_report(r, &c->flush.report);
        break;
    case GW__CMD_DEADLINE:
        c->epoch = gw__get_u64(r);
        break;
    case GW__CMD_ROUTES:
        c->routes.slots = gw__get_u16(r);
        c->routes.replicas = gw__get_u8(r);
        c->routes.servers = gw__get_u16(r);
        break;
    case GW__CMD_TABLE:
        gw__get_table(r, &c->table);
        break;
    case GW__CMD_PLACE:
        gw__get_advice(r, &c->advice);
        break;
    case GW__CMD_PROMOTE:
    case GW__CMD_HANDOVER:
        c->slot.slot = gw__get_u8(r);
        c->slot.term = gw__get_u64(r);
        c->slot.node = gw__get_u16(r);
        break;
    default:
        break;
    }
}

static void put_command(struct gw__writer *w, const struct gw__command *c,
                        size_t bytes)
{
    gw__put_u16(w, MAGIC);
    gw__put_u8(w, VERSION);
    gw__put_u8(w, c->kind);
    gw__put_u32(w, (uint32_t)bytes);
    gw__put_u64(w, c->time_ms);
    gw__put_id(w, c->client);
    gw__put_u64(w, c->sequence);
    if (names_a_process(c->kind))
        gw__put_process(w, c->who);
    put_body(w, c);
}

size_t gw__command_encode(const struct gw__command *c, void *out, size_t room)
{
    struct gw__writer measure = gw__writer_on(NULL, 0);
    put_command(&measure, c, 0);
    struct gw__writer w = gw__writer_on(out, room);
    put_command(&w, c, measure.used);
    return gw__writer_fits(&w) ? w.used : 0;
}

/* The part before the body; false for another version. */
static bool get_head(struct gw__reader *r, size_t bytes, struct gw__command *c)
{
    gw__reader_demand(r, gw__get_u16(r) == MAGIC);
    unsigned version = gw__get_u8(r);
    if (!r->bad && version != VERSION)
        return false;
    c->kind = (enum gw__command_kind)gw__get_u8_below(r, GW__COMMAND_KINDS);
    gw__reader_demand(r, gw__get_u32(r) == bytes);
    c->time_ms = gw__get_u64(r);
    c->client = gw__get_id(r);
    c->sequence = gw__get_u64(r);
    if (names_a_process(c->kind))
        c->who = gw__get_process(r);
    return true;
}

enum gw_err gw__command_decode(const void *data, size_t bytes,
                               struct gw__command *command,
                               struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    gw__command_clear(command);
    if (!get_head(&r, bytes, command))
        return gw_fail(why, GW_EDATA, "the command is not of version %d",
                       VERSION);
    get_body(&r, command);
    if (!gw__reader_done(&r))
        return gw_fail(why, GW_EDATA, "malformed command of %zu bytes", bytes);
    return GW_OK;
}

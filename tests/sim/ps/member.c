/* SPDX-License-Identifier: MIT
 *
 * Shared by servers and workers: they send HELLO to the consensus node and
 * receive its bulletins.
 */
#include "ps_simulation.h"

void member_start(struct member *m, const struct gw__input *input,
                  struct ps_simulation *cluster)
{
    m->cluster = cluster;
    m->node = input->from;
    m->incarnation = input->incarnation;
    m->box.incarnation = input->incarnation;
    m->hello_ns = input->now_ns;
}

bool member_bulletin(struct member *m, const struct gw__input *input)
{
    struct bulletin bulletin;
    if (input->bytes != sizeof bulletin)
        return false;
    memcpy(&bulletin, input->data, sizeof bulletin);
    if (bulletin.version <= m->bulletin.version)
        return false;
    m->bulletin = bulletin;
    m->update.index = bulletin.version;
    struct gw__reader routes =
        gw__reader_on(bulletin.routes, bulletin.route_bytes);
    gw__get_routes(&routes, &m->update.routes);
    m->update.view.epoch = bulletin.version;
    m->update.ps_member_count = bulletin.member_count;
    for (unsigned i = 0; i < bulletin.member_count; i++) {
        struct gw__ps_member *ps_members = &m->update.ps_members[i];
        ps_members->node = bulletin.members[i].node;
        ps_members->role = bulletin.members[i].role;
        ps_members->incarnation =
            (struct gw__id){1, bulletin.members[i].incarnation};
    }
    return true;
}

void member_send(void *member, const struct gw__message_out *message)
{
    const struct member *m = member;
    message_send(&m->box, message);
}

void member_hello(struct member *m)
{
    const struct hello hello = {MESSAGE_HELLO, m->now_ns, m->bulletin.version};
    if (m->now_ns < m->hello_ns)
        return;
    m->hello_ns = m->now_ns + HELLO_MS * MS;
    m->box.act->send(m->box.act->driver, CONSENSUS, &hello, sizeof hello);
}

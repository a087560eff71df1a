/* SPDX-License-Identifier: MIT
 *
 * See raft_message.h. Entries of one message are in one allocation, their
 * `batch`, as libraft requires; their lengths are multiples of 8, so that each
 * is aligned there.
 */
#include "raft_message.h"

#include <string.h>

static const uint32_t magic = 0x31727767; /* "gwr1": includes the version */

enum { ENTRY_HEAD = 8 + 1 + 4, ADDRESS_MAX = 256, SERVERS_MAX = 64 };

/* ---- writing ---- */

static unsigned entries_that_fit(const struct raft_append_entries *a)
{
    size_t bytes = 0;
    unsigned count = 0;
    while (count < a->n_entries) {
        bytes += ENTRY_HEAD + a->entries[count].buf.len;
        if (count > 0 && bytes > GW__RAFT_ENTRIES_BYTES)
            break;
        count++;
    }
    return count;
}

static void put_entries(struct gw__writer *w,
                        const struct raft_append_entries *a, bool *whole)
{
    unsigned count = entries_that_fit(a);
    *whole = count == a->n_entries;
    gw__put_u64(w, a->term);
    gw__put_u64(w, a->prev_log_index);
    gw__put_u64(w, a->prev_log_term);
    gw__put_u64(w, a->leader_commit);
    gw__put_u32(w, count);
    for (unsigned i = 0; i < count; i++) {
        gw__put_u64(w, a->entries[i].term);
        gw__put_u8(w, a->entries[i].type);
        gw__put_u32(w, (uint32_t)a->entries[i].buf.len);
    }
    for (unsigned i = 0; i < count; i++)
        gw__put_bytes(w, a->entries[i].buf.base, a->entries[i].buf.len);
}

static void put_snapshot(struct gw__writer *w,
                         const struct raft_install_snapshot *s)
{
    gw__put_u64(w, s->term);
    gw__put_u64(w, s->last_index);
    gw__put_u64(w, s->last_term);
    gw__put_u64(w, s->conf_index);
    gw__put_u8(w, s->conf.n);
    for (unsigned i = 0; i < s->conf.n; i++) {
        gw__put_u64(w, s->conf.servers[i].id);
        gw__put_u8(w, (unsigned)s->conf.servers[i].role);
        gw__put_text(w, s->conf.servers[i].address);
    }
    gw__put_u32(w, (uint32_t)s->data.len);
    gw__put_bytes(w, s->data.base, s->data.len);
}

static void put_vote(struct gw__writer *w, const struct raft_request_vote *v)
{
    gw__put_u64(w, v->term);
    gw__put_u64(w, v->candidate_id);
    gw__put_u64(w, v->last_log_index);
    gw__put_u64(w, v->last_log_term);
    gw__put_u8(w, v->disrupt_leader);
    gw__put_u8(w, v->pre_vote);
}

static void put_three(struct gw__writer *w, uint64_t a, uint64_t b, uint64_t c)
{
    gw__put_u64(w, a);
    gw__put_u64(w, b);
    gw__put_u64(w, c);
}

/* False: unknown type. */
static bool put_body(struct gw__writer *w, const struct raft_message *m,
                     bool *whole)
{
    switch (m->type) {
    case RAFT_IO_REQUEST_VOTE:
        put_vote(w, &m->request_vote);
        return true;
    case RAFT_IO_REQUEST_VOTE_RESULT:
        gw__put_u64(w, m->request_vote_result.term);
        gw__put_u8(w, m->request_vote_result.vote_granted);
        gw__put_u8(w, m->request_vote_result.pre_vote);
        return true;
    case RAFT_IO_APPEND_ENTRIES:
        put_entries(w, &m->append_entries, whole);
        return true;
    case RAFT_IO_APPEND_ENTRIES_RESULT:
        put_three(w, m->append_entries_result.term,
                  m->append_entries_result.rejected,
                  m->append_entries_result.last_log_index);
        return true;
    case RAFT_IO_INSTALL_SNAPSHOT:
        put_snapshot(w, &m->install_snapshot);
        return m->install_snapshot.conf.n <= SERVERS_MAX;
    case RAFT_IO_TIMEOUT_NOW:
        put_three(w, m->timeout_now.term, m->timeout_now.last_log_index,
                  m->timeout_now.last_log_term);
        return true;
    default:
        return false;
    }
}

size_t gw__raft_message_encode(const struct raft_message *message, void *out,
                               size_t room, bool *whole)
{
    struct gw__writer w = gw__writer_on(out, room);
    *whole = true;
    gw__put_u32(&w, magic);
    gw__put_u8(&w, message->type);
    bool good = put_body(&w, message, whole);
    return good && gw__writer_fits(&w) ? w.used : 0;
}

/* ---- reading ---- */

/* Memory that libraft may free; NULL: invalid or out of memory. */
static void *copy_payload(struct gw__reader *r, size_t bytes, bool *nomem)
{
    gw__reader_demand(r, bytes > 0 && bytes <= r->left);
    void *data = r->bad ? NULL : raft_malloc(bytes);
    if (data)
        gw__get_bytes(r, data, bytes);
    else
        *nomem |= !r->bad;
    return data;
}

/* Terms, types and lengths; returns the bytes of all entries. */
static size_t get_entry_heads(struct gw__reader *r,
                              struct raft_append_entries *a)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < a->n_entries; i++) {
        struct raft_entry *entry = &a->entries[i];
        entry->term = gw__get_u64(r);
        entry->type = (unsigned short)gw__get_u8_below(r, RAFT_CHANGE + 1);
        entry->buf.len = gw__get_u32(r);
        gw__reader_demand(r, entry->term > 0 && entry->type > 0 &&
                                 entry->buf.len > 0 && entry->buf.len % 8 == 0);
        bytes += entry->buf.len;
    }
    return bytes;
}

static void get_entries(struct gw__reader *r, struct raft_append_entries *a,
                        bool *nomem)
{
    a->term = gw__get_u64(r);
    a->prev_log_index = gw__get_u64(r);
    a->prev_log_term = gw__get_u64(r);
    a->leader_commit = gw__get_u64(r);
    a->n_entries = gw__get_u32(r);
    gw__reader_demand(r, a->n_entries <= r->left / ENTRY_HEAD);
    if (r->bad || a->n_entries == 0)
        return;
    a->entries = raft_calloc(a->n_entries, sizeof *a->entries);
    if (!a->entries) {
        *nomem = true;
        return;
    }
    size_t bytes = get_entry_heads(r, a);
    uint8_t *at = copy_payload(r, bytes, nomem);
    a->entries[0].batch = at;
    for (unsigned i = 0; at && i < a->n_entries; i++) {
        a->entries[i].batch = a->entries[0].batch;
        a->entries[i].buf.base = at;
        at += a->entries[i].buf.len;
    }
}

/* libraft refuses repeated numbers and addresses. */
static void get_configuration(struct gw__reader *r,
                              struct raft_configuration *all)
{
    unsigned count = gw__get_u8_below(r, SERVERS_MAX + 1);
    raft_configuration_init(all);
    for (unsigned i = 0; i < count && !r->bad; i++) {
        char address[ADDRESS_MAX];
        raft_id id = gw__get_u64(r);
        int role = (int)gw__get_u8_below(r, RAFT_SPARE + 1);
        gw__get_text(r, address, sizeof address);
        gw__reader_demand(r, id > 0 && address[0]);
        if (!r->bad)
            gw__reader_demand(
                r, raft_configuration_add(all, id, address, role) == 0);
    }
}

static void get_snapshot(struct gw__reader *r, struct raft_install_snapshot *s,
                         bool *nomem)
{
    s->term = gw__get_u64(r);
    s->last_index = gw__get_u64(r);
    s->last_term = gw__get_u64(r);
    s->conf_index = gw__get_u64(r);
    get_configuration(r, &s->conf);
    s->data.len = gw__get_u32(r);
    s->data.base = copy_payload(r, s->data.len, nomem);
}

static void get_vote(struct gw__reader *r, struct raft_request_vote *v)
{
    v->term = gw__get_u64(r);
    v->candidate_id = gw__get_u64(r);
    v->last_log_index = gw__get_u64(r);
    v->last_log_term = gw__get_u64(r);
    v->disrupt_leader = gw__get_bool(r);
    v->pre_vote = gw__get_bool(r);
}

static void get_body(struct gw__reader *r, struct raft_message *m, bool *nomem)
{
    switch (m->type) {
    case RAFT_IO_REQUEST_VOTE:
        get_vote(r, &m->request_vote);
        break;
    case RAFT_IO_REQUEST_VOTE_RESULT:
        m->request_vote_result.term = gw__get_u64(r);
        m->request_vote_result.vote_granted = gw__get_bool(r);
        m->request_vote_result.pre_vote =
            (raft_tribool)gw__get_u8_below(r, raft_tribool_false + 1);
        break;
    case RAFT_IO_APPEND_ENTRIES:
        get_entries(r, &m->append_entries, nomem);
        break;
    case RAFT_IO_APPEND_ENTRIES_RESULT:
        m->append_entries_result.term = gw__get_u64(r);
        m->append_entries_result.rejected = gw__get_u64(r);
        m->append_entries_result.last_log_index = gw__get_u64(r);
        break;
    case RAFT_IO_INSTALL_SNAPSHOT:
        get_snapshot(r, &m->install_snapshot, nomem);
        break;
    case RAFT_IO_TIMEOUT_NOW:
        m->timeout_now.term = gw__get_u64(r);
        m->timeout_now.last_log_index = gw__get_u64(r);
        m->timeout_now.last_log_term = gw__get_u64(r);
        break;
    default:
        gw__reader_demand(r, false);
    }
}

enum gw_err gw__raft_message_decode(const void *data, size_t bytes,
                                    struct raft_message *message,
                                    struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    bool nomem = false;
    memset(message, 0, sizeof *message);
    gw__reader_demand(&r, gw__get_u32(&r) == magic);
    message->type = (unsigned short)gw__get_u8(&r);
    get_body(&r, message, &nomem);
    if (!nomem && gw__reader_done(&r))
        return GW_OK;
    gw__raft_message_drop(message);
    return nomem ? gw_fail(why, GW_ENOMEM, "a controller's message")
                 : gw_fail(why, GW_EDATA,
                           "malformed message of %zu bytes to the log", bytes);
}

void gw__raft_message_drop(struct raft_message *message)
{
    if (message->type == RAFT_IO_APPEND_ENTRIES) {
        struct raft_append_entries *a = &message->append_entries;
        if (a->entries && a->n_entries > 0)
            raft_free(a->entries[0].batch);
        raft_free(a->entries);
    } else if (message->type == RAFT_IO_INSTALL_SNAPSHOT) {
        raft_configuration_close(&message->install_snapshot.conf);
        raft_free(message->install_snapshot.data.base);
    }
}

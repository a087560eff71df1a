/* SPDX-License-Identifier: MIT
 *
 * How the messages of a mailbox move.
 *
 *     receive posted -> header of its source requested -> header here
 *         -> bytes requested, into the buffer of the first receive that
 *            matches, else into memory of the mailbox -> done
 *
 * A rank that leaves sends a last header. Without it a rank that has requested
 * a header, because it receives from any source, would take the end of the
 * communicator for a loss.
 */
#include "mailbox_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOODBYE_TAG INT64_MIN

/* ---- failures ---- */

void mailbox_fail_all(struct mailbox *m, const struct gw_error *error)
{
    m->failed = *error;
    for (unsigned i = 0; i < gw_comm_size(m->comm); i++) {
        struct source *source = &m->sources[i];
        if (source->target && source->is_kept)
            free(source->target);
        else if (source->target)
            message_finish(source->target, error->code, error->text, (int)i);
        source->target = NULL;
        source->header_request = source->data_request = NULL;
    }
    message_list_fail(&m->sends, error);
    message_list_fail(&m->receives, error);
}

/* True: the request is done, or there is none. */
static bool test(struct mailbox *m, struct gw_request **request)
{
    if (!*request)
        return true;
    enum gw_err code = gw_test(request);
    if (code && code != GW_PENDING && !m->failed.code)
        mailbox_fail_all(m, gw_comm_error(m->comm));
    return code == GW_OK;
}

static bool start(struct mailbox *m, enum gw_err code)
{
    if (code && !m->failed.code) {
        struct gw_error error = *gw_comm_error(m->comm);
        if (!error.code)
            gw_fail(&error, code, "a message");
        mailbox_fail_all(m, &error);
    }
    return code == GW_OK;
}

/* The peer has left before this message. */
static void finish_for_absent(struct message *message, int peer)
{
    char text[64];
    snprintf(text, sizeof text, "rank %d has left the process group", peer);
    message_finish(message, GW_ECLOSED, text, peer);
}

/* ---- sending ---- */

static bool start_send(struct mailbox *m, struct message *s)
{
    s->started = true;
    return start(m, gw_send_start(m->comm, &s->header, sizeof s->header, GW_U8,
                                  (unsigned)s->peer, &s->requests[0])) &&
           (s->bytes == 0 ||
            start(m, gw_send_start(m->comm, s->data, s->bytes, GW_U8,
                                   (unsigned)s->peer, &s->requests[1])));
}

bool mailbox_advance_sends(struct mailbox *m)
{
    bool moved = false;
    for (struct message *s = m->sends.first, *next; s && !m->failed.code;
         s = next) {
        next = s->next;
        if (!s->started && m->sources[s->peer].has_left) {
            message_list_remove(&m->sends, s);
            finish_for_absent(s, s->peer);
            continue;
        }
        if (!s->started && !start_send(m, s))
            return true;
        if (!test(m, &s->requests[0]) || !test(m, &s->requests[1]))
            continue;
        message_list_remove(&m->sends, s);
        message_finish(s, GW_OK, "", s->peer);
        moved = true;
    }
    return moved;
}

/* ---- receiving ---- */

static struct message *find_receive(struct mailbox *m, int peer, int64_t tag)
{
    for (struct message *r = m->receives.first; r; r = r->next)
        if ((r->peer == peer || r->peer == MAILBOX_ANY_SOURCE) && r->tag == tag)
            return r;
    return NULL;
}

static bool wants_from(const struct mailbox *m, int peer)
{
    for (const struct message *r = m->receives.first; r; r = r->next)
        if (r->peer == peer || r->peer == MAILBOX_ANY_SOURCE)
            return true;
    return false;
}

static void refuse_length(struct message *receive, size_t bytes, int peer)
{
    char text[128];
    snprintf(text, sizeof text,
             "rank %d sent %zu bytes, but the receive is of %zu bytes", peer,
             bytes, receive->bytes);
    message_finish(receive, GW_EMISMATCH, text, peer);
}

/* Chooses the memory for the message whose header is here. */
static bool choose_target(struct mailbox *m, struct source *source, int peer)
{
    const struct message_header *header = &source->header;
    struct message *receive = find_receive(m, peer, header->tag);
    if (receive)
        message_list_remove(&m->receives, receive);
    if (receive && receive->bytes == header->bytes) {
        source->target = receive;
        source->is_kept = false;
        return true;
    }
    if (receive)
        refuse_length(receive, header->bytes, peer);
    struct message *kept = calloc(1, sizeof *kept + header->bytes);
    if (!kept)
        return start(m, GW_ENOMEM);
    kept->data = kept + 1;
    kept->bytes = header->bytes;
    kept->peer = peer;
    kept->tag = receive ? -1 : (int)header->tag; /* refused: for no receive */
    source->target = kept;
    source->is_kept = true;
    return true;
}

static void complete(struct mailbox *m, struct source *source, int peer)
{
    struct message *target = source->target;
    source->target = NULL;
    if (!source->is_kept)
        message_finish(target, GW_OK, "", peer);
    else if (target->tag < 0)
        free(target);
    else
        message_list_append(&m->kept, target);
}

static bool on_header(struct mailbox *m, struct source *source, int peer)
{
    if (source->header.tag == GOODBYE_TAG) {
        source->has_left = true;
        return true;
    }
    if (!choose_target(m, source, peer))
        return true;
    if (source->header.bytes == 0)
        complete(m, source, peer);
    else
        start(m,
              gw_recv_start(m->comm, source->target->data, source->header.bytes,
                            GW_U8, (unsigned)peer, &source->data_request));
    return true;
}

static bool advance_source(struct mailbox *m, int peer)
{
    struct source *source = &m->sources[peer];
    if (source->data_request) {
        if (!test(m, &source->data_request) || m->failed.code)
            return false;
        complete(m, source, peer);
        return true;
    }
    if (source->header_request)
        return test(m, &source->header_request) && !m->failed.code &&
               on_header(m, source, peer);
    if (!source->has_left && wants_from(m, peer))
        start(m, gw_recv_start(m->comm, &source->header, sizeof source->header,
                               GW_U8, (unsigned)peer, &source->header_request));
    return false;
}

/* A rank from which this message may still come, or -1. */
static int possible_source(const struct mailbox *m, const struct message *r)
{
    int own = (int)gw_comm_rank(m->comm), size = (int)gw_comm_size(m->comm);
    for (int i = 0; i < size; i++)
        if (i != own && (r->peer == i || r->peer == MAILBOX_ANY_SOURCE) &&
            !m->sources[i].has_left)
            return i;
    return -1;
}

/* Receives for which nothing can come. */
static void fail_receives_of_absent(struct mailbox *m)
{
    int last = gw_comm_rank(m->comm) == 0 ? 1 : 0;
    for (struct message *r = m->receives.first, *next; r; r = next) {
        next = r->next;
        if (possible_source(m, r) >= 0)
            continue;
        message_list_remove(&m->receives, r);
        finish_for_absent(r, r->peer >= 0 ? r->peer : last);
    }
}

bool mailbox_advance_receives(struct mailbox *m)
{
    bool moved = false;
    unsigned own = gw_comm_rank(m->comm);
    for (unsigned i = 0; i < gw_comm_size(m->comm) && !m->failed.code; i++)
        if (i != own)
            moved |= advance_source(m, (int)i);
    fail_receives_of_absent(m);
    return moved;
}

bool mailbox_is_receiving(const struct mailbox *m)
{
    for (unsigned i = 0; i < gw_comm_size(m->comm); i++)
        if (m->sources[i].target)
            return true;
    return false;
}

/* Only as far as it goes without waiting. */
void mailbox_send_goodbye(struct mailbox *m)
{
    static const struct message_header goodbye = {.tag = GOODBYE_TAG};
    enum { TRIES = 100 };
    for (unsigned i = 0; i < gw_comm_size(m->comm); i++) {
        struct gw_request *request;
        if (i == gw_comm_rank(m->comm) || m->failed.code ||
            m->sources[i].has_left)
            continue;
        enum gw_err code = gw_send_start(m->comm, &goodbye, sizeof goodbye,
                                         GW_U8, i, &request);
        for (int tries = 0; !code && request && tries < TRIES; tries++)
            if (gw_test(&request) != GW_PENDING)
                break;
    }
}

void mailbox_match_kept(struct mailbox *m)
{
    for (struct message *k = m->kept.first, *next; k; k = next) {
        next = k->next;
        struct message *receive = find_receive(m, k->peer, k->tag);
        if (!receive)
            continue;
        message_list_remove(&m->receives, receive);
        message_list_remove(&m->kept, k);
        if (receive->bytes == k->bytes) {
            memcpy(receive->data, k->data, k->bytes);
            message_finish(receive, GW_OK, "", k->peer);
        } else {
            refuse_length(receive, k->bytes, k->peer);
        }
        free(k);
    }
}

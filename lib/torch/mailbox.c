/* SPDX-License-Identifier: MIT
 *
 * See mailbox.h. One thread makes all calls on the communicator. It sleeps while
 * nothing is asked for; otherwise it tests its requests, and pauses longer the
 * longer nothing has moved.
 *
 *     receive posted -> header of its source requested -> header here
 *         -> bytes requested, into the buffer of the first receive that matches,
 *            else into memory of the mailbox -> done
 */
#include "message_list.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The messages of one rank. */
struct source {
    struct message_header header;
    struct gw_request *header_request, *data_request;
    struct message *target; /* a receive, or a kept message */
    bool is_kept;
};

struct mailbox {
    struct gw_comm *comm;
    pthread_t thread;
    pthread_mutex_t lock; /* of submitted and shutting_down */
    pthread_cond_t filled;
    struct message_list submitted_sends, submitted_receives;
    bool shutting_down;
    /* The thread's own: */
    struct message_list sends, receives, kept;
    struct source *sources;
    struct gw_error failed;
};

/* ---- failures ---- */

/* After an error the communicator refuses everything. */
static void fail_all(struct mailbox *m, const struct gw_error *error)
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
        fail_all(m, gw_comm_error(m->comm));
    return code == GW_OK;
}

static bool start(struct mailbox *m, enum gw_err code)
{
    if (code && !m->failed.code) {
        struct gw_error error = *gw_comm_error(m->comm);
        if (!error.code)
            gw_fail(&error, code, "a message");
        fail_all(m, &error);
    }
    return code == GW_OK;
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

/* Returns whether something has moved. */
static bool advance_sends(struct mailbox *m)
{
    bool moved = false;
    for (struct message *s = m->sends.first, *next; s && !m->failed.code;
         s = next) {
        next = s->next;
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
    if (wants_from(m, peer))
        start(m, gw_recv_start(m->comm, &source->header, sizeof source->header,
                               GW_U8, (unsigned)peer, &source->header_request));
    return false;
}

static bool advance_receives(struct mailbox *m)
{
    bool moved = false;
    unsigned own = gw_comm_rank(m->comm);
    for (unsigned i = 0; i < gw_comm_size(m->comm) && !m->failed.code; i++)
        if (i != own)
            moved |= advance_source(m, (int)i);
    return moved;
}

/* Receives that a kept message satisfies. */
static void match_kept(struct mailbox *m)
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

/* ---- the thread ---- */

static bool is_idle(const struct mailbox *m)
{
    return !m->sends.first && !m->receives.first;
}

static bool is_receiving(const struct mailbox *m)
{
    for (unsigned i = 0; i < gw_comm_size(m->comm); i++)
        if (m->sources[i].target)
            return true;
    return false;
}

/* Moves submitted entries into the thread's own lists; sleeps if there is
 * nothing to do. False: the mailbox is closed. */
static bool collect_submitted(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    while (is_idle(m) && !is_receiving(m) && !m->submitted_sends.first &&
           !m->submitted_receives.first && !m->shutting_down)
        pthread_cond_wait(&m->filled, &m->lock);
    message_list_append_all(&m->sends, &m->submitted_sends);
    message_list_append_all(&m->receives, &m->submitted_receives);
    bool open = !m->shutting_down;
    pthread_mutex_unlock(&m->lock);
    return open;
}

/* The first pauses let another thread run; later ones save the processor. */
static void pause_after(unsigned rounds)
{
    enum { YIELDS = 200, LONGEST_NS = 200000 };
    if (rounds < YIELDS) {
        sched_yield();
        return;
    }
    long ns = 1000L * (long)(rounds - YIELDS);
    struct timespec time = {.tv_nsec = ns < LONGEST_NS ? ns : LONGEST_NS};
    nanosleep(&time, NULL);
}

static void *move_messages(void *context)
{
    struct mailbox *m = context;
    unsigned rounds = 0;
    while (collect_submitted(m)) {
        if (m->failed.code) {
            fail_all(m, &m->failed);
            continue;
        }
        match_kept(m);
        bool moved = advance_sends(m);
        moved |= advance_receives(m);
        rounds = moved ? 0 : rounds + 1;
        if (!moved)
            pause_after(rounds);
    }
    return NULL;
}

static void free_mailbox(struct mailbox *m)
{
    gw_comm_destroy(&m->comm);
    free(m->sources);
    free(m);
}

enum gw_err mailbox_open(struct gw_comm *comm, struct mailbox **mailbox,
                         struct gw_error *why)
{
    struct mailbox *m = calloc(1, sizeof *m);
    struct source *sources = calloc(gw_comm_size(comm), sizeof *sources);
    *mailbox = NULL;
    if (!m || !sources) {
        free(m);
        free(sources);
        gw_comm_destroy(&comm);
        return gw_fail(why, GW_ENOMEM, "a mailbox");
    }
    m->comm = comm;
    m->sources = sources;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->filled, NULL);
    if (pthread_create(&m->thread, NULL, move_messages, m) != 0) {
        free_mailbox(m);
        return gw_fail(why, GW_ENOMEM, "a thread for a mailbox");
    }
    *mailbox = m;
    return GW_OK;
}

static enum gw_err submit(struct mailbox *m, struct message_list *list,
                          const struct message *message)
{
    struct message *copy = malloc(sizeof *copy);
    if (!copy)
        return GW_ENOMEM;
    *copy = *message;
    pthread_mutex_lock(&m->lock);
    message_list_append(list, copy);
    pthread_cond_signal(&m->filled);
    pthread_mutex_unlock(&m->lock);
    return GW_OK;
}

enum gw_err mailbox_send(struct mailbox *m, const void *data, size_t bytes,
                         unsigned peer, int tag, mailbox_done *done,
                         void *context)
{
    return submit(m, &m->submitted_sends,
                  &(struct message){.data = (void *)(uintptr_t)data,
                                    .bytes = bytes,
                                    .peer = (int)peer,
                                    .tag = tag,
                                    .done = done,
                                    .context = context,
                                    .header = {.bytes = bytes, .tag = tag}});
}

enum gw_err mailbox_receive(struct mailbox *m, void *data, size_t bytes,
                            int peer, int tag, mailbox_done *done,
                            void *context)
{
    return submit(m, &m->submitted_receives,
                  &(struct message){.data = data,
                                    .bytes = bytes,
                                    .peer = peer,
                                    .tag = tag,
                                    .done = done,
                                    .context = context});
}

void mailbox_close(struct mailbox **mailbox)
{
    struct mailbox *m = *mailbox;
    struct gw_error closed;
    struct message *kept;
    if (!m)
        return;
    *mailbox = NULL;
    pthread_mutex_lock(&m->lock);
    m->shutting_down = true;
    pthread_cond_signal(&m->filled);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    gw_fail(&closed, GW_ECLOSED, "the process group was destroyed");
    fail_all(m, &closed);
    while ((kept = m->kept.first) != NULL) {
        m->kept.first = kept->next;
        free(kept);
    }
    free_mailbox(m);
}

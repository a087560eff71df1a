/* SPDX-License-Identifier: MIT
 *
 * See mailbox.h. One thread makes all calls on the communicator
 * (mailbox_move.c). It sleeps while nothing is asked for; otherwise it tests
 * its requests, and pauses longer the longer nothing has moved.
 */
#include "mailbox_state.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

static bool is_idle(const struct mailbox *m)
{
    return !m->sends.first && !m->receives.first;
}

/* Moves submitted entries into the thread's own lists; sleeps if there is
 * nothing to do. False: the mailbox is closed. */
static bool collect_submitted(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    while (is_idle(m) && !mailbox_is_receiving(m) &&
           !m->submitted_sends.first && !m->submitted_receives.first &&
           !m->shutting_down && (!m->abort.code || m->failed.code))
        pthread_cond_wait(&m->filled, &m->lock);
    message_list_append_all(&m->sends, &m->submitted_sends);
    message_list_append_all(&m->receives, &m->submitted_receives);
    bool open = !m->shutting_down;
    struct gw_error abort = m->abort;
    pthread_mutex_unlock(&m->lock);
    if (abort.code && !m->failed.code) {
        gw_comm_abort(m->comm, abort.code, abort.text);
        mailbox_fail_all(m, &abort);
    }
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

static void move_until_closed(struct mailbox *m)
{
    unsigned rounds = 0;
    while (collect_submitted(m)) {
        if (m->failed.code) {
            mailbox_fail_all(m, &m->failed);
            continue;
        }
        mailbox_match_kept(m);
        bool moved = mailbox_advance_sends(m);
        moved |= mailbox_advance_receives(m);
        rounds = moved ? 0 : rounds + 1;
        if (!moved)
            pause_after(rounds);
    }
}

/* ---- closing ---- */

static void free_mailbox(struct mailbox *m)
{
    free(m->sources);
    free(m);
}

static void fail_unfinished(struct mailbox *m)
{
    struct gw_error closed;
    struct message *kept;
    gw_fail(&closed, GW_ECLOSED, "the process group was destroyed");
    mailbox_fail_all(m, &closed);
    while ((kept = m->kept.first) != NULL) {
        m->kept.first = kept->next;
        free(kept);
    }
}

/* Sets a flag of the end; returns whether the mailbox is abandoned. */
static bool set(struct mailbox *m, bool *flag)
{
    pthread_mutex_lock(&m->lock);
    *flag = true;
    bool abandoned = m->abandoned;
    pthread_cond_signal(&m->end_reached);
    pthread_mutex_unlock(&m->lock);
    return abandoned;
}

static void *run_mailbox(void *context)
{
    struct mailbox *m = context;
    move_until_closed(m);
    mailbox_send_goodbye(m);
    fail_unfinished(m);
    set(m, &m->reported);
    gw_comm_destroy(&m->comm);
    if (set(m, &m->ended))
        free_mailbox(m);
    return NULL;
}

/* Waits for the end of the thread for a moment only: the communicator waits for
 * peers that have not read their last messages, and those of an idle mailbox
 * are read late or never. */
static bool wait_for_end(struct mailbox *m)
{
    enum { LIMIT_S = 1 };
    struct timespec until;
    pthread_mutex_lock(&m->lock);
    m->shutting_down = true;
    pthread_cond_signal(&m->filled);
    while (!m->reported)
        pthread_cond_wait(&m->end_reached, &m->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LIMIT_S;
    while (!m->ended && !m->abandoned)
        m->abandoned =
            pthread_cond_timedwait(&m->end_reached, &m->lock, &until) != 0 &&
            !m->ended;
    bool ended = m->ended;
    pthread_mutex_unlock(&m->lock);
    return ended;
}

void mailbox_close(struct mailbox **mailbox)
{
    struct mailbox *m = *mailbox;
    if (!m)
        return;
    *mailbox = NULL;
    pthread_t thread = m->thread;
    if (wait_for_end(m)) {
        pthread_join(thread, NULL);
        free_mailbox(m);
    } else {
        pthread_detach(thread);
    }
}

/* ---- open and submit ---- */

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
    pthread_cond_init(&m->end_reached, NULL);
    if (pthread_create(&m->thread, NULL, run_mailbox, m) != 0) {
        gw_comm_destroy(&m->comm);
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

void mailbox_abort(struct mailbox *m, enum gw_err code, const char *sentence)
{
    pthread_mutex_lock(&m->lock);
    if (!m->abort.code)
        gw_fail(&m->abort, code, "%s", sentence);
    pthread_cond_signal(&m->filled);
    pthread_mutex_unlock(&m->lock);
}

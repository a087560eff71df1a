/* SPDX-License-Identifier: MIT
 *
 * Loans: memory that a peer reads by its place. Each loan has a number, by
 * which the peer returns it, and this state:
 *
 *     FREE --- new ---> OUT --- recall ---> ORPHAN
 *      ^                 |                     |
 *      +---- returned ---+------ returned -----+
 *
 * Lent memory goes back to the user when OUT ends. The staging memory and the
 * number are reused only when the loan is FREE. A returned number that is not
 * out is ignored.
 */
#include "messenger_shm.h"

#include <stdlib.h>

enum gw_err gw__messenger_loans_init(struct gw__messenger_shm_peer *peer,
                                     struct gw_error *why)
{
    if (!peer->loans)
        peer->loans = malloc(GW__MESSENGER_LOANS * sizeof *peer->loans);
    if (!peer->loans)
        return gw_fail(why, GW_ENOMEM, "a table of loans");
    for (unsigned i = 0; i < GW__MESSENGER_LOANS; i++)
        peer->loans[i] = (struct gw__messenger_loan){
            .state = LOAN_FREE,
            .next = (uint16_t)(i + 1 < GW__MESSENGER_LOANS
                                   ? i + 1
                                   : GW__MESSENGER_NO_LOAN)};
    peer->free_loan = 0;
    peer->out = peer->orphans = 0;
    return GW_OK;
}

uint16_t gw__messenger_loan_new(struct gw__messenger_shm_peer *peer,
                                const struct gw__messenger_loan *loan)
{
    uint16_t number = peer->free_loan;
    if (number == GW__MESSENGER_NO_LOAN)
        return number;
    peer->free_loan = peer->loans[number].next;
    peer->loans[number] = *loan;
    peer->loans[number].state = LOAN_OUT;
    peer->out++;
    return number;
}

static void return_to_user(struct gw__messenger_loan *loan)
{
    void (*back)(void *) = loan->back;
    loan->back = NULL;
    if (back)
        back(loan->context);
}

void gw__messenger_loan_end(struct gw__messenger_shm *shm,
                            struct gw__messenger_shm_peer *peer,
                            struct gw__messenger_loan *loan)
{
    if (loan->block)
        gw__messenger_staging_free(&shm->staging, loan->block);
    loan->block = NULL;
    peer->copied_bytes -= loan->copied_bytes;
    loan->copied_bytes = 0;
    return_to_user(loan);
}

static void end_loan(struct gw__messenger_shm *shm,
                     struct gw__messenger_shm_peer *peer, uint16_t number)
{
    if (number >= GW__MESSENGER_LOANS || peer->loans[number].state == LOAN_FREE)
        return;
    struct gw__messenger_loan *loan = &peer->loans[number];
    if (loan->state == LOAN_OUT)
        peer->out--;
    else
        peer->orphans--;
    loan->state = LOAN_FREE;
    loan->next = peer->free_loan;
    peer->free_loan = number;
    gw__messenger_loan_end(shm, peer, loan);
}

bool gw__messenger_loans_collect(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    struct gw__messenger_link *theirs = gw__messenger_link_from(shm, node);
    uint64_t nonce = shm->home->segment->nonce, begin = peer->returned_seen;
    if (peer->out + peer->orphans == 0 ||
        atomic_load_explicit(&theirs->from, memory_order_acquire) != nonce)
        return false;
    uint64_t returned =
        atomic_load_explicit(&theirs->returned, memory_order_acquire);
    while (peer->returned_seen != returned &&
           peer->returned_seen - begin < GW__MESSENGER_LOANS)
        end_loan(shm, peer,
                 theirs->returns[peer->returned_seen++ % GW__MESSENGER_LOANS]);
    return peer->returned_seen != begin;
}

void gw__messenger_loans_recall(struct gw__messenger_shm_peer *peer)
{
    for (unsigned i = 0; i < GW__MESSENGER_LOANS && peer->out > 0; i++)
        if (peer->loans[i].state == LOAN_OUT) {
            peer->loans[i].state = LOAN_ORPHAN;
            peer->out--;
            peer->orphans++;
            return_to_user(&peer->loans[i]);
        }
}

void gw__messenger_loans_forfeit(struct gw__messenger_shm *shm, unsigned node)
{
    struct gw__messenger_shm_peer *peer = &shm->peers[node];
    bool read = !gw__messenger_shm_ended(peer);
    for (unsigned i = 0; i < GW__MESSENGER_LOANS && peer->out + peer->orphans;
         i++) {
        struct gw__messenger_loan *loan = &peer->loans[i];
        if (loan->state == LOAN_FREE)
            continue;
        if (read && loan->block)
            gw__messenger_staging_abandon(&shm->staging, loan->block);
        if (read)
            loan->block = NULL;
        end_loan(shm, peer, (uint16_t)i);
    }
}

/* SPDX-License-Identifier: MIT
 *
 * See seal.h. The manager of libipsec-mb holds only the functions chosen for
 * this processor, so one serves all threads.
 */
#include "seal.h"

#include <intel-ipsec-mb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NONCE_BYTES = 12 };
_Static_assert((int)GW__SEAL_KEY_BYTES == (int)IMB_GCM_256_KEY_LEN &&
                   sizeof(struct gcm_context_data) <=
                       sizeof(((struct gw__seal_pass *)0)->state),
               "the sizes in seal.h");

struct gw__seal {
    _Alignas(64) struct gcm_key_data key;
};

static IMB_MGR *manager;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_manager(void)
{
    manager = alloc_mb_mgr(0);
    if (manager)
        init_mb_mgr_auto(manager, NULL);
}

bool gw__seal_is_built(void)
{
    return true;
}

struct gw__seal *gw__seal_new(const unsigned char key[GW__SEAL_KEY_BYTES])
{
    pthread_once(&once, make_manager);
    struct gw__seal *seal =
        manager ? aligned_alloc(_Alignof(struct gw__seal), sizeof *seal) : NULL;
    if (seal)
        IMB_AES256_GCM_PRE(manager, key, &seal->key);
    return seal;
}

void gw__seal_free(struct gw__seal **seal)
{
    if (*seal)
        explicit_bzero(*seal, sizeof **seal);
    free(*seal);
    *seal = NULL;
}

static struct gcm_context_data *state_of(struct gw__seal_pass *pass)
{
    return (struct gcm_context_data *)(void *)pass->state;
}

void gw__seal_begin(const struct gw__seal *seal, bool opens, uint32_t from,
                    uint64_t number, const void *bound, size_t bound_bytes,
                    struct gw__seal_pass *pass)
{
    unsigned char nonce[NONCE_BYTES];
    memcpy(nonce, &from, sizeof from);
    memcpy(nonce + sizeof from, &number, sizeof number);
    pass->seal = seal;
    pass->opens = opens;
    IMB_AES256_GCM_INIT(manager, &seal->key, state_of(pass), nonce, bound,
                        bound_bytes);
}

void gw__seal_go_on(struct gw__seal_pass *pass, const void *from, void *to,
                    size_t bytes)
{
    if (pass->opens)
        IMB_AES256_GCM_DEC_UPDATE(manager, &pass->seal->key, state_of(pass), to,
                                  from, bytes);
    else
        IMB_AES256_GCM_ENC_UPDATE(manager, &pass->seal->key, state_of(pass), to,
                                  from, bytes);
}

void gw__seal_end(struct gw__seal_pass *pass,
                  unsigned char tag[GW__SEAL_TAG_BYTES])
{
    if (pass->opens)
        IMB_AES256_GCM_DEC_FINALIZE(manager, &pass->seal->key, state_of(pass),
                                    tag, GW__SEAL_TAG_BYTES);
    else
        IMB_AES256_GCM_ENC_FINALIZE(manager, &pass->seal->key, state_of(pass),
                                    tag, GW__SEAL_TAG_BYTES);
}

bool gw__seal_fits(struct gw__seal_pass *pass,
                   const unsigned char tag[GW__SEAL_TAG_BYTES])
{
    unsigned char due[GW__SEAL_TAG_BYTES];
    unsigned differing = 0;
    gw__seal_end(pass, due);
    for (size_t i = 0; i < sizeof due; i++)
        differing |= (unsigned)(due[i] ^ tag[i]);
    return differing == 0;
}

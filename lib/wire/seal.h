/* SPDX-License-Identifier: MIT
 *
 * Authenticated encryption of large bodies: AES-256 in Galois/Counter Mode
 * (NIST SP 800-38D), by libipsec-mb, piece by piece, so that each piece is
 * sealed or opened while it is in the cache.
 *
 * CURVE uses XSalsa20 and Poly1305, 1.75 GB/s on a core where this reaches 23
 * (Zen 5, with VAES) and a stream without encryption 9 to 18. A nonce must
 * never be used twice under one key. So each key belongs to one receiver and
 * one wire, and each sender has its own nonces: its rank and a number that only
 * grows.
 */
#ifndef GW__SEAL_H
#define GW__SEAL_H

#include <gradwire/base.h>

enum { GW__SEAL_KEY_BYTES = 32, GW__SEAL_TAG_BYTES = 16 };

/* An expanded key. */
struct gw__seal;

/* The state of sealing or opening one message. */
struct gw__seal_pass {
    const struct gw__seal *seal;
    bool opens;
    _Alignas(16) unsigned char state[96];
};

/* Was this library built with libipsec-mb? */
bool gw__seal_is_built(void);
/* NULL: no memory, or not built. */
struct gw__seal *gw__seal_new(const unsigned char key[GW__SEAL_KEY_BYTES]);
/* NULL is allowed; sets the pointer to NULL. */
void gw__seal_free(struct gw__seal **seal);

/* Message `number` of sender `from`. `bound` is authenticated but not
 * encrypted: the message opens only together with it. */
void gw__seal_begin(const struct gw__seal *seal, bool opens, uint32_t from,
                    uint64_t number, const void *bound, size_t bound_bytes,
                    struct gw__seal_pass *pass);
/* The next `bytes`, any number; `to` may equal `from`. */
void gw__seal_go_on(struct gw__seal_pass *pass, const void *from, void *to,
                    size_t bytes);
void gw__seal_end(struct gw__seal_pass *pass,
                  unsigned char tag[GW__SEAL_TAG_BYTES]);
/* Ends a pass that opens. False: the data was not sealed with that key, number
 * and `bound`. Takes the same time wherever they differ. */
GW_MUST_CHECK bool gw__seal_fits(struct gw__seal_pass *pass,
                                 const unsigned char tag[GW__SEAL_TAG_BYTES]);

#endif

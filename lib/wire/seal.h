/* SPDX-License-Identifier: MIT
 *
 * Sealing large bodies: AES-256 in Galois/Counter Mode (NIST SP 800-38D), by
 * libipsec-mb, piece by piece, so that each piece is sealed or opened while it
 * is in the cache.
 *
 * CURVE seals by XSalsa20 and Poly1305, 1.75 GB/s on a core where this makes
 * 23 (Zen 5, with VAES), and a stream in the clear 9 to 18. A nonce must never
 * be used twice under one key: a key is of one receiver and one life of a wire,
 * and each sender has nonces of its own, its rank and a number that only grows.
 */
#ifndef GW__SEAL_H
#define GW__SEAL_H

#include <gradwire/base.h>

enum { GW__SEAL_KEY_BYTES = 32, GW__SEAL_TAG_BYTES = 16 };

/* A key, made ready. */
struct gw__seal;

/* One message on its way through. */
struct gw__seal_pass {
    const struct gw__seal *seal;
    bool opens;
    _Alignas(16) unsigned char state[96];
};

/* Was this library built with libipsec-mb? */
bool gw__seal_is_built(void);
/* NULL: no memory, or not built. */
struct gw__seal *gw__seal_new(const unsigned char key[GW__SEAL_KEY_BYTES]);
/* NULL allowed; nulls the pointer. */
void gw__seal_free(struct gw__seal **seal);

/* Message `number` of sender `from`. `bound` is not hidden, but is under the
 * same seal: the message opens only together with it. */
void gw__seal_begin(const struct gw__seal *seal, bool opens, uint32_t from,
                    uint64_t number, const void *bound, size_t bound_bytes,
                    struct gw__seal_pass *pass);
/* The next `bytes`, any number; `to` may be `from`. */
void gw__seal_go_on(struct gw__seal_pass *pass, const void *from, void *to,
                    size_t bytes);
void gw__seal_end(struct gw__seal_pass *pass,
                  unsigned char tag[GW__SEAL_TAG_BYTES]);
/* Ends a pass that opens; false: not what was sealed with that key, number and
 * `bound`. Takes as long whatever differs. */
GW_MUST_CHECK bool gw__seal_fits(struct gw__seal_pass *pass,
                                 const unsigned char tag[GW__SEAL_TAG_BYTES]);

#endif

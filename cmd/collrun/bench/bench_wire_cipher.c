/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cost of encryption. The socket wires seal slices with AES-256-GCM. CURVE
 * (http://rfc.zeromq.org/spec:26) seals each frame by crypto_box, XSalsa20 with
 * Poly1305, in libzmq's thread. One core seals while another opens, so a stream
 * with a key is at best as fast as the slower of the two, on any wire. Here a
 * core does nothing else.
 */
#include "bench_wire.h"

#include "common/stats.h"

#include <sodium.h>
#include <stdlib.h>
#include <wire/seal.h>

enum { ROUNDS = 9, ROUND_BYTES = 16 << 20, TAG_BYTES = 16 };
_Static_assert((int)TAG_BYTES == (int)crypto_box_MACBYTES &&
                   (int)TAG_BYTES == (int)GW__SEAL_TAG_BYTES,
               "both ciphers have tags of this size");

struct cipher {
    struct gw__seal *seal; /* NULL: CURVE */
    unsigned char secret[crypto_box_BEFORENMBYTES];
    unsigned char nonce[crypto_box_NONCEBYTES];
    unsigned char *plain, *sealed;
    size_t bytes;
    unsigned count; /* messages per round */
};

static void seal_one(const struct cipher *c)
{
    struct gw__seal_pass pass;
    if (!c->seal) {
        crypto_box_easy_afternm(c->sealed, c->plain, c->bytes, c->nonce,
                                c->secret);
        return;
    }
    gw__seal_begin(c->seal, false, 0, 0, NULL, 0, &pass);
    gw__seal_go_on(&pass, c->plain, c->sealed, c->bytes);
    gw__seal_end(&pass, c->sealed + c->bytes);
}

static bool open_one(const struct cipher *c)
{
    struct gw__seal_pass pass;
    if (!c->seal)
        return crypto_box_open_easy_afternm(c->plain, c->sealed,
                                            c->bytes + TAG_BYTES, c->nonce,
                                            c->secret) == 0;
    gw__seal_begin(c->seal, true, 0, 0, NULL, 0, &pass);
    gw__seal_go_on(&pass, c->sealed, c->plain, c->bytes);
    return gw__seal_fits(&pass, c->sealed + c->bytes);
}

static bool time_round(const struct cipher *c, double *seal_us, double *open_us)
{
    bool good = true;
    uint64_t begin_ns = gw_now_ns();
    for (unsigned i = 0; i < c->count; i++)
        seal_one(c);
    uint64_t middle_ns = gw_now_ns();
    for (unsigned i = 0; i < c->count && good; i++)
        good = open_one(c);
    *seal_us = (double)(middle_ns - begin_ns) * 1e-3 / c->count;
    *open_us = (double)(gw_now_ns() - middle_ns) * 1e-3 / c->count;
    return good;
}

static bool time_rounds(const struct cipher *c, double *us)
{
    double seal_us[ROUNDS], open_us[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++)
        if (!time_round(c, &seal_us[i], &open_us[i]))
            return false;
    stats_sort(seal_us, ROUNDS);
    stats_sort(open_us, ROUNDS);
    double seal = stats_quantile(seal_us, ROUNDS, 0.5);
    double open = stats_quantile(open_us, ROUNDS, 0.5);
    *us = seal > open ? seal : open;
    return true;
}

static enum gw_err make_keys(struct cipher *c, bool curve, struct gw_error *why)
{
    if (!c->plain || !c->sealed)
        return gw_fail(why, GW_ENOMEM, "%zu bytes to encrypt", c->bytes);
    if (sodium_init() < 0)
        return gw_fail(why, GW_ENOTSUP, "libsodium failed to initialise");
    randombytes_buf(c->secret, sizeof c->secret);
    randombytes_buf(c->nonce, sizeof c->nonce);
    if (!curve && gw__seal_is_built())
        c->seal = gw__seal_new(c->secret);
    return GW_OK;
}

enum gw_err bench_wire_cipher(size_t bytes, bool curve, double *us,
                              struct gw_error *why)
{
    struct cipher c = {.bytes = bytes,
                       .plain = calloc(1, bytes + 1),
                       .sealed = malloc(bytes + TAG_BYTES),
                       .count = bytes < ROUND_BYTES
                                    ? (unsigned)(ROUND_BYTES / (bytes + 64)) + 1
                                    : 1};
    enum gw_err err = make_keys(&c, curve, why);
    if (!err && !time_rounds(&c, us))
        err = gw_fail(why, GW_EWRONG,
                      "decryption of an encrypted message failed");
    gw__seal_free(&c.seal);
    free(c.plain);
    free(c.sealed);
    return err;
}

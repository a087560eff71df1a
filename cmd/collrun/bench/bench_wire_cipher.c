/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cost of encryption: CURVE (http://rfc.zeromq.org/spec:26) seals each
 * frame by crypto_box, XSalsa20 with Poly1305, in libzmq's thread of the
 * sender, and opens it in that of the receiver. Both run at the same time, each
 * on one core, so a stream with a key is at best as fast as the slower of the
 * two, on any wire. Here a core does nothing else.
 */
#include "bench_wire.h"

#include "common/stats.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9, ROUND_BYTES = 16 << 20 };

struct cipher {
    unsigned char secret[crypto_box_BEFORENMBYTES];
    unsigned char nonce[crypto_box_NONCEBYTES];
    unsigned char *plain, *sealed;
    size_t bytes;
    unsigned count; /* messages per round */
};

static bool time_round(const struct cipher *c, double *seal_us, double *open_us)
{
    bool good = true;
    uint64_t begin_ns = gw_now_ns();
    for (unsigned i = 0; i < c->count; i++)
        crypto_box_easy_afternm(c->sealed, c->plain, c->bytes, c->nonce,
                                c->secret);
    uint64_t middle_ns = gw_now_ns();
    for (unsigned i = 0; i < c->count && good; i++)
        good = crypto_box_open_easy_afternm(c->plain, c->sealed,
                                            c->bytes + crypto_box_MACBYTES,
                                            c->nonce, c->secret) == 0;
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

enum gw_err bench_wire_cipher(size_t bytes, double *us, struct gw_error *why)
{
    struct cipher c = {.bytes = bytes,
                       .plain = calloc(1, bytes + 1),
                       .sealed = malloc(bytes + crypto_box_MACBYTES),
                       .count = bytes < ROUND_BYTES
                                    ? (unsigned)(ROUND_BYTES / (bytes + 64)) + 1
                                    : 1};
    enum gw_err err = GW_OK;
    if (!c.plain || !c.sealed)
        err = gw_fail(why, GW_ENOMEM, "%zu bytes to encrypt", bytes);
    else if (sodium_init() < 0)
        err = gw_fail(why, GW_ENOTSUP, "libsodium failed to initialise");
    if (!err) {
        randombytes_buf(c.secret, sizeof c.secret);
        randombytes_buf(c.nonce, sizeof c.nonce);
        if (!time_rounds(&c, us))
            err = gw_fail(why, GW_EWRONG,
                          "decryption of an encrypted message failed");
    }
    free(c.plain);
    free(c.sealed);
    return err;
}

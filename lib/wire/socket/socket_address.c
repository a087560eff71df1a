/* SPDX-License-Identifier: MIT
 *
 * The address of one end of a socket wire, and the proofs that depend on it.
 *
 * Over ipc a rank listens at an abstract name (no file exists for it) that is
 * derived from a random number, over tcp at a port that the kernel chose. The
 * key that seals the messages to a rank follows from the cluster's secret key
 * and a random number in the address. So an address need not be secret: a
 * process that has read it, but not the key file, can neither connect nor read.
 */
#include "socket_wire.h"

#include <string.h>
#include <sys/random.h>

static const char *transport_name(unsigned transport)
{
    return transport == GW__SOCKET_IPC ? "ipc" : "tcp";
}

static bool fill_random(void *to, size_t bytes)
{
    return getrandom(to, bytes, 0) == (ssize_t)bytes;
}

bool gw__socket_is_numeric(const char host[48])
{
    size_t length = strnlen(host, 48);
    return length > 0 && length < 48 &&
           strspn(host, "0123456789abcdefABCDEF.:") == length;
}

static enum gw_err compare(const struct gw__socket_address *theirs,
                           unsigned rank, const struct gw__socket_address *mine,
                           struct gw_error *why)
{
    const char *name = transport_name(mine->transport);
    if (theirs->lanes != mine->lanes)
        return gw_fail(
            why, GW_EMISMATCH,
            "rank %u opened the %s wire with %u lanes, but this rank with %u",
            rank, name, theirs->lanes, mine->lanes);
    if (theirs->secured != mine->secured)
        return gw_fail(
            why, GW_EMISMATCH, "rank %u has %s key file, but this rank has %s",
            rank, theirs->secured ? "a" : "no", mine->secured ? "one" : "none");
    if (theirs->size != mine->size || (mine->transport == GW__SOCKET_TCP &&
                                       !gw__socket_is_numeric(theirs->host)))
        return gw_fail(
            why, GW_EMISMATCH,
            "rank %u opened the %s wire for a different number of ranks", rank,
            name);
    return GW_OK;
}

enum gw_err gw__socket_address_read(const struct gw__address *address,
                                    unsigned rank,
                                    const struct gw__socket_address *mine,
                                    struct gw__socket_address *theirs,
                                    struct gw_error *why)
{
    bool fits = address->bytes == sizeof *theirs;
    if (fits)
        memcpy(theirs, address->blob, sizeof *theirs);
    if (!fits || theirs->magic != GW__SOCKET_MAGIC ||
        theirs->transport != mine->transport)
        return gw_fail(why, GW_EMISMATCH, "rank %u did not open the %s wire",
                       rank, transport_name(mine->transport));
    return compare(theirs, rank, mine, why);
}

enum gw_err gw__socket_address_make(struct gw__socket_address *address,
                                    struct gw_error *why)
{
    address->magic = GW__SOCKET_MAGIC;
    gw__process_watch_self(&address->process);
    address->network = gw__process_watch_network();
    if (!fill_random(&address->name, sizeof address->name) ||
        !fill_random(address->token, sizeof address->token) ||
        !fill_random(address->salt, sizeof address->salt))
        return gw_fail_errno(why, "getrandom");
    return GW_OK;
}

enum gw_err gw__socket_address_at(struct gw__socket_address *address,
                                  const char *number, struct gw_error *why)
{
    const char *bare = number[0] == '[' ? number + 1 : number;
    size_t length = strcspn(bare, "]");
    if (length >= sizeof address->host)
        return gw_fail(why, GW_EUNREACH, "%s is not an address", number);
    memcpy(address->host, bare, length);
    return GW_OK;
}

/* The cipher's stream for a number that occurs once cannot be guessed without
 * the key, so it is a key. */
struct gw__seal *
gw__socket_seal_derive(const struct gw__seal *of,
                       const unsigned char salt[GW__SOCKET_SALT_BYTES])
{
    static const unsigned char zeros[GW__SEAL_KEY_BYTES];
    unsigned char key[GW__SEAL_KEY_BYTES];
    struct gw__seal_pass pass;
    uint32_t first;
    uint64_t rest;
    memcpy(&first, salt, sizeof first);
    memcpy(&rest, salt + sizeof first, sizeof rest);
    gw__seal_begin(of, false, first, rest, NULL, 0, &pass);
    gw__seal_go_on(&pass, zeros, key, sizeof key);
    struct gw__seal *seal = gw__seal_new(key);
    explicit_bzero(key, sizeof key);
    explicit_bzero(&pass, sizeof pass);
    return seal;
}

struct gw__seal *
gw__socket_address_seal(const struct gw__socket_address *address,
                        const unsigned char secret[GW__SEAL_KEY_BYTES])
{
    struct gw__seal *of_cluster = gw__seal_new(secret);
    struct gw__seal *seal =
        of_cluster ? gw__socket_seal_derive(of_cluster, address->salt) : NULL;
    gw__seal_free(&of_cluster);
    return seal;
}

/* ---- greetings ---- */

/* The tag covers the receiver's token, so it is of use at that rank only. */
static void begin_proof(const struct gw__socket_address *to,
                        const struct gw__seal *seal, bool opens, uint32_t from,
                        uint32_t lane, struct gw__seal_pass *pass)
{
    gw__seal_begin(seal, opens, from, gw__socket_greeting_number(lane),
                   to->token, sizeof to->token, pass);
}

void gw__socket_greeting(const struct gw__socket_address *to,
                         const struct gw__seal *seal, uint32_t from,
                         uint32_t lane,
                         unsigned char out[GW__SOCKET_GREETING_BYTES])
{
    unsigned char *proof = out + sizeof from + sizeof lane;
    struct gw__seal_pass pass;
    memcpy(out, &from, sizeof from);
    memcpy(out + sizeof from, &lane, sizeof lane);
    if (seal) {
        begin_proof(to, seal, false, from, lane, &pass);
        gw__seal_end(&pass, proof);
    } else {
        memcpy(proof, to->token, sizeof to->token);
    }
}

bool gw__socket_is_greeting(const struct gw__socket_address *to,
                            const struct gw__seal *seal,
                            const unsigned char in[GW__SOCKET_GREETING_BYTES],
                            uint32_t *from, uint32_t *lane)
{
    const unsigned char *proof = in + sizeof *from + sizeof *lane;
    struct gw__seal_pass pass;
    memcpy(from, in, sizeof *from);
    memcpy(lane, in + sizeof *from, sizeof *lane);
    if (*from >= to->size || *lane > to->lanes)
        return false;
    if (!seal)
        return memcmp(proof, to->token, sizeof to->token) == 0;
    begin_proof(to, seal, true, *from, *lane, &pass);
    return gw__seal_fits(&pass, proof);
}

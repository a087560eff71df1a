/* SPDX-License-Identifier: MIT
 *
 * The configuration of a communicator's wire, and memory that peers on the same
 * host can map. Collectives over the shm wire read such buffers in place and
 * store into them directly. Other memory works too, at the price of a copy.
 */
#ifndef GRADWIRE_WIRE_H
#define GRADWIRE_WIRE_H

#include <gradwire/base.h>
#include <gradwire/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The configuration of a rank for gw_comm_create (gradwire/coll.h). A field
 * that is 0 or NULL means its default. */
struct gw_comm_config {
    unsigned rank; /* of this process, from 0 */
    unsigned size; /* number of ranks */
    /* A ZeroMQ endpoint that rank 0 binds and the other ranks connect to:
     * "ipc://@name" (abstract, leaves no file) or "tcp://host:port". */
    const char *rendezvous;
    const char *wire; /* "shm", "ipc", "tcp", "zmq", "verbs"; default "shm" */
    unsigned connect_ms; /* limit of the rendezvous; default 30 s */
    unsigned timeout_ms; /* limit without progress; default 30 s */
    unsigned sleep_us;   /* limit of one sleep of a wait; default 20 ms */
    size_t slice_bytes;  /* default: the choice of the wire */
    unsigned lanes;      /* connections per peer; default: the wire's */
    /* tcp: the address to bind; default loopback. verbs: an address, a
     * network interface or an RDMA device; default the first active
     * one. */
    const char *interface;
    /* A file with the public and the secret key of CURVE, the same for all
     * ranks and readable only by its owner; default none. */
    const char *key_file;
    /* Allows tcp outside of loopback without a key, and verbs, which is
     * never encrypted. */
    bool insecure;
    bool no_windows;        /* shm: only messages, as on other wires */
    struct gw_sink *events; /* owned by the caller; default none */
};

/* Allocates `bytes` of zeroed memory that peers can map, aligned to 4096. The
 * caller frees it with gw_free. The memory has no name in the file system and
 * vanishes with its last user, even if that is killed. NULL on failure, with
 * the reason in *why: GW_ENOSPC (the sentence names the full file system or the
 * limit), GW_ENOMEM, GW_ESYS. */
GW_API void *gw_alloc(size_t bytes, struct gw_error *why);
/* Frees memory of gw_alloc; NULL is allowed. No call may be using it. */
GW_API void gw_free(void *memory);

/* Returns the names of the wires in this build, terminated by NULL: "shm",
 * "ipc", "tcp", "zmq", and "verbs" if it has libibverbs and librdmacm. */
GW_API const char *const *gw_wire_list(void);

#ifdef __cplusplus
}
#endif
#endif

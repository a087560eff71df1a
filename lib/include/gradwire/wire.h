/* SPDX-License-Identifier: MIT
 *
 * How ranks are joined, and memory that peers on the same host can map.
 * Collectives over the shm wire read such buffers where they lie and store into
 * them directly; other memory works too, at the price of a copy.
 */
#ifndef GRADWIRE_WIRE_H
#define GRADWIRE_WIRE_H

#include <gradwire/base.h>
#include <gradwire/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a rank says to become one of a communicator (gradwire/coll.h). */
struct gw_comm_config {
    unsigned rank;
    unsigned size;
    /* Where the ranks meet: a ZeroMQ endpoint that rank 0 binds and the others
     * connect to: "ipc://@name" (abstract, leaves no file) or
     * "tcp://host:port". */
    const char *rendezvous;
    const char *wire;    /* "shm", "ipc", "tcp", "verbs"; NULL: "shm" */
    unsigned connect_ms; /* to meet everybody; 0: 10 s */
    unsigned timeout_ms; /* an op without progress; 0: 30 s */
    size_t slice_bytes;  /* 0: the wire's own choice */
    unsigned lanes;      /* ZeroMQ sockets a peer; 0: the wire's choice */
    /* tcp: the address to bind; NULL: loopback. verbs: an address, a network
     * interface or an RDMA device; NULL: the first that is active. */
    const char *interface;
    const char *key_file;   /* CURVE; NULL: none */
    bool insecure;          /* allow tcp outside loopback without a key, and
                               verbs, which is never encrypted */
    bool no_windows;        /* shm: messages only, as on the other wires */
    struct gw_sink *events; /* not owned; NULL: none */
};

/* `bytes` of zeroed memory, aligned to 4096. NULL and *why on failure:
 * GW_ENOSPC names the place that is full. The memory has no name in the file
 * system and vanishes with its last user, however that ends. */
GW_API void *gw_alloc(size_t bytes, struct gw_error *why);
/* NULL is allowed. Not while a call uses it. */
GW_API void gw_free(void *memory);

/* The wires that this build has, NULL-terminated: "shm", "ipc", "tcp", and,
 * where it was built with libibverbs and librdmacm, "verbs". */
GW_API const char *const *gw_wire_list(void);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT
 *
 * See connect.h. The ranks of a new communicator find each other through the
 * MPI: rank 0 broadcasts a rendezvous, all compare the identities of their
 * hosts, and afterwards all agree on whether every rank has been connected.
 *
 * Between hosts the rendezvous is the address of rank 0's host, and each rank
 * listens at the address of its route to it. GW_INTERFACE selects another one,
 * such as "ib0", which the hosts have in common.
 *
 * A rank may compute for hours before it enters a collective, so that there is
 * no limit without progress: TIMEOUT_MS is 24 days. A rank that ends is found
 * by the wire.
 */
#include "connect.h"

#include "trace.h"
#include "wire/address.h"

#include <gradwire/base.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 24 * 86400 * 1000,
    CONNECT_MS = 20000,
    SLEEP_US = 200,
    ENDPOINT_BYTES = 128
};

/* Names the host and its network namespace: those of abstract sockets. */
static uint64_t host_identity(void)
{
    char boot[40] = "";
    struct stat net = {0};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file && !fgets(boot, sizeof boot, file))
        boot[0] = 0;
    if (file)
        fclose(file);
    if (stat("/proc/self/ns/net", &net))
        net.st_ino = 0;
    return gw_hash(boot, strlen(boot), net.st_ino);
}

static bool share_host(const struct gw__mpi_comm *c)
{
    uint64_t own = host_identity(), least, most, inverse = ~own;
    PMPI_Allreduce(&own, &least, 1, MPI_UINT64_T, MPI_MIN, c->mpi);
    PMPI_Allreduce(&inverse, &most, 1, MPI_UINT64_T, MPI_MIN, c->mpi);
    return least == ~most;
}

bool gw__mpi_agree(const struct gw__mpi_comm *c, bool own)
{
    int mine = own, least = 0;
    PMPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, c->mpi);
    return least;
}

/* ---- the rendezvous ---- */

static void draw_local_endpoint(char endpoint[ENDPOINT_BYTES])
{
    struct gw_rng rng;
    gw_rng_seed(&rng, gw_now_ns() ^ (uint64_t)getpid() << 32);
    snprintf(endpoint, ENDPOINT_BYTES, "ipc://@gradwire-mpi-%016llx",
             (unsigned long long)gw_rng_next(&rng));
}

/* The address of this host's name, by which others know it, with a free port. */
static enum gw_err find_endpoint(char endpoint[ENDPOINT_BYTES],
                                 struct gw_error *why)
{
    char name[GW__HOST_MAX] = "", wanted[GW__HOST_MAX + 16];
    char number[GW__HOST_MAX + 16];
    const char *interface = getenv("GW_INTERFACE");
    gethostname(name, sizeof name - 1);
    snprintf(wanted, sizeof wanted, "tcp://%s:*", interface ? interface : name);
    enum gw_err err =
        interface ? gw__address_listen(wanted, NULL, number, sizeof number, why)
                  : gw__address_number(wanted, number, sizeof number, why);
    return err ? err
               : gw__address_bindable(number, endpoint, ENDPOINT_BYTES, why);
}

/* Rank 0 selects the endpoint. False: it has found none. */
static bool agree_on_endpoint(const struct gw__mpi_comm *c, bool one_host,
                              char endpoint[ENDPOINT_BYTES])
{
    struct gw_error why = {0};
    memset(endpoint, 0, ENDPOINT_BYTES);
    if (c->rank == 0 && one_host)
        draw_local_endpoint(endpoint);
    else if (c->rank == 0 && find_endpoint(endpoint, &why)) {
        gw__mpi_trace_note(why.text);
        endpoint[0] = 0;
    }
    PMPI_Bcast(endpoint, ENDPOINT_BYTES, MPI_CHAR, 0, c->mpi);
    return endpoint[0];
}

/* ---- the communicator ---- */

static enum gw_err find_interface(const char *endpoint,
                                  char number[GW__HOST_MAX],
                                  struct gw_error *why)
{
    const char *interface = getenv("GW_INTERFACE");
    return interface ? gw__address_own(interface, endpoint, number, why)
                     : gw__address_towards(endpoint, number, why);
}

static enum gw_err create(struct gw__mpi_comm *c, bool one_host,
                          const char *endpoint, struct gw_error *why)
{
    char interface[GW__HOST_MAX];
    const char *wire = getenv("GW_WIRE");
    if (!one_host && find_interface(endpoint, interface, why))
        return why->code;
    const struct gw_comm_config config = {
        .rank = (unsigned)c->rank,
        .size = (unsigned)c->size,
        .rendezvous = endpoint,
        .wire = wire       ? wire
                : one_host ? "shm"
                           : "tcp",
        .connect_ms = CONNECT_MS,
        .timeout_ms = TIMEOUT_MS,
        .sleep_us = SLEEP_US,
        .key_file = getenv("GRADWIRE_KEY"),
        .interface = one_host ? getenv("GW_INTERFACE") : interface,
        .insecure = getenv("GW_INSECURE") != NULL,
        .events = c->mpi == MPI_COMM_WORLD ? gw__mpi_trace_sink() : NULL,
    };
    return gw_comm_create(&config, &c->comm, why);
}

void gw__mpi_connect(struct gw__mpi_comm *c)
{
    char endpoint[ENDPOINT_BYTES];
    struct gw_error why = {0};
    bool one_host = share_host(c);
    if (!agree_on_endpoint(c, one_host, endpoint))
        return;
    if (create(c, one_host, endpoint, &why))
        gw__mpi_trace_note(why.text);
    if (!gw__mpi_agree(c, c->comm != NULL))
        gw_comm_destroy(&c->comm);
}

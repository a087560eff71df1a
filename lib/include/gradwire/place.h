/* SPDX-License-Identifier: MIT
 *
 * The place of a process among the ranks of its job, taken from what the
 * engine that started it has put into the environment: mpirun of Open MPI or
 * MPICH, srun, torchrun, Kubernetes, `collrun exec`, or variables set by hand.
 *
 * Reading a place is a pure function of the environment, so that what a job
 * would do under an engine can be tried, and tested, without one. Only
 * gw_place_here asks more than that (the engine's own channel, when the
 * environment has no address to meet at), and gw_comm_from_env meets.
 */
#ifndef GRADWIRE_PLACE_H
#define GRADWIRE_PLACE_H

#include <gradwire/base.h>
#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who says where a process stands, in the order in which they are believed:
 * name, word. */
#define GW_PLACE_SOURCES(X)                                                    \
    X(GW_PLACE_NOBODY, "-")                                                    \
    X(GW_PLACE_GW, "GW_*")                                                     \
    X(GW_PLACE_TORCHRUN, "torchrun")                                           \
    X(GW_PLACE_OPENMPI, "OpenMPI")                                             \
    X(GW_PLACE_PMIX, "PMIx")                                                   \
    X(GW_PLACE_PMI, "PMI")                                                     \
    X(GW_PLACE_SLURM, "Slurm")                                                 \
    X(GW_PLACE_KUBERNETES, "Kubernetes")

enum gw_place_source {
#define X(name, word) name,
    GW_PLACE_SOURCES(X)
#undef X
        GW_PLACE_SOURCE_COUNT
};

/* What there is to know: name, word. */
#define GW_PLACE_FIELDS(X)                                                     \
    X(GW_PLACE_RANK, "rank")                                                   \
    X(GW_PLACE_SIZE, "size")                                                   \
    X(GW_PLACE_LOCAL_RANK, "local rank")                                       \
    X(GW_PLACE_LOCAL_SIZE, "local size")                                       \
    X(GW_PLACE_RENDEZVOUS, "rendezvous")                                       \
    X(GW_PLACE_JOB, "job")                                                     \
    X(GW_PLACE_RESTARTS, "restarts")                                           \
    X(GW_PLACE_INCARNATION, "incarnation")                                     \
    X(GW_PLACE_MIN_SIZE, "min size")                                           \
    X(GW_PLACE_MAX_SIZE, "max size")                                           \
    X(GW_PLACE_WIRE, "wire")

enum gw_place_field {
#define X(name, word) name,
    GW_PLACE_FIELDS(X)
#undef X
        GW_PLACE_FIELD_COUNT
};

enum { GW_PLACE_TEXT_BYTES = 256 };

/* Where one field comes from. `how` is the variable ("OMPI_COMM_WORLD_RANK") or
 * the rule ("first host of SLURM_STEP_NODELIST, port of the job id"). */
struct gw_place_origin {
    enum gw_place_source source; /* GW_PLACE_NOBODY: the field is not known */
    char how[96];
};

struct gw_place {
    /* Who said the rank; GW_PLACE_NOBODY: nobody did, the process stands alone
     * (rank 0 of 1). */
    enum gw_place_source source;
    unsigned seen; /* bit 1 << source: said a rank or a size */
    unsigned rank, size;
    unsigned local_rank, local_size; /* among those of this host; size 0: not
                                        known */
    char rendezvous[GW_PLACE_TEXT_BYTES]; /* a ZeroMQ endpoint; "": none */
    char job[GW_PLACE_TEXT_BYTES]; /* the same for all ranks of the job and for
                                      no other job; "": not known */
    unsigned restarts;             /* how often the job was started before */
    uint64_t incarnation[2];       /* of this process; 0 0: not drawn yet */
    unsigned min_size, max_size;   /* elastic: rank and size are hints between
                                      these; 0: static */
    char wire[8];                  /* "": not said */
    struct gw_place_origin from[GW_PLACE_FIELD_COUNT];
};

/* "OpenMPI" */
GW_API const char *gw_place_source_name(enum gw_place_source source);
/* "local rank" */
GW_API const char *gw_place_field_name(enum gw_place_field field);
/* The value of a field as text: "3", "ipc://@gradwire-...", or "-" when it is
 * not known. */
GW_API void gw_place_value(const struct gw_place *place,
                           enum gw_place_field field,
                           char text[GW_PLACE_TEXT_BYTES]);

/* Reads the place out of `environment`, an array of "NAME=VALUE" that ends with
 * NULL (as environ). Pure: nothing else is looked at.
 *
 * Each field is taken from the first source, in the order above, that has it
 * and that does not contradict, in rank or size, the sources before it: an
 * mpirun inside of a Slurm job is believed before the step that started it.
 * Slurm counts inside a step only, not in a batch script or an allocation.
 *
 * GW_EINVAL: a source says half of what is needed, and the sentence names what
 * is missing ("RANK is 2, but WORLD_SIZE is not set"), or a value is none
 * ("OMPI_COMM_WORLD_RANK is \"x\", not a number"). That nobody says a rank is
 * no error: source is GW_PLACE_NOBODY. That there is no rendezvous is none
 * either, see gw_place_here. */
GW_API GW_MUST_CHECK enum gw_err gw_place_read(const char *const *environment,
                                               struct gw_place *place,
                                               struct gw_error *why);

/* The place of this process: gw_place_read of its environment, an incarnation
 * drawn at random, and, under MPICH's hydra, whose environment names no job,
 * what the process manager says over PMI_FD: the name of the job and, between
 * hosts, the address that rank 0 has left there (so all ranks must call this;
 * once a process, before MPI_Init; not with GW_RENDEZVOUS set). GW_EINVAL as
 * above, GW_ESYS when the manager does not answer, GW_EUNREACH when rank 0 has
 * several addresses (GW_INTERFACE says which). */
GW_API GW_MUST_CHECK enum gw_err gw_place_here(struct gw_place *place,
                                               struct gw_error *why);

/* Whether all ranks are known to be on one host. */
GW_API bool gw_place_one_host(const struct gw_place *place);

/* Sets rank and size of *config, and rendezvous, wire and interface where they
 * are NULL: on one host the wire is "shm"; between hosts it is "tcp", bound to
 * the address from which the rendezvous is reached, which `interface` holds
 * (over "verbs", too, which has devices to bind to). What *config points to
 * then belongs to `place` and `interface`, which must live until gw_comm_create
 * is over. GW_EINVAL when there are several ranks and no rendezvous,
 * GW_EUNREACH when no interface leads there (the sentence lists those there
 * are). */
GW_API GW_MUST_CHECK enum gw_err
gw_place_config(const struct gw_place *place, struct gw_comm_config *config,
                char interface[GW_PLACE_TEXT_BYTES], struct gw_error *why);

/* A communicator of all ranks of the job, as the environment has it; alone
 * (started by hand, without any engine) it has one rank. `config` may be NULL;
 * what it says is not taken from the environment, but for rank and size, which
 * always are. GRADWIRE_KEY names the
 * key file when config has none, GW_INSECURE=1 allows tcp without one,
 * GW_INTERFACE names the address to bind. All ranks must call it. Errors of
 * gw_place_here and of gw_comm_create. */
GW_API GW_MUST_CHECK enum gw_err
gw_comm_from_env(const struct gw_comm_config *config, struct gw_comm **comm,
                 struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif

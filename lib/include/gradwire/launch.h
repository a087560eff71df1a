/* SPDX-License-Identifier: MIT
 *
 * The place of a process among the ranks of its job, read from the environment
 * that its launcher has set: mpirun of Open MPI or MPICH, srun, torchrun,
 * Kubernetes, `collrun exec`, or variables set by hand.
 *
 * Reading a place is a pure function of the environment, so that a launcher's
 * environment can be tried and tested without the launcher. Only
 * gw_launch_detect uses more: the launcher's own channel, when the environment
 * has no address for the rendezvous. gw_comm_from_env opens connections.
 */
#ifndef GRADWIRE_LAUNCH_H
#define GRADWIRE_LAUNCH_H

#include <gradwire/base.h>
#include <gradwire/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sources of a place, in order of precedence: name, word. */
#define GW_LAUNCH_SOURCES(X)                                                   \
    X(GW_LAUNCH_NONE, "-")                                                     \
    X(GW_LAUNCH_GW, "GW_*")                                                    \
    X(GW_LAUNCH_TORCHRUN, "torchrun")                                          \
    X(GW_LAUNCH_OPENMPI, "OpenMPI")                                            \
    X(GW_LAUNCH_PMIX, "PMIx")                                                  \
    X(GW_LAUNCH_PMI, "PMI")                                                    \
    X(GW_LAUNCH_SLURM, "Slurm")                                                \
    X(GW_LAUNCH_KUBERNETES, "Kubernetes")

enum gw_launch_env_source {
#define X(name, word) name,
    GW_LAUNCH_SOURCES(X)
#undef X
        GW_LAUNCH_SOURCE_COUNT
};

/* The fields of a place: name, word. */
#define GW_LAUNCH_FIELDS(X)                                                    \
    X(GW_LAUNCH_RANK, "rank")                                                  \
    X(GW_LAUNCH_SIZE, "size")                                                  \
    X(GW_LAUNCH_LOCAL_RANK, "local rank")                                      \
    X(GW_LAUNCH_LOCAL_SIZE, "local size")                                      \
    X(GW_LAUNCH_RENDEZVOUS, "rendezvous")                                      \
    X(GW_LAUNCH_JOB, "job")                                                    \
    X(GW_LAUNCH_RESTARTS, "restarts")                                          \
    X(GW_LAUNCH_INCARNATION, "incarnation")                                    \
    X(GW_LAUNCH_MIN_SIZE, "min size")                                          \
    X(GW_LAUNCH_MAX_SIZE, "max size")                                          \
    X(GW_LAUNCH_WIRE, "wire")

enum gw_launch_env_field {
#define X(name, word) name,
    GW_LAUNCH_FIELDS(X)
#undef X
        GW_LAUNCH_FIELD_COUNT
};

enum { GW_LAUNCH_TEXT_BYTES = 256 };

/* The origin of one field. `how` is the variable ("OMPI_COMM_WORLD_RANK") or
 * the rule ("first host of SLURM_STEP_NODELIST, port of the job id"). */
struct gw_launch_env_origin {
    enum gw_launch_env_source source; /* GW_LAUNCH_NONE: field not known */
    char how[96];
};

/* A place. */
struct gw_launch_env {
    /* The source of the rank. GW_LAUNCH_NONE: none, the process is rank 0
     * of 1. */
    enum gw_launch_env_source source;
    unsigned seen; /* bit 1 << source: it has a rank or a size */
    unsigned rank, size;
    unsigned local_rank, local_size; /* on this host; size 0: not known */
    /* A ZeroMQ endpoint; "": none. */
    char rendezvous[GW_LAUNCH_TEXT_BYTES];
    /* The same for all ranks of the job, and unique; "": not known. */
    char job[GW_LAUNCH_TEXT_BYTES];
    unsigned restarts;       /* number of earlier starts of the job */
    uint64_t incarnation[2]; /* of this process; 0 0: not drawn yet */
    /* Elastic job: rank and size are hints, the size is between these two.
     * 0: the job is static. */
    unsigned min_size, max_size;
    char wire[8]; /* "": not set */
    struct gw_launch_env_origin from[GW_LAUNCH_FIELD_COUNT];
};

/* Returns the word of a source: "OpenMPI". */
GW_API const char *gw_launch_source_name(enum gw_launch_env_source source);
/* Returns the word of a field: "local rank". */
GW_API const char *gw_launch_field_name(enum gw_launch_env_field field);
/* Writes the value of a field as text: "3", "ipc://@gradwire-..."; "-" if it is
 * not known. */
GW_API void gw_launch_env_value(const struct gw_launch_env *env,
                                enum gw_launch_env_field field,
                                char text[GW_LAUNCH_TEXT_BYTES]);

/* Reads the place from `environment`, an array of "NAME=VALUE" that ends with
 * NULL (as environ). A pure function.
 *
 * Each field comes from the first source, in the order above, that has it and
 * does not contradict an earlier source in rank or size: an mpirun inside of a
 * Slurm job takes precedence over the step that started it. Slurm counts only
 * inside a step, not in a batch script or an allocation.
 *
 * GW_EINVAL: a source is incomplete, and the sentence names the missing
 * variable ("RANK is 2, but WORLD_SIZE is not set"), or a value is invalid
 * ("OMPI_COMM_WORLD_RANK is \"x\", not a number"). A missing rank is not an
 * error: the source is then GW_LAUNCH_NONE. Nor is a missing rendezvous; see
 * gw_launch_detect. */
GW_API GW_MUST_CHECK enum gw_err
gw_launch_env_read(const char *const *environment, struct gw_launch_env *env,
                   struct gw_error *why);

/* Reads the place of this process: gw_launch_env_read of its environment, with
 * a random incarnation. The environment of MPICH's hydra has no name of the
 * job: there the function requests it from the process manager over PMI_FD, and
 * between hosts also the address that rank 0 has stored there. So all ranks
 * must call it, once per process, before MPI_Init. It is not needed with
 * GW_RENDEZVOUS. GW_EINVAL: as in gw_launch_env_read. GW_ESYS: the process
 * manager does not answer. GW_EUNREACH: rank 0 has several addresses;
 * GW_INTERFACE selects one. */
GW_API GW_MUST_CHECK enum gw_err gw_launch_detect(struct gw_launch_env *env,
                                                  struct gw_error *why);

/* Returns whether all ranks are known to be on one host. */
GW_API bool gw_launch_env_one_host(const struct gw_launch_env *env);

/* Fills the configuration of a communicator from a place: rank and size of
 * *config, and rendezvous, wire and interface where they are NULL. On one host
 * the wire is "shm". Between hosts it is "tcp", bound to the address from which
 * the rendezvous is reached; it is written to `interface` (also for "verbs", to
 * select the device). The pointers in *config then point into `place` and
 * `interface`, which must outlive gw_comm_create. GW_EINVAL: several ranks and
 * no rendezvous. GW_EUNREACH: no interface leads to the rendezvous; the
 * sentence lists the interfaces. */
GW_API GW_MUST_CHECK enum gw_err
gw_launch_config(const struct gw_launch_env *env, struct gw_comm_config *config,
                 char interface[GW_LAUNCH_TEXT_BYTES], struct gw_error *why);

/* Creates a communicator of all ranks of the job, from the environment. Without
 * a launcher it has one rank. `config` may be NULL; its other fields take
 * precedence over the environment, but rank and size always come from the
 * environment. GRADWIRE_KEY names the key file if config has none,
 * GW_INSECURE=1 allows tcp without a key, GW_INTERFACE names the address to
 * bind. All ranks must call it. Errors of gw_launch_detect and
 * gw_comm_create. */
GW_API GW_MUST_CHECK enum gw_err
gw_comm_from_env(const struct gw_comm_config *config, struct gw_comm **comm,
                 struct gw_error *why);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT
 *
 * The place of this process and its communicator: the part of gradwire/launch.h
 * that is not pure.
 */
#include "launch_env.h"

#include "base/whole.h"
#include "wire/address.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- where this process is ---- */

struct answer {
    char name[GW_LAUNCH_TEXT_BYTES]; /* of the job */
    char host[GW_LAUNCH_TEXT_BYTES]; /* of rank 0, if there are several */
};

static enum gw_err find_address(const struct gw_launch_env *env, int fd,
                                struct answer *answer, struct gw_error *why)
{
    char own[GW_LAUNCH_TEXT_BYTES] = "";
    const char *text = getenv("GW_INTERFACE");
    if (gw_launch_env_one_host(env))
        return gw__launch_env_query_pmi(fd, NULL, answer->name, answer->host,
                                        why);
    enum gw_err err = GW_OK;
    if (env->rank == 0)
        err = text ? gw__address_own(text, NULL, own, why)
                   : gw__address_only("rank 0", AF_INET, own, why);
    return err ? err
               : gw__launch_env_query_pmi(fd, own, answer->name, answer->host,
                                          why);
}

/* The manager is asked only once: it accepts one conversation per process. */
static enum gw_err query_once(const struct gw_launch_env *env, int fd,
                              struct answer *answer, struct gw_error *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct answer known;
    enum gw_err err = GW_OK;
    pthread_mutex_lock(&lock);
    if (!known.name[0])
        err = find_address(env, fd, &known, why);
    if (err)
        known.name[0] = 0;
    *answer = known;
    pthread_mutex_unlock(&lock);
    return err;
}

static enum gw_err query_manager(struct gw_launch_env *env,
                                 struct gw_error *why)
{
    const char *text = getenv("PMI_FD");
    struct answer answer;
    uint64_t fd;
    if (env->source != GW_LAUNCH_PMI || env->rendezvous[0] || !text ||
        env->size == 1)
        return GW_OK;
    if (!gw__whole_read(&text, INT_MAX, &fd) || *text)
        return gw_fail(why, GW_EINVAL, "PMI_FD is \"%.40s\", not a number",
                       getenv("PMI_FD"));
    enum gw_err err = query_once(env, (int)fd, &answer, why);
    if (!err)
        err = gw__launch_env_set(env, GW_LAUNCH_JOB, GW_LAUNCH_PMI,
                                 "PMI_FD, its KVS name", answer.name, why);
    if (err)
        return err;
    if (answer.host[0])
        gw__launch_env_rendezvous_at(
            env, GW_LAUNCH_PMI, "PMI_FD, the value from rank 0", answer.host);
    else
        gw__launch_env_rendezvous((const char *const *)environ, env);
    return GW_OK;
}

static enum gw_err draw_incarnation(struct gw_launch_env *env,
                                    struct gw_error *why)
{
    struct gw_launch_env_origin *from = &env->from[GW_LAUNCH_INCARNATION];
    if (gw__launch_env_knows(env, GW_LAUNCH_INCARNATION))
        return GW_OK;
    if (getrandom(env->incarnation, sizeof env->incarnation, 0) !=
        sizeof env->incarnation)
        return gw_fail_errno(why, "getrandom");
    from->source = GW_LAUNCH_GW;
    snprintf(from->how, sizeof from->how, "chosen at this start");
    return GW_OK;
}

enum gw_err gw_launch_detect(struct gw_launch_env *env, struct gw_error *why)
{
    enum gw_err err =
        gw_launch_env_read((const char *const *)environ, env, why);
    if (!err)
        err = draw_incarnation(env, why);
    if (!err)
        err = query_manager(env, why);
    return err;
}

/* ---- its communicator ---- */

/* Are all ranks on one host, as far as known? If no engine counts the ranks of
 * this host, an address that is local to a host proves it. */
static bool on_one_host(const struct gw_launch_env *env)
{
    static const char *const local[] = {"ipc://", "tcp://127.",
                                        "tcp://localhost:", "tcp://[::1]:"};
    if (env->local_size > 0 || env->size == 1)
        return gw_launch_env_one_host(env);
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (strncmp(env->rendezvous, local[i], strlen(local[i])) == 0)
            return true;
    return false;
}

static enum gw_err no_rendezvous(const struct gw_launch_env *env,
                                 struct gw_error *why)
{
    const char *hint = "";
    if (env->source == GW_LAUNCH_KUBERNETES)
        hint = ", or GW_SERVICE to the name of the job's headless service";
    else if (env->source == GW_LAUNCH_TORCHRUN)
        hint = ", or MASTER_ADDR and MASTER_PORT";
    return gw_fail(why, GW_EINVAL,
                   "rank %u of %u (%s): the rendezvous address is unknown; set "
                   "GW_RENDEZVOUS=tcp://HOST:PORT%s",
                   env->rank, env->size, gw_launch_source_name(env->source),
                   hint);
}

enum gw_err gw_launch_config(const struct gw_launch_env *env,
                             struct gw_comm_config *config,
                             char interface[GW_LAUNCH_TEXT_BYTES],
                             struct gw_error *why)
{
    config->rank = env->rank;
    config->size = env->size;
    if (!config->rendezvous && env->rendezvous[0])
        config->rendezvous = env->rendezvous;
    if (env->size > 1 && !config->rendezvous)
        return no_rendezvous(env, why);
    if (!config->wire && env->wire[0])
        config->wire = env->wire;
    bool one_host = on_one_host(env);
    if (!config->wire)
        config->wire = one_host ? "shm" : "tcp";
    bool tcp = strcmp(config->wire, "tcp") == 0;
    if (one_host || !(tcp || strcmp(config->wire, "verbs") == 0))
        return GW_OK;
    const char *text = tcp ? config->interface : NULL;
    if (tcp) /* verbs has devices to choose from */
        config->interface = interface;
    return text ? gw__address_own(text, config->rendezvous, interface, why)
                : gw__address_towards(config->rendezvous, interface, why);
}

enum gw_err gw_comm_from_env(const struct gw_comm_config *base_config,
                             struct gw_comm **comm, struct gw_error *why)
{
    struct gw_comm_config config = {.rank = 0};
    struct gw_launch_env env;
    char interface[GW_LAUNCH_TEXT_BYTES];
    const char *insecure = getenv("GW_INSECURE");
    if (base_config)
        config = *base_config;
    if (!config.key_file)
        config.key_file = getenv("GRADWIRE_KEY");
    if (!config.interface)
        config.interface = getenv("GW_INTERFACE");
    config.insecure |= insecure && strcmp(insecure, "1") == 0;
    *comm = NULL;
    enum gw_err err = gw_launch_detect(&env, why);
    if (!err)
        err = gw_launch_config(&env, &config, interface, why);
    return err ? err : gw_comm_create(&config, comm, why);
}

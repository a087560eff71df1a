/* SPDX-License-Identifier: MIT
 *
 * The engines and their variables. Sources: PyTorch's "torchrun (Elastic
 * Launch)"; mpirun(1) of Open MPI, "Environmental Variables"; PMIx Standard
 * 4.1, section 5.1; the variables of MPICH's hydra (MPI_LOCALRANKID next to
 * PMI_RANK); srun(1), "OUTPUT ENVIRONMENT VARIABLES"; Kubernetes, "Indexed
 * Job".
 */
#include "launch_env.h"

#include "base/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_one(const char *text)
{
    return text && strcmp(text, "1") == 0;
}

/* All ranks are on this host, according to `how`. */
static enum gw_err all_are_local(struct gw_launch_env *env,
                                 enum gw_launch_env_source source,
                                 const char *how, struct gw_error *why)
{
    char size[GW_LAUNCH_TEXT_BYTES];
    if (gw__launch_env_knows(env, GW_LAUNCH_LOCAL_SIZE) ||
        !gw__launch_env_knows(env, GW_LAUNCH_SIZE))
        return GW_OK;
    gw_launch_env_value(env, GW_LAUNCH_SIZE, size);
    return gw__launch_env_set(env, GW_LAUNCH_LOCAL_SIZE, source, how, size,
                              why);
}

/* ---- torchrun ---- */

/* Rank 0 may listen at MASTER_ADDR:MASTER_PORT, unless torchrun's agent does so
 * itself; then launch_rendezvous.c chooses another port. */
static enum gw_err torchrun_more(const char *const *environment,
                                 struct gw_launch_env *env,
                                 struct gw_error *why)
{
    const char *host = gw__launch_env_lookup(environment, "MASTER_ADDR", NULL);
    const char *port = gw__launch_env_lookup(environment, "MASTER_PORT", NULL);
    const char *agent = gw__launch_env_lookup(
        environment, "TORCHELASTIC_USE_AGENT_STORE", NULL);
    if (!host != !port)
        return gw_fail(why, GW_EINVAL, "%s is set, but %s is not",
                       host ? "MASTER_ADDR" : "MASTER_PORT",
                       host ? "MASTER_PORT" : "MASTER_ADDR");
    if (!host)
        return GW_OK;
    char text[GW_LAUNCH_TEXT_BYTES];
    bool six = strchr(host, ':') && host[0] != '[';
    snprintf(text, sizeof text,
             six ? "tcp://[%.200s]:%.8s" : "tcp://%.200s:%.8s", host, port);
    if (!agent || strcmp(agent, "True") != 0)
        return gw__launch_env_set(env, GW_LAUNCH_RENDEZVOUS, GW_LAUNCH_TORCHRUN,
                                  "MASTER_ADDR, MASTER_PORT", text, why);
    const char *run =
        gw__launch_env_lookup(environment, "TORCHELASTIC_RUN_ID", NULL);
    char job[GW_LAUNCH_TEXT_BYTES];
    snprintf(job, sizeof job, "%.100s %.120s", run ? run : "none", text + 6);
    return gw__launch_env_set(env, GW_LAUNCH_JOB, GW_LAUNCH_TORCHRUN,
                              "TORCHELASTIC_RUN_ID, MASTER_ADDR, MASTER_PORT",
                              job, why);
}

static const char *torchrun_host(const char *const *environment,
                                 const struct gw_launch_env *env,
                                 char host[GW_LAUNCH_TEXT_BYTES])
{
    (void)env;
    const char *master =
        gw__launch_env_lookup(environment, "MASTER_ADDR", NULL);
    if (!master)
        return NULL;
    snprintf(host, GW_LAUNCH_TEXT_BYTES, "%s", master);
    return "MASTER_ADDR";
}

/* ---- Open MPI ---- */

/* In this order: a random key of the job, its number, and its name (version 5
 * and later). */
static const char openmpi_job[] =
    "OMPI_MCA_orte_precondition_transports|OMPI_MCA_ess_base_jobid|"
    "PMIX_NAMESPACE";

/* "1015414784.0;tcp://192.0.2.2:54991;tcp6://[fd00::2]:52631": the addresses of
 * mpirun itself. Its host is that of rank 0, unless an option excludes mpirun's
 * own host. */
static const char *openmpi_host(const char *const *environment,
                                const struct gw_launch_env *env,
                                char host[GW_LAUNCH_TEXT_BYTES])
{
    (void)env;
    const char *uri =
        gw__launch_env_lookup(environment, "OMPI_MCA_orte_hnp_uri", NULL);
    const char *address = uri ? strstr(uri, "tcp://") : NULL;
    if (!address)
        return NULL;
    address += strlen("tcp://");
    size_t length = strcspn(address, ":,;");
    if (length == 0 || length >= GW_LAUNCH_TEXT_BYTES)
        return NULL;
    snprintf(host, GW_LAUNCH_TEXT_BYTES, "%.*s", (int)length, address);
    return "OMPI_MCA_orte_hnp_uri";
}

static enum gw_err openmpi_more(const char *const *environment,
                                struct gw_launch_env *env, struct gw_error *why)
{
    if (!is_one(gw__launch_env_lookup(environment, "OMPI_MCA_orte_num_nodes",
                                      NULL)))
        return GW_OK;
    return all_are_local(env, GW_LAUNCH_OPENMPI, "OMPI_MCA_orte_num_nodes",
                         why);
}

/* ---- Slurm ---- */

/* A batch script and an allocation have a job, a batch script even a
 * SLURM_PROCID, but no step; steps of Slurm itself have numbers from 0xfffffffa
 * on (slurm.h: SLURM_BATCH_SCRIPT, SLURM_INTERACTIVE_STEP). */
static bool in_a_step(const char *const *environment)
{
    enum { DIGITS_MOST = 10 };
    const char *step =
        gw__launch_env_lookup(environment, "SLURM_STEP_ID|SLURM_STEPID", NULL);
    return step && strlen(step) <= DIGITS_MOST &&
           strtoul(step, NULL, 10) < 0xfffffff0U &&
           gw__launch_env_lookup(environment, "SLURM_PROCID", NULL);
}

/* "4(x2),2": the number of tasks on node `node_text`; 0: unknown. */
static unsigned tasks_of_node(const char *list, const char *node_text)
{
    uint64_t node, tasks, times = 1;
    if (!gw__whole_read(&node_text, UINT32_MAX, &node))
        return 0;
    while (gw__whole_read(&list, UINT32_MAX, &tasks)) {
        bool repeated = strncmp(list, "(x", 2) == 0;
        list += repeated ? 2 : 0;
        if (repeated && !gw__whole_read(&list, UINT32_MAX, &times))
            return 0;
        if (node < times)
            return (unsigned)tasks;
        node -= times;
        times = 1;
        list += strspn(list, "),");
    }
    return 0;
}

static enum gw_err slurm_local_size(const char *const *environment,
                                    struct gw_launch_env *env,
                                    struct gw_error *why)
{
    char name[64], text[16];
    const char *list = gw__launch_env_lookup(
        environment, "SLURM_STEP_TASKS_PER_NODE|SLURM_TASKS_PER_NODE", name);
    const char *node = gw__launch_env_lookup(environment, "SLURM_NODEID", NULL);
    unsigned tasks = list && node ? tasks_of_node(list, node) : 0;
    if (tasks > 0) {
        snprintf(text, sizeof text, "%u", tasks);
        return gw__launch_env_set(env, GW_LAUNCH_LOCAL_SIZE, GW_LAUNCH_SLURM,
                                  name, text, why);
    }
    if (is_one(gw__launch_env_lookup(
            environment, "SLURM_STEP_NUM_NODES|SLURM_NNODES", name)))
        return all_are_local(env, GW_LAUNCH_SLURM, name, why);
    return GW_OK;
}

static enum gw_err slurm_more(const char *const *environment,
                              struct gw_launch_env *env, struct gw_error *why)
{
    char text[64];
    const char *job =
        gw__launch_env_lookup(environment, "SLURM_JOB_ID|SLURM_JOBID", NULL);
    const char *step =
        gw__launch_env_lookup(environment, "SLURM_STEP_ID|SLURM_STEPID", NULL);
    enum gw_err err = slurm_local_size(environment, env, why);
    if (err || !job || !step)
        return err;
    snprintf(text, sizeof text, "%.30s.%.20s", job, step);
    return gw__launch_env_set(env, GW_LAUNCH_JOB, GW_LAUNCH_SLURM,
                              "SLURM_JOB_ID, SLURM_STEP_ID", text, why);
}

static const char *slurm_host(const char *const *environment,
                              const struct gw_launch_env *env,
                              char host[GW_LAUNCH_TEXT_BYTES])
{
    (void)env;
    const char *list = gw__launch_env_lookup(
        environment, "SLURM_STEP_NODELIST|SLURM_NODELIST", NULL);
    if (!list)
        return NULL;
    gw__launch_env_first_host(list, host);
    return host[0] ? "first host of SLURM_STEP_NODELIST" : NULL;
}

/* ---- Kubernetes ---- */

/* The pods of an Indexed Job are called JOB-INDEX. With a headless service all
 * of them can resolve these names. */
static const char *kubernetes_host(const char *const *environment,
                                   const struct gw_launch_env *env,
                                   char host[GW_LAUNCH_TEXT_BYTES])
{
    char end[16];
    const char *pod = gw__launch_env_lookup(environment, "HOSTNAME", NULL);
    const char *service =
        gw__launch_env_lookup(environment, "GW_SERVICE", NULL);
    snprintf(end, sizeof end, "-%u", env->rank);
    size_t length = pod ? strlen(pod) : 0, tail = strlen(end);
    if (!service || length <= tail || length > 64 ||
        strcmp(pod + length - tail, end) != 0)
        return NULL;
    snprintf(host, GW_LAUNCH_TEXT_BYTES, "%.*s-0.%.150s", (int)(length - tail),
             pod, service);
    return "HOSTNAME, GW_SERVICE";
}

static enum gw_err kubernetes_more(const char *const *environment,
                                   struct gw_launch_env *env,
                                   struct gw_error *why)
{
    char host[GW_LAUNCH_TEXT_BYTES];
    if (!kubernetes_host(environment, env, host))
        return GW_OK;
    return gw__launch_env_set(env, GW_LAUNCH_JOB, GW_LAUNCH_KUBERNETES,
                              "HOSTNAME, GW_SERVICE", host, why);
}

/* ---- all ---- */

const struct gw__engine gw__engines[] = {
    {
        .source = GW_LAUNCH_GW,
        .variables = {[GW_LAUNCH_RANK] = "GW_RANK",
                      [GW_LAUNCH_SIZE] = "GW_SIZE",
                      [GW_LAUNCH_LOCAL_RANK] = "GW_LOCAL_RANK",
                      [GW_LAUNCH_LOCAL_SIZE] = "GW_LOCAL_SIZE",
                      [GW_LAUNCH_RENDEZVOUS] = "GW_RENDEZVOUS",
                      [GW_LAUNCH_JOB] = "GW_JOB",
                      [GW_LAUNCH_RESTARTS] = "GW_RESTARTS",
                      [GW_LAUNCH_INCARNATION] = "GW_INCARNATION",
                      [GW_LAUNCH_MIN_SIZE] = "GW_MIN_SIZE",
                      [GW_LAUNCH_MAX_SIZE] = "GW_MAX_SIZE",
                      [GW_LAUNCH_WIRE] = "GW_WIRE"},
    },
    {
        .source = GW_LAUNCH_TORCHRUN,
        .variables = {[GW_LAUNCH_RANK] = "RANK",
                      [GW_LAUNCH_SIZE] = "WORLD_SIZE",
                      [GW_LAUNCH_LOCAL_RANK] = "LOCAL_RANK",
                      [GW_LAUNCH_LOCAL_SIZE] = "LOCAL_WORLD_SIZE",
                      [GW_LAUNCH_RESTARTS] = "TORCHELASTIC_RESTART_COUNT"},
        .more = torchrun_more,
        .first_host = torchrun_host,
    },
    {
        .source = GW_LAUNCH_OPENMPI,
        .variables = {[GW_LAUNCH_RANK] = "OMPI_COMM_WORLD_RANK",
                      [GW_LAUNCH_SIZE] = "OMPI_COMM_WORLD_SIZE",
                      [GW_LAUNCH_LOCAL_RANK] = "OMPI_COMM_WORLD_LOCAL_RANK",
                      [GW_LAUNCH_LOCAL_SIZE] = "OMPI_COMM_WORLD_LOCAL_SIZE",
                      [GW_LAUNCH_JOB] = openmpi_job},
        .more = openmpi_more,
        .first_host = openmpi_host,
    },
    {
        /* Only libpmix knows the size. */
        .source = GW_LAUNCH_PMIX,
        .variables = {[GW_LAUNCH_RANK] = "PMIX_RANK",
                      [GW_LAUNCH_JOB] = "PMIX_NAMESPACE"},
    },
    {
        .source = GW_LAUNCH_PMI,
        .variables = {[GW_LAUNCH_RANK] = "PMI_RANK|PMI_ID",
                      [GW_LAUNCH_SIZE] = "PMI_SIZE",
                      [GW_LAUNCH_LOCAL_RANK] = "MPI_LOCALRANKID",
                      [GW_LAUNCH_LOCAL_SIZE] = "MPI_LOCALNRANKS",
                      [GW_LAUNCH_JOB] = "PMI_JOBID"},
    },
    {
        .source = GW_LAUNCH_SLURM,
        .variables = {[GW_LAUNCH_RANK] = "SLURM_PROCID",
                      [GW_LAUNCH_SIZE] =
                          "SLURM_STEP_NUM_TASKS|SLURM_NTASKS|SLURM_NPROCS",
                      [GW_LAUNCH_LOCAL_RANK] = "SLURM_LOCALID",
                      [GW_LAUNCH_RESTARTS] = "SLURM_RESTART_COUNT"},
        .counts = in_a_step,
        .more = slurm_more,
        .first_host = slurm_host,
    },
    {
        .source = GW_LAUNCH_KUBERNETES,
        .variables = {[GW_LAUNCH_RANK] = "JOB_COMPLETION_INDEX"},
        .more = kubernetes_more,
        .first_host = kubernetes_host,
    },
    {.source = GW_LAUNCH_NONE},
};

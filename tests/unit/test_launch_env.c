/* SPDX-License-Identifier: MIT
 *
 * The place of a rank, from environments as the launchers make them. Those of
 * Open MPI 4.1, MPICH 4.0, torchrun and Slurm are real output, without the
 * variables that are not read.
 */
#include "coll/launch_env/launch_env.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

Suite *suite_launch_env(void);

enum { VARIABLES_MOST = 24 };

struct row {
    const char *environment[VARIABLES_MOST];
    enum gw_launch_env_source source;
    unsigned rank, size, local_rank, local_size, restarts;
    /* The rendezvous, or its beginning if it ends in "..."; "": none. */
    const char *rendezvous;
    bool one_host;
};

#define OPENMPI(rank)                                                          \
    "OMPI_COMM_WORLD_RANK=" rank, "OMPI_COMM_WORLD_SIZE=4",                    \
        "OMPI_COMM_WORLD_LOCAL_RANK=" rank, "OMPI_COMM_WORLD_LOCAL_SIZE=4",    \
        "OMPI_MCA_orte_num_nodes=1", "OMPI_MCA_ess_base_jobid=1015414785",     \
        "PMIX_RANK=" rank, "PMIX_NAMESPACE=1015414785"
#define SLURM(rank)                                                            \
    "SLURM_JOB_ID=42", "SLURM_STEP_ID=1", "SLURM_PROCID=" rank,                \
        "SLURM_STEP_NUM_TASKS=6", "SLURM_LOCALID=1",                           \
        "SLURM_STEP_NODELIST=node[03-04,07]",                                  \
        "SLURM_STEP_TASKS_PER_NODE=2(x3)", "SLURM_NODEID=1"

static const struct row rows[] = {
    {.environment = {"HOME=/root"},
     .size = 1,
     .rendezvous = "",
     .one_host = true},
    {.environment = {"GW_RANK=2", "GW_SIZE=3", "GW_RENDEZVOUS=tcp://h:1",
                     "GW_RESTARTS=4"},
     .source = GW_LAUNCH_GW,
     .rank = 2,
     .size = 3,
     .restarts = 4,
     .rendezvous = "tcp://h:1"},
    {.environment = {"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1",
                     "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=10.0.0.1",
                     "MASTER_PORT=29500", "TORCHELASTIC_RESTART_COUNT=2"},
     .source = GW_LAUNCH_TORCHRUN,
     .rank = 5,
     .size = 8,
     .local_rank = 1,
     .local_size = 4,
     .restarts = 2,
     .rendezvous = "tcp://10.0.0.1:29500"},
    {.environment = {"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=fd00::1",
                     "MASTER_PORT=29500"},
     .source = GW_LAUNCH_TORCHRUN,
     .size = 2,
     .rendezvous = "tcp://[fd00::1]:29500"},
    /* The agent itself listens on MASTER_PORT. */
    {.environment = {"RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0",
                     "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=10.0.0.1",
                     "MASTER_PORT=29500", "TORCHELASTIC_USE_AGENT_STORE=True"},
     .source = GW_LAUNCH_TORCHRUN,
     .size = 2,
     .local_size = 1,
     .rendezvous = "tcp://10.0.0.1:..."},
    {.environment = {OPENMPI("3")},
     .source = GW_LAUNCH_OPENMPI,
     .rank = 3,
     .size = 4,
     .local_rank = 3,
     .local_size = 4,
     .rendezvous = "ipc://@gradwire-...",
     .one_host = true},
    {.environment = {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4",
                     "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                     "OMPI_MCA_ess_base_jobid=7",
                     "OMPI_MCA_orte_hnp_uri=7.0;tcp://192.0.2.2,10.0.0.2:54991;"
                     "tcp6://[fd00::2]:52631"},
     .source = GW_LAUNCH_OPENMPI,
     .rank = 1,
     .size = 4,
     .local_size = 2,
     .rendezvous = "tcp://192.0.2.2:..."},
    {.environment = {"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1",
                     "MPI_LOCALNRANKS=2", "PMI_FD=8"},
     .source = GW_LAUNCH_PMI,
     .rank = 1,
     .size = 2,
     .local_rank = 1,
     .local_size = 2,
     .rendezvous = "",
     .one_host = true},
    {.environment = {SLURM("3")},
     .source = GW_LAUNCH_SLURM,
     .rank = 3,
     .size = 6,
     .local_rank = 1,
     .local_size = 2,
     .rendezvous = "tcp://node03:..."},
    {.environment = {"SLURM_JOB_ID=42", "SLURM_STEP_ID=0", "SLURM_PROCID=1",
                     "SLURM_NTASKS=2", "SLURM_LOCALID=1", "SLURM_NNODES=1"},
     .source = GW_LAUNCH_SLURM,
     .rank = 1,
     .size = 2,
     .local_rank = 1,
     .local_size = 2,
     .rendezvous = "ipc://@gradwire-...",
     .one_host = true},
    /* srun --mpi=pmix: the rank is from PMIx, the rest from the step. */
    {.environment = {SLURM("3"), "PMIX_RANK=3", "PMIX_NAMESPACE=slurm.42.1"},
     .source = GW_LAUNCH_PMIX,
     .rank = 3,
     .size = 6,
     .local_rank = 1,
     .local_size = 2,
     .rendezvous = "tcp://node03:..."},
    /* A batch script, an allocation, an interactive step: not our step. */
    {.environment = {"SLURM_JOB_ID=42", "SLURM_PROCID=0", "SLURM_NTASKS=8"},
     .size = 1,
     .rendezvous = "",
     .one_host = true},
    {.environment = {"SLURM_JOB_ID=42", "SLURM_STEP_ID=4294967290",
                     "SLURM_PROCID=0", "SLURM_NTASKS=8"},
     .size = 1,
     .rendezvous = "",
     .one_host = true},
    /* mpirun's daemons run in a step, but the ranks that they start do not
     * belong to it. */
    {.environment = {SLURM("2"), OPENMPI("3")},
     .source = GW_LAUNCH_OPENMPI,
     .rank = 3,
     .size = 4,
     .local_rank = 3,
     .local_size = 4,
     .rendezvous = "ipc://@gradwire-...",
     .one_host = true},
    {.environment = {"JOB_COMPLETION_INDEX=2", "GW_SIZE=3", "GW_SERVICE=ring",
                     "HOSTNAME=train-2"},
     .source = GW_LAUNCH_KUBERNETES,
     .rank = 2,
     .size = 3,
     .rendezvous = "tcp://train-0.ring:..."},
    {.environment = {"JOB_COMPLETION_INDEX=2", "GW_SIZE=3",
                     "GW_RENDEZVOUS=tcp://train-0.ring:29400"},
     .source = GW_LAUNCH_KUBERNETES,
     .rank = 2,
     .size = 3,
     .rendezvous = "tcp://train-0.ring:29400"},
    /* An explicit setting has precedence. */
    {.environment = {OPENMPI("1"), "GW_RENDEZVOUS=ipc://@mine"},
     .source = GW_LAUNCH_OPENMPI,
     .rank = 1,
     .size = 4,
     .local_rank = 1,
     .local_size = 4,
     .rendezvous = "ipc://@mine",
     .one_host = true},
};

static bool is_rendezvous(const char *rendezvous, const char *expected)
{
    size_t length = strlen(expected);
    if (length > 3 && strcmp(expected + length - 3, "...") == 0)
        return strncmp(rendezvous, expected, length - 3) == 0 &&
               strlen(rendezvous) > length - 3;
    return strcmp(rendezvous, expected) == 0;
}

START_TEST(engines_give_ranks)
{
    const struct row *row = &rows[_i];
    struct gw_launch_env env;
    struct gw_error why;
    ck_assert_msg(!gw_launch_env_read(row->environment, &env, &why), "%s",
                  why.text);
    ck_assert_int_eq(env.source, row->source);
    ck_assert_uint_eq(env.rank, row->rank);
    ck_assert_uint_eq(env.size, row->size);
    ck_assert_uint_eq(env.local_rank, row->local_rank);
    ck_assert_uint_eq(env.local_size, row->local_size);
    ck_assert_uint_eq(env.restarts, row->restarts);
    ck_assert_msg(is_rendezvous(env.rendezvous, row->rendezvous), "%s, not %s",
                  env.rendezvous, row->rendezvous);
    ck_assert_int_eq(gw_launch_env_one_host(&env), row->one_host);
}
END_TEST

struct wrong {
    const char *environment[VARIABLES_MOST];
    const char *sentence;
};

static const struct wrong wrongs[] = {
    {{"GW_RANK=1"}, "GW_RANK is 1, but GW_SIZE is not set"},
    {{"GW_SIZE=4"}, "GW_SIZE is 4, but GW_RANK is not set"},
    {{"RANK=2"}, "RANK is 2, but WORLD_SIZE is not set"},
    {{"WORLD_SIZE=2"}, "WORLD_SIZE is 2, but RANK is not set"},
    {{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=h"},
     "torchrun: MASTER_ADDR is set, but MASTER_PORT is not"},
    {{"OMPI_COMM_WORLD_RANK=x", "OMPI_COMM_WORLD_SIZE=4"},
     "OpenMPI: OMPI_COMM_WORLD_RANK: \"x\" is not a number"},
    {{"OMPI_COMM_WORLD_RANK=4", "OMPI_COMM_WORLD_SIZE=4"},
     "OMPI_COMM_WORLD_RANK is 4, but there are only 4 ranks by "
     "OMPI_COMM_WORLD_SIZE"},
    {{"PMI_RANK=1"}, "PMI_RANK is 1, but PMI_SIZE is not set"},
    {{"PMIX_RANK=1"},
     "PMIX_RANK is 1, but GW_SIZE is not set; this launcher does not set the "
     "size"},
    {{"SLURM_STEP_ID=0", "SLURM_PROCID=1"},
     "SLURM_PROCID is 1, but SLURM_STEP_NUM_TASKS is not set"},
    {{"JOB_COMPLETION_INDEX=1"},
     "JOB_COMPLETION_INDEX is 1, but GW_SIZE is not set; this launcher does "
     "not set the size"},
    {{"GW_MIN_SIZE=1"},
     "only one of GW_MIN_SIZE and GW_MAX_SIZE is set; set both"},
    {{"GW_RANK=0", "GW_SIZE=2", "GW_MIN_SIZE=1"},
     "only one of GW_MIN_SIZE and GW_MAX_SIZE is set; set both"},
    {{"GW_RANK=0", "GW_SIZE=2", "GW_MIN_SIZE=3", "GW_MAX_SIZE=2"},
     "GW_MIN_SIZE is 3; it must not exceed GW_MAX_SIZE, which is 2"},
    {{"GW_RANK=0", "GW_SIZE=2", "GW_INCARNATION=12"},
     "GW_*: GW_INCARNATION: \"12\" must have 32 hexadecimal digits"},
};

START_TEST(half_an_environment_names_what_is_missing)
{
    struct gw_launch_env env;
    struct gw_error why;
    ck_assert_int_eq(gw_launch_env_read(wrongs[_i].environment, &env, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, wrongs[_i].sentence);
}
END_TEST

static void read_environment(const char *const *environment,
                             struct gw_launch_env *env)
{
    struct gw_error why;
    ck_assert_msg(!gw_launch_env_read(environment, env, &why), "%s", why.text);
}

START_TEST(all_ranks_of_a_job_join_and_no_others)
{
    const char *const one[] = {OPENMPI("1"), NULL};
    const char *const two[] = {OPENMPI("2"), NULL};
    const char *const again[] = {OPENMPI("1"), "GW_RESTARTS=1", NULL};
    const char *const other[] = {OPENMPI("1"), "GW_JOB=another", NULL};
    struct gw_launch_env a, b, c, d;
    read_environment(one, &a);
    read_environment(two, &b);
    read_environment(again, &c);
    read_environment(other, &d);
    ck_assert_str_eq(a.rendezvous, b.rendezvous);
    ck_assert_str_ne(a.rendezvous, c.rendezvous);
    ck_assert_str_ne(a.rendezvous, d.rendezvous);
}
END_TEST

START_TEST(each_field_has_its_source)
{
    const char *const environment[] = {
        SLURM("3"), "PMIX_RANK=3", "PMIX_NAMESPACE=slurm.42.1",
        "GW_INCARNATION=0123456789abcdef0000000000000001", NULL};
    char text[GW_LAUNCH_TEXT_BYTES];
    struct gw_launch_env env;
    read_environment(environment, &env);
    ck_assert_uint_eq(env.seen, 1U << GW_LAUNCH_PMIX | 1U << GW_LAUNCH_SLURM);
    ck_assert_str_eq(env.from[GW_LAUNCH_RANK].how, "PMIX_RANK");
    ck_assert_str_eq(env.from[GW_LAUNCH_SIZE].how, "SLURM_STEP_NUM_TASKS");
    ck_assert_str_eq(env.from[GW_LAUNCH_RENDEZVOUS].how,
                     "first host of SLURM_STEP_NODELIST, port from the job");
    ck_assert_str_eq(
        gw_launch_source_name(env.from[GW_LAUNCH_RENDEZVOUS].source), "Slurm");
    gw_launch_env_value(&env, GW_LAUNCH_INCARNATION, text);
    ck_assert_str_eq(text, "0123456789abcdef0000000000000001");
    gw_launch_env_value(&env, GW_LAUNCH_MIN_SIZE, text);
    ck_assert_str_eq(text, "-");
}
END_TEST

START_TEST(first_hosts_of_lists)
{
    static const struct {
        const char *list, *host;
    } lists[] = {
        {"node1", "node1"},           {"node1,node2", "node1"},
        {"node[03-04,07]", "node03"}, {"r[1-2]n[08-09]-ib,login", "r1n08-ib"},
        {"a[2,5]b", "a2b"},           {"", ""},
    };
    char host[GW_LAUNCH_TEXT_BYTES];
    gw__launch_env_first_host(lists[_i].list, host);
    ck_assert_str_eq(host, lists[_i].host);
}
END_TEST

START_TEST(unequal_nodes_have_their_own_numbers)
{
    const char *environment[] = {"SLURM_JOB_ID=1",
                                 "SLURM_STEP_ID=0",
                                 "SLURM_PROCID=9",
                                 "SLURM_STEP_NUM_TASKS=11",
                                 "SLURM_STEP_TASKS_PER_NODE=4(x2),3",
                                 "SLURM_NODEID=2",
                                 NULL};
    struct gw_launch_env env;
    read_environment(environment, &env);
    ck_assert_uint_eq(env.local_size, 3);
    environment[5] = "SLURM_NODEID=1";
    read_environment(environment, &env);
    ck_assert_uint_eq(env.local_size, 4);
}
END_TEST

/* A process manager that has written its answers in advance. */
static enum gw_err query_manager(const char *answers, const char *offer,
                                 char name[GW_LAUNCH_TEXT_BYTES],
                                 char host[GW_LAUNCH_TEXT_BYTES],
                                 struct gw_error *why)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(write(ends[1], answers, strlen(answers)),
                     (ssize_t)strlen(answers));
    shutdown(ends[1], SHUT_WR);
    enum gw_err err = gw__launch_env_query_pmi(ends[0], offer, name, host, why);
    close(ends[0]);
    close(ends[1]);
    return err;
}

#define GREETING                                                               \
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"               \
    "cmd=my_kvsname kvsname=kvs_10672_0_53_vm\n"

START_TEST(hydra_names_the_job)
{
    char name[GW_LAUNCH_TEXT_BYTES], host[GW_LAUNCH_TEXT_BYTES];
    struct gw_error why;
    ck_assert_msg(
        !query_manager(GREETING "cmd=finalize_ack\n", NULL, name, host, &why),
        "%s", why.text);
    ck_assert_str_eq(name, "kvs_10672_0_53_vm");
    ck_assert_str_eq(host, "");
}
END_TEST

START_TEST(hydra_passes_on_where_rank_0_is)
{
    static const char rendezvous[] =
        "cmd=barrier_out\n"
        "cmd=get_result rc=0 msg=success value=192.0.2.1\n"
        "cmd=finalize_ack\n";
    char answers[512], name[GW_LAUNCH_TEXT_BYTES], host[GW_LAUNCH_TEXT_BYTES];
    struct gw_error why;
    snprintf(answers, sizeof answers, "%s%s", GREETING, rendezvous);
    ck_assert_msg(!query_manager(answers, "", name, host, &why), "%s",
                  why.text);
    ck_assert_str_eq(host, "192.0.2.1");
    snprintf(answers, sizeof answers, "%s%s%s", GREETING,
             "cmd=put_result rc=0 msg=success\n", rendezvous);
    ck_assert_msg(!query_manager(answers, "192.0.2.1", name, host, &why), "%s",
                  why.text);
    ck_assert_str_eq(host, "192.0.2.1");
}
END_TEST

static const char *const rubbish[] = {
    "",
    "rubbish\n",
    "cmd=response_to_init rc=-1\n",
    "cmd=response_to_init rc=0\ncmd=my_kvsname kvsname=\n",
    GREETING "cmd=barrier_out\ncmd=get_result rc=-1 msg=none\n",
    GREETING "cmd=barrier_out\ncmd=get_result rc=0 msg=success\n",
};

START_TEST(rubbish_from_a_manager_is_an_error)
{
    char name[GW_LAUNCH_TEXT_BYTES], host[GW_LAUNCH_TEXT_BYTES];
    struct gw_error why;
    ck_assert_int_eq(query_manager(rubbish[_i], "", name, host, &why), GW_ESYS);
}
END_TEST

START_TEST(an_environment_leads_to_a_wire)
{
    const char *const same_host[] = {OPENMPI("1"), NULL};
    const char *const wires[] = {OPENMPI("1"), "GW_WIRE=ipc", NULL};
    const char *const nowhere[] = {"GW_RANK=1", "GW_SIZE=2", NULL};
    char interface[GW_LAUNCH_TEXT_BYTES];
    struct gw_launch_env env;
    struct gw_error why;
    struct gw_comm_config config = {.wire = NULL};
    read_environment(same_host, &env);
    ck_assert(!gw_launch_config(&env, &config, interface, &why));
    ck_assert_str_eq(config.wire, "shm");
    ck_assert_uint_eq(config.rank, 1);
    ck_assert_uint_eq(config.size, 4);
    read_environment(wires, &env);
    config = (struct gw_comm_config){.wire = NULL};
    ck_assert(!gw_launch_config(&env, &config, interface, &why));
    ck_assert_str_eq(config.wire, "ipc");
    read_environment(nowhere, &env);
    config = (struct gw_comm_config){.wire = NULL};
    ck_assert_int_eq(gw_launch_config(&env, &config, interface, &why),
                     GW_EINVAL);
    ck_assert_str_eq(why.text, "rank 1 of 2 (GW_*): the rendezvous address is "
                               "unknown; set GW_RENDEZVOUS=tcp://HOST:PORT");
}
END_TEST

Suite *suite_launch_env(void)
{
    Suite *suite = suite_create("launch_env");
    TCase *tc = tcase_create("launch environment");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, engines_give_ranks, 0, sizeof rows / sizeof *rows);
    tcase_add_loop_test(tc, half_an_environment_names_what_is_missing, 0,
                        sizeof wrongs / sizeof *wrongs);
    tcase_add_test(tc, all_ranks_of_a_job_join_and_no_others);
    tcase_add_test(tc, each_field_has_its_source);
    tcase_add_loop_test(tc, first_hosts_of_lists, 0, 6);
    tcase_add_test(tc, unequal_nodes_have_their_own_numbers);
    tcase_add_test(tc, hydra_names_the_job);
    tcase_add_test(tc, hydra_passes_on_where_rank_0_is);
    tcase_add_loop_test(tc, rubbish_from_a_manager_is_an_error, 0,
                        sizeof rubbish / sizeof *rubbish);
    tcase_add_test(tc, an_environment_leads_to_a_wire);
    return suite;
}

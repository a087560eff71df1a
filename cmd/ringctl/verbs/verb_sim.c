/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * sim: a simulated cluster. The library's own machines, the same object code
 * that a run drives over ZeroMQ, run on a virtual network in virtual time
 * (sim/sim.h): members crash, sleep and are cut off, messages are lost, doubled
 * and late. A seed determines the schedule: the same words give the same
 * numbers everywhere. The invariants are checked after each input.
 *
 * simcluster/common/kind.h explains how to add a kind of cluster. Several seeds
 * make one record, or with --each one row per seed, up to the first violation.
 */
#include "common/command.h"
#include "ringctl/ringctl.h"
#include "ringctl/shell/session.h"
#include "ringctl/sim/sim.h"
#include "run/ring_algos.h"
#include "simcluster/common/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct simcluster_kind *const sim_kinds[] = {&ring_simcluster_kind,
                                                          &ps_simcluster_kind};
enum { SIM_KINDS = sizeof sim_kinds / sizeof *sim_kinds, FIELDS_MOST = 48 };

#define DEFAULT_FOR_NS UINT64_C(1000000000)
static struct simcluster_request request = {.for_ns = DEFAULT_FOR_NS};
static const char *seeds_text, *faults_word, *events, *schedule;
static const char *ack = "all", *suspicion, *algo;
static struct ring_algos algos;
static bool each, shrinks, keeps_going;

static const struct option_spec options[] = {
    {"nodes", 'n', OPTION_COUNT, &request.nodes, "N",
     "Members of the ring, or workers. Default: drawn from the seed for a "
     "ring, 2 workers.",
     NULL},
    {"servers", 's', OPTION_COUNT, &request.servers, "S",
     "Parameter servers, 1 to 128. Default: 3.", NULL},
    {"replicas", 0, OPTION_COUNT, &request.replicas, "R",
     "Replicas per slot. Default: 3, or the number of servers if it is "
     "smaller.",
     NULL},
    {"controllers", 0, OPTION_COUNT, &request.controllers, "C",
     "Controllers: 1, 3 or 5. Default: 3.", NULL},
    {"placement", 0, OPTION_CHOICE, &request.placement, "HOW",
     "Servers: placement of the slots, by count or by load; some keys are hot.",
     "count|load"},
    {"ack", 0, OPTION_CHOICE, &ack, "REPLICAS",
     "Replicas that must have a push before it is acknowledged.",
     "all|primary"},
    {"seeds", 0, OPTION_TEXT, &seeds_text, "A..B",
     "Run the seeds A to B, up to the first that violates a rule.", NULL},
    {"faults", 0, OPTION_TEXT, &faults_word, "FILE|FAULTS",
     "Inject only these faults, such as \"at 30ms crash 2; at 1s restart 2\", "
     "or none.",
     NULL},
    {"raft", 0, OPTION_FLAG, &request.raft, NULL,
     "Use the log of libraft for the controllers instead of an oracle.", NULL},
    {"for", 0, OPTION_DURATION, &request.for_ns, "TIME",
     "Virtual time to simulate (with --faults).", NULL},
    {"silent", 0, OPTION_FLAG, &request.silent, NULL,
     "Do not report the end of a process: only its silence shows it.", NULL},
    {"unordered", 0, OPTION_FLAG, &request.unordered, NULL,
     "Ring: let messages overtake a delayed message (with --faults).", NULL},
    {"suspicion", 0, OPTION_TEXT, &suspicion, "FILE.so",
     "Use this plug-in for suspicion in the ring.", NULL},
    {"algo", 'a', OPTION_TEXT, &algo, "ALGO,...",
     "Ring: algorithms or plan files for ops that no death disturbs, as in up.",
     RING_ALGOS_WORDS},
    {"without", 0, OPTION_TEXT, &request.without, "RULE",
     "Leave out a rule: epoch-check (ring); dedupe, lease or fencing "
     "(servers).",
     NULL},
    {"keep-going", 'k', OPTION_FLAG, &keeps_going, NULL,
     "Run all seeds, even after one that violates a rule.", NULL},
    {"each", 0, OPTION_FLAG, &each, NULL, "Print one row per seed.", NULL},
    {"events", 0, OPTION_TEXT, &events, "FILE.jsonl",
     "Write the events of the last seed to FILE, for ringtop.", NULL},
    {"schedule", 0, OPTION_TEXT, &schedule, "FILE",
     "Write the faults of the last seed to FILE, for --faults. -: standard "
     "output.",
     NULL},
    {"shrink", 0, OPTION_FLAG, &shrinks, NULL,
     "After a violation, reduce the schedule to the faults that matter (with "
     "--schedule).",
     NULL},
    {0},
};

/* The fields of every kind of cluster, before and after its own. */
static const struct field first_fields[] = {
    {"cluster", NULL, FIELD_TEXT, 0, false},
    {"seed", NULL, FIELD_INTEGER, 0, false},
    {"seeds", NULL, FIELD_INTEGER, 0, false},
    {"nodes", NULL, FIELD_INTEGER, 0, false},
    {"faults", NULL, FIELD_INTEGER, 0, false},
    {"messages", NULL, FIELD_INTEGER, 0, false},
    {"lost", NULL, FIELD_INTEGER, 0, false},
};
static const struct field last_fields[] = {
    {"hash", NULL, FIELD_TEXT, 0, false},
    {"violations", NULL, FIELD_INTEGER, 0, true},
    {"violation", NULL, FIELD_TEXT, 0, false},
};
enum {
    FIRST_FIELDS = sizeof first_fields / sizeof *first_fields,
    LAST_FIELDS = sizeof last_fields / sizeof *last_fields
};

/* The seeds of one row or record. */
struct sums {
    uint64_t seed, seeds, faults, hash;
    unsigned nodes;
    struct gw__sim_counts counts;
    uint64_t violations;       /* seeds with a violation */
    struct gw_error violation; /* the first; GW_OK: none */
};

struct sim_run {
    const struct simcluster_kind *kind;
    void *simcluster;
    struct gw_plugin *suspicion; /* NULL: none */
    struct sim_faults user_faults;
    struct simcluster_group groups[SIMCLUSTER_GROUPS];
    struct gw__faults faults; /* of the last seed */
    struct seeds seeds;
    struct sums sums;
    uint64_t bad_seed;   /* the first that violated a rule, */
    struct gw_error bad; /* and the error; GW_OK: none */
    struct field fields[FIELDS_MOST];
    union value values[FIELDS_MOST];
    unsigned field_count;
    char hash_text[20];
    struct output *output; /* with --each */
};

/* ---- the request ---- */

static enum gw_err find_kind(const char *name,
                             const struct simcluster_kind **kind,
                             struct gw_error *why)
{
    for (unsigned i = 0; i < SIM_KINDS; i++) {
        *kind = sim_kinds[i];
        if (strcmp(sim_kinds[i]->name, name) == 0)
            return GW_OK;
    }
    return gw_fail(why, GW_EINVAL,
                   "unknown cluster \"%.40s\"; use ring, servers or scale",
                   name);
}

static enum gw_err read_seeds(struct seeds *seeds, struct gw_error *why)
{
    seeds->first = seeds->last = common.seed;
    if (seeds_text && !seeds_parse(seeds_text, seeds))
        return gw_fail(why, GW_EINVAL, "--seeds must be A..B, not \"%.40s\"",
                       seeds_text);
    if (!seeds_text && each)
        return gw_fail(why, GW_EINVAL, "--each needs --seeds A..B");
    if (shrinks && !schedule)
        return gw_fail(why, GW_EINVAL, "--shrink needs --schedule FILE");
    return GW_OK;
}

static enum gw_err read_algos(struct simcluster_request *resolved,
                              struct gw_error *why)
{
    char list[RING_ALGOS_BYTES];
    if (!algo)
        return GW_OK;
    enum gw_err err = ring_algos_list(algo, list, sizeof list, why);
    if (!err)
        err = ring_algos_open(list, GW_ALLREDUCE, &algos, why);
    if (!err)
        err = ring_algos_check_by_chunk(&algos, "sim ring", why);
    if (!err)
        err = ring_algos_check(&algos, resolved->nodes, why);
    resolved->algos = algos.algos;
    resolved->algo_count = algos.count;
    return err;
}

static void add_fields(struct sim_run *run, const struct field *fields,
                       unsigned count)
{
    memcpy(run->fields + run->field_count, fields, count * sizeof *fields);
    run->field_count += count;
}

static enum gw_err prepare_run(struct sim_run *run, const char *name,
                               struct gw_error *why)
{
    struct simcluster_request resolved = request;
    if (find_kind(name, &run->kind, why) || read_seeds(&run->seeds, why) ||
        read_algos(&resolved, why))
        return why->code;
    resolved.calm = faults_word != NULL;
    if (run->kind->groups)
        run->kind->groups(&resolved, run->groups);
    if (sim_faults_read("--faults", faults_word, run->groups, &run->user_faults,
                        why) ||
        sim_faults_timed(&run->user_faults, why))
        return why->code;
    if (suspicion &&
        gw_plugin_open(suspicion, GW_PLUGIN_SUSPICION, &run->suspicion, why))
        return why->code;
    resolved.suspicion = run->suspicion ? run->suspicion->suspicion : NULL;
    resolved.ack_primary = strcmp(ack, "primary") == 0;
    if (run->user_faults.end_ns > resolved.for_ns)
        resolved.for_ns = run->user_faults.end_ns;
    add_fields(run, first_fields, FIRST_FIELDS);
    add_fields(run, run->kind->fields, run->kind->field_count);
    add_fields(run, last_fields, LAST_FIELDS);
    return run->kind->open(&resolved, &run->simcluster, why);
}

/* ---- rows ---- */

static void add_counts(struct gw__sim_counts *sum,
                       const struct gw__sim_counts *counts)
{
    sum->sent += counts->sent;
    sum->cut += counts->cut;
    sum->dropped += counts->dropped;
}

static void add_trial(struct sums *sums, uint64_t seed,
                      const struct gw__campaign *campaign,
                      const struct gw__faults *faults,
                      const struct gw__trial *trial)
{
    sums->hash = sums->seeds++
                     ? gw_hash(&trial->hash, sizeof trial->hash, sums->hash)
                     : trial->hash;
    sums->seed = seed;
    sums->nodes = campaign->faults.nodes;
    sums->faults += faults->count;
    if (trial->failure.code && sums->violations++ == 0)
        sums->violation = trial->failure;
    add_counts(&sums->counts, &trial->counts);
}

/* Prints the sums so far as a row and resets them. */
static void make_row(struct sim_run *run)
{
    const struct sums *s = &run->sums;
    union value *v = run->values;
    v[0].text = run->kind->name;
    v[1].integer = (int64_t)s->seed;
    v[2].integer = (int64_t)s->seeds;
    v[3].integer = s->nodes;
    v[4].integer = (int64_t)s->faults;
    v[5].integer = (int64_t)s->counts.sent;
    v[6].integer = (int64_t)(s->counts.cut + s->counts.dropped);
    run->kind->measured(run->simcluster, v + FIRST_FIELDS);
    v += FIRST_FIELDS + run->kind->field_count;
    snprintf(run->hash_text, sizeof run->hash_text, "%016" PRIx64, s->hash);
    v[0].text = run->hash_text;
    v[1].integer = (int64_t)s->violations;
    v[2].text = s->violation.code ? s->violation.text : NULL;
    if (run->output)
        output_row(run->output, run->values);
}

/* ---- running ---- */

static enum gw_err run_seed(struct sim_run *run, uint64_t seed,
                            struct gw_sink *sink, struct gw_error *why)
{
    struct gw__campaign campaign;
    struct gw__trial trial;
    run->kind->campaign(run->simcluster, seed, sink, &campaign);
    enum gw_err err =
        sim_faults_of(&run->user_faults, &campaign, seed, &run->faults, why);
    if (!err)
        err = gw__campaign_try(&campaign, seed, &run->faults, &trial, why);
    if (err)
        return err;
    if (each)
        run->sums = (struct sums){0};
    add_trial(&run->sums, seed, &campaign, &run->faults, &trial);
    if (trial.failure.code && !run->bad.code) {
        run->bad = trial.failure;
        run->bad_seed = seed;
    }
    if (each)
        make_row(run);
    return GW_OK;
}

static enum gw_err run_seeds(struct sim_run *run, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    uint64_t seed = run->seeds.first;
    while (!err && !interrupted) {
        progress("%s: seed %" PRIu64, run->kind->name, seed);
        err = run_seed(run, seed, NULL, why);
        if ((run->bad.code && !keeps_going) || seed == run->seeds.last)
            break;
        seed++;
    }
    progress("%s", "");
    return interrupted && !err ? gw_fail(why, GW_EINTR, "interrupted") : err;
}

/* Runs the last seed again, with the same result, to print its events. Its
 * measurements do not count. */
static enum gw_err report_events(struct sim_run *run, struct gw_error *why)
{
    struct gw__campaign campaign;
    struct gw__trial trial;
    struct gw_sink *sink;
    bool out = strcmp(events, "-") == 0;
    FILE *file = out ? stdout : fopen(events, "we");
    if (!file)
        return gw_fail_errno(why, "%.200s", events);
    enum gw_err err = gw_sink_jsonl(file, 0, &sink, why);
    if (!err) {
        run->kind->campaign(run->simcluster, run->sums.seed, sink, &campaign);
        err = gw__campaign_try(&campaign, run->sums.seed, &run->faults, &trial,
                               why);
        gw_sink_close(&sink);
    }
    bool failed = ferror(file) != 0;
    failed = (!out && fclose(file) != 0) || failed;
    return failed && !err ? gw_fail_errno(why, "write to %.200s", events) : err;
}

static enum gw_err report_schedule(struct sim_run *run, struct gw_error *why)
{
    struct gw__campaign campaign;
    struct gw_error failure = run->sums.violation;
    enum gw_err err = GW_OK;
    unsigned runs;
    run->kind->campaign(run->simcluster, run->sums.seed, NULL, &campaign);
    if (shrinks && failure.code)
        err = gw__campaign_shrink(&campaign, run->sums.seed, &run->faults,
                                  &failure, &runs, why);
    return err ? err
               : sim_faults_write(&run->faults, run->groups, schedule, why);
}

/* ---- the command ---- */

static enum gw_err execute_run(struct sim_run *run, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (each)
        err = output_begin("ringctl sim", common.output, run->fields,
                           run->field_count, &run->output, why);
    if (!err && each)
        output_spare(run->output, run->kind->spare);
    if (!err)
        err = run_seeds(run, why);
    if (!err && !each)
        make_row(run);
    if (!err && events)
        err = report_events(run, why);
    if (!err && schedule)
        err = report_schedule(run, why);
    if (!err && run->bad.code)
        err = gw_fail(why, GW_EWRONG,
                      "seed %" PRIu64 " (--seed %" PRIu64 " repeats it): %s",
                      run->bad_seed, run->bad_seed, run->bad.text);
    return err;
}

/* stdout gets the record, or the output that "-" requests instead. */
static enum gw_err end_output(struct sim_run *run, const struct gw_error *error,
                              struct gw_error *why)
{
    bool stdout_used = (events && strcmp(events, "-") == 0) ||
                       (schedule && strcmp(schedule, "-") == 0);
    if (each) {
        output_end(&run->output, error, interrupted != 0);
        return GW_OK;
    }
    if (stdout_used || !run->sums.seeds)
        return GW_OK;
    return output_record("ringctl sim", common.output, run->fields, run->values,
                         run->field_count, error, interrupted != 0, why);
}

/* Are only --nodes and options of all commands given? */
static bool is_plain(void)
{
    const struct simcluster_request *r = &request;
    return !r->servers && !r->replicas && !r->controllers && !r->placement &&
           !r->raft && !r->silent && !r->unordered && !r->without &&
           r->for_ns == DEFAULT_FOR_NS && strcmp(ack, "all") == 0 &&
           !seeds_text && !faults_word && !events && !schedule && !suspicion &&
           !algo && !each && !shrinks && !keeps_going;
}

static int run_sim(int operand_count, char **operands)
{
    (void)operand_count;
    if (strcmp(operands[0], "scale") == 0)
        return sim_scale(request.nodes, is_plain());
    struct sim_run *run = calloc(1, sizeof *run);
    struct gw_error why = {0}, late;
    if (!run)
        return complain_with(GW_ENOMEM, "a simulation");
    seeds_keep_memory();
    enum gw_err err = prepare_run(run, operands[0], &why);
    if (!err)
        err = execute_run(run, &why);
    if (end_output(run, err ? &why : NULL, &late) && !err) {
        err = late.code;
        why = late;
    }
    if (run->simcluster)
        run->kind->close(run->simcluster);
    gw_plugin_close(&run->suspicion);
    sim_faults_fini(&run->user_faults);
    free(run);
    return err ? complain(&why) : 0;
}

static const struct option_group groups[] = {
    {"nodes", "Cluster"},
    {"seeds", "Seeds and faults"},
    {"keep-going", "Output and reproduction"},
    {0},
};

const struct command command_sim = {
    .name = "sim",
    .operands = "ring|servers|scale",
    .help = "simulate a cluster in virtual time, on an unreliable network, "
            "with faults",
    .examples =
        "ringctl sim ring -n 5 --seed 7\n"
        "ringctl sim ring --seeds 1..200\n"
        "ringctl sim ring -n 4 --faults 'at 100ms crash 2' --events a.jsonl\n"
        "ringctl sim ring --seeds 1..2000 --without epoch-check\n"
        "ringctl sim servers --seeds 1..200 --ack primary --keep-going\n"
        "ringctl sim servers --faults 'at 300ms crash s0' --events a.jsonl\n"
        "ringctl sim scale -n 512\n",
    .options = options,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_sim,
};

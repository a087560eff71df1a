/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * sim: a simulated cluster. The library's own machines, the same object code
 * that a run drives over ZeroMQ, run on a virtual network in virtual time
 * (sim/sim.h): members crash, sleep and are cut off, messages are lost, doubled
 * and late. A seed determines the schedule: the same words give the same
 * numbers everywhere. The invariants are checked after each input.
 *
 * Each kind of cluster is a world (world/common/kind.h, which also explains how
 * to add one). Several seeds make one record, of sums and means, or with --each
 * one row per seed; it stops at the first that violates a rule.
 */
#include "common/command.h"
#include "ringctl/ringctl.h"
#include "ringctl/shell/session.h"
#include "ringctl/sim/sim.h"
#include "world/common/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct simcluster_kind *const worlds[] = {&world_ring,
                                                       &world_servers};
enum { WORLDS = sizeof worlds / sizeof *worlds, FIELDS_MOST = 48 };

static struct simcluster_request request = {.for_ns = 1000000000};
static const char *seeds_text, *faults_word, *events, *schedule;
static const char *ack = "all", *suspicion;
static bool each, shrinks, keeps_going;

static const struct option_spec options[] = {
    {"nodes", 'n', OPTION_COUNT, &request.nodes, "N",
     "Members of the ring, or workers. Default: drawn from the seed for a "
     "ring, 2 workers.",
     NULL},
    {"servers", 's', OPTION_COUNT, &request.servers, "S",
     "Parameter servers, 1 to 6. Default: 3.", NULL},
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

/* The fields of every world, before and after its own. */
static const struct field first_fields[] = {
    {"world", NULL, FIELD_TEXT, 0, false},
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

struct job {
    const struct simcluster_kind *kind;
    void *world;
    struct gw_plugin *suspicion; /* NULL: none */
    struct sim_faults given;
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

static enum gw_err find_world(const char *name,
                              const struct simcluster_kind **kind,
                              struct gw_error *why)
{
    char known[100] = "";
    for (unsigned i = 0; i < WORLDS; i++) {
        *kind = worlds[i];
        if (strcmp(worlds[i]->name, name) == 0)
            return GW_OK;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 worlds[i]->name);
    }
    return gw_fail(why, GW_EINVAL, "unknown world \"%.40s\"; use %s", name,
                   known);
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

static void add_fields(struct job *job, const struct field *fields,
                       unsigned count)
{
    memcpy(job->fields + job->field_count, fields, count * sizeof *fields);
    job->field_count += count;
}

static enum gw_err prepare_job(struct job *job, const char *name,
                               struct gw_error *why)
{
    struct simcluster_request asked = request;
    if (find_world(name, &job->kind, why) || read_seeds(&job->seeds, why))
        return why->code;
    asked.calm = faults_word != NULL;
    if (job->kind->groups)
        job->kind->groups(&asked, job->groups);
    if (sim_faults_read(faults_word, job->groups, &job->given, why))
        return why->code;
    if (suspicion &&
        gw_plugin_open(suspicion, GW_PLUGIN_SUSPICION, &job->suspicion, why))
        return why->code;
    asked.suspicion = job->suspicion ? job->suspicion->suspicion : NULL;
    asked.ack_primary = strcmp(ack, "primary") == 0;
    if (job->given.end_ns > asked.for_ns)
        asked.for_ns = job->given.end_ns;
    add_fields(job, first_fields, FIRST_FIELDS);
    add_fields(job, job->kind->fields, job->kind->field_count);
    add_fields(job, last_fields, LAST_FIELDS);
    return job->kind->open(&asked, &job->world, why);
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
static void make_row(struct job *job)
{
    const struct sums *s = &job->sums;
    union value *v = job->values;
    v[0].text = job->kind->name;
    v[1].integer = (int64_t)s->seed;
    v[2].integer = (int64_t)s->seeds;
    v[3].integer = s->nodes;
    v[4].integer = (int64_t)s->faults;
    v[5].integer = (int64_t)s->counts.sent;
    v[6].integer = (int64_t)(s->counts.cut + s->counts.dropped);
    job->kind->measured(job->world, v + FIRST_FIELDS);
    v += FIRST_FIELDS + job->kind->field_count;
    snprintf(job->hash_text, sizeof job->hash_text, "%016" PRIx64, s->hash);
    v[0].text = job->hash_text;
    v[1].integer = (int64_t)s->violations;
    v[2].text = s->violation.code ? s->violation.text : NULL;
    if (job->output)
        output_row(job->output, job->values);
}

/* ---- running ---- */

static enum gw_err run_seed(struct job *job, uint64_t seed,
                            struct gw_sink *sink, struct gw_error *why)
{
    struct gw__campaign campaign;
    struct gw__trial trial;
    job->kind->campaign(job->world, seed, sink, &campaign);
    enum gw_err err =
        sim_faults_of(&job->given, &campaign, seed, &job->faults, why);
    if (!err)
        err = gw__campaign_try(&campaign, seed, &job->faults, &trial, why);
    if (err)
        return err;
    if (each)
        job->sums = (struct sums){0};
    add_trial(&job->sums, seed, &campaign, &job->faults, &trial);
    if (trial.failure.code && !job->bad.code) {
        job->bad = trial.failure;
        job->bad_seed = seed;
    }
    if (each)
        make_row(job);
    return GW_OK;
}

static enum gw_err run_seeds(struct job *job, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    uint64_t seed = job->seeds.first;
    while (!err && !interrupted) {
        progress("%s: seed %" PRIu64, job->kind->name, seed);
        err = run_seed(job, seed, NULL, why);
        if ((job->bad.code && !keeps_going) || seed == job->seeds.last)
            break;
        seed++;
    }
    progress("%s", "");
    return interrupted && !err ? gw_fail(why, GW_EINTR, "interrupted") : err;
}

/* Runs the last seed again, with the same result, to print its events. Its
 * measurements do not count. */
static enum gw_err report_events(struct job *job, struct gw_error *why)
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
        job->kind->campaign(job->world, job->sums.seed, sink, &campaign);
        err = gw__campaign_try(&campaign, job->sums.seed, &job->faults, &trial,
                               why);
        gw_sink_close(&sink);
    }
    bool failed = ferror(file) != 0;
    failed = (!out && fclose(file) != 0) || failed;
    return failed && !err ? gw_fail_errno(why, "write to %.200s", events) : err;
}

static enum gw_err report_schedule(struct job *job, struct gw_error *why)
{
    struct gw__campaign campaign;
    struct gw_error failure = job->sums.violation;
    enum gw_err err = GW_OK;
    unsigned runs;
    job->kind->campaign(job->world, job->sums.seed, NULL, &campaign);
    if (shrinks && failure.code)
        err = gw__campaign_shrink(&campaign, job->sums.seed, &job->faults,
                                  &failure, &runs, why);
    return err ? err
               : sim_faults_write(&job->faults, job->groups, schedule, why);
}

/* ---- the command ---- */

static enum gw_err run_job(struct job *job, struct gw_error *why)
{
    enum gw_err err = GW_OK;
    if (each)
        err = output_begin("ringctl sim", common.output, job->fields,
                           job->field_count, &job->output, why);
    if (!err && each)
        output_spare(job->output, job->kind->spare);
    if (!err)
        err = run_seeds(job, why);
    if (!err && !each)
        make_row(job);
    if (!err && events)
        err = report_events(job, why);
    if (!err && schedule)
        err = report_schedule(job, why);
    if (!err && job->bad.code)
        err = gw_fail(why, GW_EWRONG,
                      "seed %" PRIu64 " (--seed %" PRIu64 " repeats it): %s",
                      job->bad_seed, job->bad_seed, job->bad.text);
    return err;
}

/* stdout gets the record, or the output that "-" requests instead. */
static enum gw_err end_output(struct job *job, const struct gw_error *error,
                              struct gw_error *why)
{
    bool taken = (events && strcmp(events, "-") == 0) ||
                 (schedule && strcmp(schedule, "-") == 0);
    if (each) {
        output_end(&job->output, error, interrupted != 0);
        return GW_OK;
    }
    if (taken || !job->sums.seeds)
        return GW_OK;
    return output_record("ringctl sim", common.output, job->fields, job->values,
                         job->field_count, error, interrupted != 0, why);
}

static int run_sim(int operand_count, char **operands)
{
    struct job *job = calloc(1, sizeof *job);
    struct gw_error why = {0}, late;
    (void)operand_count;
    if (!job)
        return complain_with(GW_ENOMEM, "a simulation");
    seeds_keep_memory();
    enum gw_err err = prepare_job(job, operands[0], &why);
    if (!err)
        err = run_job(job, &why);
    if (end_output(job, err ? &why : NULL, &late) && !err) {
        err = late.code;
        why = late;
    }
    if (job->world)
        job->kind->close(job->world);
    gw_plugin_close(&job->suspicion);
    sim_faults_fini(&job->given);
    free(job);
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
    .operands = "ring|servers",
    .help = "simulate a cluster in virtual time, on an unreliable network, "
            "with faults",
    .examples =
        "ringctl sim ring -n 5 --seed 7\n"
        "ringctl sim ring --seeds 1..200\n"
        "ringctl sim ring -n 4 --faults 'at 100ms crash 2' --events a.jsonl\n"
        "ringctl sim ring --seeds 1..2000 --without epoch-check\n"
        "ringctl sim servers --seeds 1..200 --ack primary --keep-going\n"
        "ringctl sim servers --faults 'at 300ms crash s0' --events a.jsonl\n",
    .options = options,
    .groups = groups,
    .operands_min = 1,
    .operands_max = 1,
    .computes = true,
    .run = run_sim,
};

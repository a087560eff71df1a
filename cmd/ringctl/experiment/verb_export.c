/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * export: the record of a run that has ended, as an archive. In a temporary
 * folder it puts links to the files of the run, the commands with their inputs,
 * the versions, and the figures.
 */
#include "archive.h"
#include "common/output.h"
#include "figures.h"
#include "inputs.h"
#include "ringctl/ringctl.h"
#include "ringctl/runs.h"
#include "scratch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

static enum gw_err link_files(const char *from, const char *to,
                              struct gw_error *why)
{
    static const char *const files[] = {"run.json", "summary.json",
                                        "events.jsonl", "log"};
    char target[PATH_MAX + 16], path[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(target, sizeof target, "%.4000s/%s", from, files[i]);
        snprintf(path, sizeof path, "%.4000s/%s", to, files[i]);
        if (access(target, R_OK) == 0 && symlink(target, path) != 0)
            return gw_fail_errno(why, "%s", path);
    }
    return GW_OK;
}

/* The versions and the machine. */
static enum gw_err write_versions(const char *directory, struct gw_error *why)
{
    char path[PATH_MAX], zmq[32], when[32];
    struct utsname host;
    time_t now = time(NULL);
    struct tm utc;
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(zmq, sizeof zmq, "%d.%d.%d", major, minor, patch);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    if (uname(&host) != 0)
        return gw_fail_errno(why, "the name of the host");
    json_t *versions = json_pack(
        "{ss ss ss ss ss ss ss sI}", "schema", "ringctl export", "version",
        GW_VERSION, "libzmq", zmq, "exported", when, "host", host.nodename,
        "machine", host.machine, "kernel", host.release, "cpus",
        (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
    snprintf(path, sizeof path, "%.4000s/versions.json", directory);
    bool written =
        versions && json_dump_file(versions, path, JSON_INDENT(2)) == 0;
    json_decref(versions);
    return written ? GW_OK : gw_fail_errno(why, "%s", path);
}

/* The directory of a run that ringctl started and that has ended. */
static enum gw_err find_run(const char *name, char from[PATH_MAX],
                            struct gw_error *why)
{
    char path[PATH_MAX + 16];
    enum gw_err err = rpc_client_directory(name, path, PATH_MAX, why);
    if (err)
        return err;
    if (!realpath(path, from))
        return gw_fail_errno(why, "run %s", name);
    snprintf(path, sizeof path, "%.4000s/commands", from);
    if (access(path, R_OK) != 0)
        return gw_fail(why, GW_EINVAL,
                       "run %s was not started by ringctl up, so its commands "
                       "are not known",
                       name);
    snprintf(path, sizeof path, "%.4000s/summary.json", from);
    if (access(path, R_OK) != 0)
        return gw_fail(why, GW_EINVAL,
                       "run %s has not ended; end it with: ringctl down --run "
                       "%s",
                       name, name);
    return GW_OK;
}

/* Fills the folder of the archive. */
static enum gw_err collect_inputs(const char *from, const char *to,
                                  struct gw_error *why)
{
    char commands[PATH_MAX + 16];
    snprintf(commands, sizeof commands, "%.4000s/commands", from);
    enum gw_err err = link_files(from, to, why);
    if (!err)
        err = inputs_collect(commands, to, why);
    if (!err)
        err = write_versions(to, why);
    return err ? err : figures_write(to, why);
}

static enum gw_err export_run(const char *name, const char *file,
                              struct scratch *scratch, struct gw_error *why)
{
    char from[PATH_MAX], to[PATH_MAX];
    enum gw_err err = find_run(name, from, why);
    if (!err)
        err = scratch_begin(scratch, why);
    if (err)
        return err;
    const char *run = strrchr(from, '/') + 1;
    snprintf(to, sizeof to, "%.4000s/%.64s", scratch->path, run);
    if (mkdir(to, 0700) != 0)
        return gw_fail_errno(why, "%s", to);
    err = collect_inputs(from, to, why);
    if (!err && !figures_draw(to) && interrupted)
        err = gw_fail(why, GW_EINTR, "interrupted");
    return err ? err : archive_pack(file, scratch->path, run, why);
}

static int report(const char *name, const char *file)
{
    static const struct field fields[] = {
        {"run", NULL, FIELD_TEXT, 0, false},
        {"archive", NULL, FIELD_TEXT, 0, false},
        {"bytes", NULL, FIELD_INTEGER, 0, false}};
    struct stat info;
    struct gw_error why;
    int64_t bytes = stat(file, &info) == 0 ? (int64_t)info.st_size : 0;
    const union value values[] = {
        {.text = name}, {.text = file}, {.integer = bytes}};
    if (output_record("ringctl export", common.output, fields, values, 3, NULL,
                      false, &why))
        return complain(&why);
    return 0;
}

static int run_export(int operand_count, char **operands)
{
    struct scratch scratch = {""};
    struct gw_error why;
    char name[RUN_NAME_MAX], file[PATH_MAX];
    (void)operand_count;
    snprintf(name, sizeof name, "%s", operands[0]);
    snprintf(file, sizeof file, "%s", operands[1]);
    enum gw_err err = export_run(name, file, &scratch, &why);
    scratch_end(&scratch);
    return err ? complain(&why) : report(name, file);
}

const struct command command_export = {
    .name = "export",
    .operands = "RUN FILE.tar",
    .help = "write the record of a run that has ended: commands, versions, "
            "events, results, figures",
    .examples = "ringctl -c 'up 4 ops --name kill; record; kill 2; wait "
                "alive==3'\n"
                "ringctl export kill kill.tar\n",
    .operands_min = 2,
    .operands_max = 2,
    .run = run_export,
};

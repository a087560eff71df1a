/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts of the machine and of this process. A fact that cannot be found is
 * null.
 */
#include "provenance.h"

#include "common/internal.h"

#include <coll/cost/calibration.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zmq.h>

const struct field provenance_fields[PROVENANCE_FIELDS] = {
    {"date", NULL, FIELD_TEXT, 0, false},
    {"host", NULL, FIELD_TEXT, 0, false},
    {"cpu", NULL, FIELD_TEXT, 0, false},
    {"cores", NULL, FIELD_INTEGER, 0, false},
    {"kernel", NULL, FIELD_TEXT, 0, false},
    {"versions", NULL, FIELD_TEXT, 0, false},
    {"command", NULL, FIELD_TEXT, 0, false},
    {"seed", NULL, FIELD_INTEGER, 0, false},
    {"calibration", NULL, FIELD_TEXT, 0, false},
    {"calibration_date", NULL, FIELD_TEXT, 0, false},
};

/* ---- the machine ---- */

void provenance_date(time_t when, char date[24])
{
    struct tm utc;
    *date = 0;
    if (gmtime_r(&when, &utc))
        strftime(date, 24, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void provenance_cpu(char *cpu, size_t room)
{
    char line[256];
    struct utsname system;
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(cpu, room, "%s", uname(&system) == 0 ? system.machine : "");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        snprintf(cpu, room, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

unsigned provenance_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

void provenance_versions(char *versions, size_t room)
{
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(versions, room, "gradwire %s, libzmq %d.%d.%d", GW_VERSION, major,
             minor, patch);
}

static void take_machine(struct provenance *p)
{
    struct utsname system;
    provenance_cpu(p->cpu, sizeof p->cpu);
    if (uname(&system) != 0)
        return;
    snprintf(p->host, sizeof p->host, "%s", system.nodename);
    snprintf(p->kernel, sizeof p->kernel, "%s %s", system.sysname,
             system.release);
}

/* ---- the command ---- */

/* In single quotes, each quote as '\''. */
static size_t quote(const char *word, char *out, size_t room)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        "%+,-./:=@_^";
    size_t used = 0;
    bool quoted = !*word || word[strspn(word, plain)];
    if (!quoted) {
        snprintf(out, room, "%s", word);
        return strlen(out);
    }
    used = (size_t)snprintf(out, room, "'");
    for (; *word && used + 6 < room; word++)
        used += (size_t)snprintf(out + used, room - used, "%.*s",
                                 *word == '\'' ? 4 : 1,
                                 *word == '\'' ? "'\\''" : word);
    used += (size_t)snprintf(out + used, room - used, "'");
    return used;
}

void provenance_words(int count, char *const *words, char *out, size_t room)
{
    size_t used = 0;
    *out = 0;
    for (int i = 0; i < count && used + 8 < room; i++) {
        if (i > 0)
            out[used++] = ' ';
        used += quote(words[i], out + used, room - used);
    }
}

static void take_command(struct provenance *p)
{
    int length = snprintf(p->command, sizeof p->command, "%s",
                          the_tool ? the_tool->name : "");
    if (typed_words.count == 0)
        return;
    p->command[length++] = ' ';
    provenance_words(typed_words.count, typed_words.list, p->command + length,
                     sizeof p->command - (size_t)length);
}

/* ---- the costs of the predictions ---- */

static void take_calibration(struct provenance *p)
{
    struct stat status;
    if (gw__calibration_path(p->calibration) &&
        access(p->calibration, R_OK) == 0 && stat(p->calibration, &status) == 0)
        provenance_date(status.st_mtime, p->calibration_date);
    else
        snprintf(p->calibration, sizeof p->calibration, "built-in");
}

/* ---- */

static union value text_value(const char *text)
{
    return (union value){.text = *text ? text : NULL};
}

void provenance_take(struct provenance *p)
{
    *p = (struct provenance){.date = ""};
    provenance_date(time(NULL), p->date);
    provenance_versions(p->versions, sizeof p->versions);
    take_machine(p);
    take_command(p);
    take_calibration(p);
    const union value values[PROVENANCE_FIELDS] = {
        text_value(p->date),        text_value(p->host),
        text_value(p->cpu),         {.integer = provenance_cores()},
        text_value(p->kernel),      text_value(p->versions),
        text_value(p->command),     {.integer = (int64_t)common.seed},
        text_value(p->calibration), text_value(p->calibration_date),
    };
    memcpy(p->values, values, sizeof values);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See runs.h. A run is a folder with a run.json in it.
 */
#include "runs.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_run(const struct dirent *entry)
{
    char path[PATH_MAX];
    struct gw_error why;
    if (*entry->d_name == '.' || strcmp(entry->d_name, "latest") == 0 ||
        rpc_client_directory(entry->d_name, path, sizeof path, &why))
        return false;
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "/run.json");
    return access(path, R_OK) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void runs_list(struct runs *runs)
{
    char folder[PATH_MAX];
    const struct dirent *entry;
    runs->count = 0;
    rpc_client_folder(folder, sizeof folder);
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir)) && runs->count < RUNS_LISTED_MAX)
        if (is_run(entry)) {
            runs->names[runs->count] = strdup(entry->d_name);
            runs->count += runs->names[runs->count] != NULL;
        }
    if (dir)
        closedir(dir);
    qsort(runs->names, runs->count, sizeof *runs->names, by_name);
}

void runs_fini(struct runs *runs)
{
    for (unsigned i = 0; i < runs->count; i++)
        free(runs->names[i]);
    runs->count = 0;
}

json_t *runs_read(const char *name, const char *file)
{
    char path[PATH_MAX];
    struct gw_error why;
    if (rpc_client_directory(name, path, sizeof path, &why))
        return NULL;
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "/%s", file);
    return json_load_file(path, 0, NULL);
}

json_t *runs_summary(const char *name)
{
    json_t *summary = runs_read(name, "summary.json");
    if (summary)
        return summary;
    json_t *facts = runs_read(name, "run.json");
    json_t *death = json_pack(
        "{s:s, s:s}", "state", "died", "error",
        "the supervisor ended without a summary; the run's log has its last "
        "messages");
    if (facts)
        json_object_update(facts, death);
    json_decref(death);
    return facts;
}

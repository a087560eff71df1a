/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes the run visible to observers (common/announce.h), and its result
 * available in its summary.json.
 */
#include "run.h"

#include "common/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The command as it was typed, without the folder of the tool. */
static void typed(char *text, size_t room)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t bytes = file ? fread(text, 1, room - 1, file) : 0;
    if (file)
        fclose(file);
    while (bytes > 0 && text[bytes - 1] == 0)
        bytes--;
    text[bytes] = 0;
    const char *folder = strrchr(text, '/');
    for (size_t i = 0; i < bytes; i++)
        if (text[i] == 0)
            text[i] = ' ';
    size_t skipped = folder ? (size_t)(folder + 1 - text) : 0;
    memmove(text, text + skipped, bytes - skipped + 1);
}

enum gw_err run_publish(struct run *run, const char *name, struct gw_error *why)
{
    char command[512];
    struct gw_error unheard;
    const struct publish_options how = {.tool = "pipebench run",
                                        .name = name,
                                        .command = command,
                                        .seed = common.seed};
    typed(command, sizeof command);
    enum gw_err err = publish_run_open(&how, &run->publisher, &unheard);
    if (err && name) /* otherwise no user looks for it */
        return gw_fail(why, err, "--name %.60s: %s", name, unheard.text);
    return GW_OK;
}

void run_publish_end(struct run *run, const struct gw_error *error)
{
    double least_us, most_us;
    const struct run_step *median =
        run_record_median(&run->record, &least_us, &most_us);
    json_t *summary =
        json_pack("{sisIsisb}", "steps", (int)run->record.steps_done, "seed",
                  (json_int_t)common.seed, "recoveries",
                  (int)run->recovery_count, "partial", error != NULL);
    if (summary && median) {
        const struct gw_timeline *t = median->timeline;
        json_object_set_new(summary, "time_us", json_real(t->time_us));
        json_object_set_new(summary, "bubble_measured",
                            json_real(t->bubble_of_total));
    }
    if (summary && error)
        json_object_set_new(summary, "error", json_string(error->text));
    publish_run_close(&run->publisher, summary);
}

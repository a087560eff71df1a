/* SPDX-License-Identifier: MIT
 *
 * Requests without keys and values: clock commands, which go to the primary of
 * the clock's slot, and SAVE, which goes to one server. Each has exactly one
 * partition.
 */
#include "worker_parts.h"

#include <string.h>

/* GW_PENDING: too many requests are under way. */
static enum gw_err begin_request(struct gw__worker *worker, uint64_t now_ns,
                                 enum gw__ps_kind kind,
                                 struct gw__partition **partition)
{
    *partition = NULL;
    if (worker->pulls >= GW__PARTITION_MAX - GW__PUSHES_MAX)
        return GW_PENDING;
    struct gw__worker_request *request = gw__worker_request_new(worker, now_ns);
    if (!request)
        return GW_PENDING;
    request->kind = kind;
    *partition = gw__partition_new(worker, request);
    if (!*partition) {
        gw__worker_request_free(request);
        return GW_PENDING;
    }
    return GW_OK;
}

static enum gw_err send_request(struct gw__worker *worker, uint64_t now_ns,
                                struct gw__partition *partition,
                                uint64_t *request_id, struct gw_error *why)
{
    struct gw__worker_request *request = partition->request;
    if (gw__attempt_begin(worker, partition, now_ns)) {
        gw__partition_end(worker, partition);
        gw__worker_request_free(request);
        return gw_fail(why, GW_ENOMEM, "a request");
    }
    *request_id = request->id;
    gw__attempt_send(worker, partition->attempts, now_ns);
    return GW_OK;
}

enum gw_err gw__worker_clock(struct gw__worker *worker, uint64_t now_ns,
                             unsigned group,
                             const struct gw__clock_command *command,
                             struct gw_ps_work *work, uint64_t *request_id,
                             struct gw_error *why)
{
    uint8_t bytes[GW__REQUEST_COMMAND_MAX];
    struct gw__partition *partition;
    unsigned slot_count = worker->routes.slot_count;
    size_t used = gw__clock_encode(command, bytes, sizeof bytes);
    if (slot_count == 0)
        return gw_fail(why, GW_EUNREACH, "there is no parameter server yet");
    if (group >= GW_PS_GROUPS_MAX)
        return gw_fail(why, GW_EINVAL, "group %u: groups are numbered below %d",
                       group, GW_PS_GROUPS_MAX);
    if (used == 0)
        return gw_fail(why, GW_EINVAL, "unknown command for a clock");
    enum gw_err err = begin_request(worker, now_ns, GW__PS_CLOCK, &partition);
    if (err)
        return err;
    partition->request->group = group;
    partition->request->work = work;
    partition->request->command_bytes = used;
    memcpy(partition->request->command, bytes, used);
    partition->request->slot = gw__clock_slot(group, slot_count);
    partition->todo = 1;
    return send_request(worker, now_ns, partition, request_id, why);
}

enum gw_err gw__worker_save(struct gw__worker *worker, uint64_t now_ns,
                            unsigned server, uint64_t mark,
                            const char *directory, enum gw_err *answer,
                            uint64_t *request_id, struct gw_error *why)
{
    struct gw__partition *partition;
    size_t bytes = strlen(directory);
    if (bytes == 0 || bytes > sizeof partition->request->command)
        return gw_fail(why, GW_EINVAL,
                       "a directory's name cannot have %zu bytes", bytes);
    enum gw_err err = begin_request(worker, now_ns, GW__PS_SAVE, &partition);
    if (err)
        return err;
    partition->request->server = server;
    partition->request->mark = mark;
    partition->request->result = answer;
    partition->request->command_bytes = bytes;
    memcpy(partition->request->command, directory, bytes);
    partition->todo = 1;
    return send_request(worker, now_ns, partition, request_id, why);
}

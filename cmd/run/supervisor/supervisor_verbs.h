/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A request to the supervisor, its possible verbs, and answers that come later;
 * private to supervisor*.c.
 */
#ifndef SUPERVISOR_VERBS_H
#define SUPERVISOR_VERBS_H

#include "supervisor_parts.h"

struct request {
    struct run *run;
    const char *verb;
    const json_t *json;
    struct requester requester;
};
typedef void verb_function(const struct request *request);
/* NULL: an unknown verb. */
verb_function *verb_find(const char *name);
verb_function verb_kill, verb_stop, verb_pause, verb_resume, verb_restart,
    verb_drain, verb_add, verb_slow, verb_disk, verb_drift;
verb_function verb_link, verb_cut, verb_heal, verb_pace, verb_topo, verb_order;
verb_function verb_train, verb_snapshot, verb_mode, verb_record;
#define refuse(request, code, ...)                                             \
    serve_answer((request)->run, &(request)->requester, code, NULL, __VA_ARGS__)
/* The child that a number, or an object with "role" and "node", means. NULL:
 * none, with the reason in `why`. */
struct child *child_named(struct run *run, const json_t *name,
                          struct gw_error *why);
/* Reads a time in nanoseconds from a request; false: it was refused. */
GW_MUST_CHECK bool request_ns(const struct request *request, uint64_t *ns);
/* How long the client wants to wait; 0: not given. */
uint64_t request_timeout_ns(const struct request *request);

/* ---- supervisor_wait.c ---- */

/* Stores the request and answers it later, at most after `timeout_ns` (0: no
 * limit); refuses it when too many are waiting. Steals `condition`. */
void later_wait(const struct request *request, struct condition *condition,
                const char *text, uint64_t timeout_ns);
void later_change(const struct request *request, enum later_kind kind,
                  struct child *child, const char *done);
void later_directive(const struct request *request, uint64_t id);
/* Answers when the ring has the intended order. */
void later_order(const struct request *request);
/* Serves it when a controller leads; refuses when none does for long. */
void later_lead(const struct request *request);

#endif

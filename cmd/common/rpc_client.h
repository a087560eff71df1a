/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The protocol of a run. A run belongs to one supervisor process; ringctl,
 * ringtop and other clients only attach to it. A run has a name and a
 * directory, $GRADWIRE_RUNS/NAME (default: runs/NAME), with these files:
 *
 *     endpoint      the supervisor's endpoint (abstract ipc: has no file;
 *                   admits only the same user)
 *     run.json      command, seed, versions, start time
 *     events.jsonl  written by `record`
 *     commands      the commands, as a script (run/supervisor)
 *     summary.json  the result
 *     log           the output of its processes
 *
 * `runs/latest` is a link to the newest. If the supervisor is gone, the first
 * connection fails, and summary.json has the result.
 *
 * Requests and answers are JSON objects over ZeroMQ, one answer per request:
 *
 *     {"verb": "kill", "role": "worker", "node": 2}
 *     {"code": 0, "text": "node 2 was killed: epoch 2, ring 0 1 3", "epoch": 2}
 *
 * `code` is an enum gw_err; `text` is one sentence, also on success. Other
 * results of a verb are in "data". Verbs and their fields ("role" is "worker"
 * when not given, else "server" or "controller"; controllers count from 0, and
 * -1 is the leader):
 *
 *     hello                        data: {run, pid, version, events}
 *     status                       data: below
 *     add     count, role
 *     kill    role, node           stop pause resume restart drain likewise;
 *                                  restart also starts an ended one
 *     slow    role, node, ns       extra time per step, or, of a server,
 *                                  per message; 0: none
 *     link    from, to, fields     of delay_us jitter_us rate loss_ppm down;
 *                                  "both": true for both ways; data: the link
 *                                  from, to: a worker's number, or {role,
 *                                  node}
 *     cut     left, right          arrays of {role, node}
 *     heal
 *     pace    ns                   the time per chunk; 0: no delay
 *     train   model, file, options work for an idle run (run/supervisor.h)
 *     snapshot directory, timeout_ns  of parameter servers; a full path
 *     mode    mode, timeout_ns     of parameter servers; from the next unit on
 *     wait    condition, timeout_ns
 *     expect  condition
 *     record  file, on             file null: the run's own
 *     down
 *
 * A request about node -1 waits while no controller leads: for timeout_ns, but
 * at most 5 s, which is also the default.
 *
 * The supervisor also publishes events: raw struct gw_event records, several
 * per message, after a first frame "c" (SEND, APPLY, WAIT: chunk by chunk;
 * PASS_BEGIN, PASS_END: pass by pass) or "e" (all others). Nodes send chunk
 * events only while they have subscribers or a recording is on.
 *
 * A read-only run (announce.h) answers hello and status, and refuses all other
 * verbs with GW_ENOTSUP.
 *
 * status:
 *   {"run", "state": "idle"|"training"|"done"|"parked"|"ended", "seed",
 *    "alive", "epoch", "step", "op", "loss", "lost", "doubled", "done",
 *    "parked", "workers", "servers", "controllers_alive", "leader",
 *    "data_epoch", "samples_lost", "samples_doubled",
 *    "ops_forward", "ops_exclude", "chunks_kept", "chunks_redone",
 *    "chunks_fresh", "lockstep": null | the schedule, "lockstep_faults":
 *    injected so far, ...
 *    "nodes": [{"node", "role", "state", "pid", "rank", "op", "phase",
 *               "waits_for", "step", "loss", "digest", "data_bytes_read",
 *               "text"}],
 *    "ring": [node, ...],
 *    "links": [{"from", "to", "delay_us", ...}], "pace_ns",
 *    "recoveries": [{"nodes", "names", "how", "epoch", "fate", "op",
 *                    "detected_ms", "viewed_ms", "decided_ms", "resumed_ms",
 *                    "chunks_kept", "chunks_redone", "chunks_fresh"}],
 *    "result": null | {"train_loss", "train_accuracy", "steps",
 *                      "data_epochs", "digest", "seconds"}}
 *
 * A run of parameter servers also has these ("nodes" in links and recoveries
 * are numbers of the library: worker i is i, server i is 32 + i, controller i
 * is 319 - i; "names" are "server 0" and so on):
 *   {"model", "clock", "replicas", "replicas_wanted", "slots_lost",
 *    "nodes": of a server: {"node", "role", "number", "phase", "primaries",
 *              "secondaries", "learners", "rows", "bytes", "pushes", "pulls",
 *              "push_keys", "pull_keys", "duplicates", "refused", "nans",
 *              "dropped", "staged", "messages_sent", "messages_saved",
 *              "envelopes_refused", "takeovers", "moved", "freeze_ms", "lease"}
 *             of a worker: {"clock", "data_epoch", "batch", "part", "parts",
 *              "closed", "staleness", "items", "item_keys", "model_keys",
 *              "data_bytes_read", "waited_share", "nans", and struct
 *              gw_ps_counts},
 *    "slots": [{"slot", "primary", "in_sync": [server, ...], "learner",
 *               "leaver", "successor", "term", "rows", "bytes", "last",
 *               "committed", "keys", "serves"}],  servers by their numbers,
 *              or null; "serves": the primary has taken the slot over
 *    "clocks": {"mode", "data_epoch", "batch", "batches", "parts",
 *               "data_epochs", "rounds", "closed", "items", "expected",
 *               "skipped", "parts_dropped" (of the skipped, by the death of
 *               a worker), "dropped", "redone",
 *               "staleness": [items, ...], "done"},
 *    "curve": [{"data_epoch", "items", "samples", "right", "loss",
 *               "seconds", "row_writes", "row_writes_lost"}],
 *              the training, by data epoch
 *    "result": {..., "test_loss", "test_accuracy", "quality": "accuracy" |
 *               "rmse" | "first", "train_quality", "test_quality"}}
 *
 * A read-only run has these and the members that its tool adds:
 *   {"run", "tool", "command", "version", "seed", "pid" of the tool,
 *    "state": "running"|"ended", "verbs": ["hello", "status"], "alive", "step",
 *    "events_dropped", "nodes": [],
 *    "pipeline": null | {"stages", "micros", "chunks", "predicted_ns" of a
 *                step, "ranks": [of each stage, or null]}}
 */
#ifndef RPC_CLIENT_H
#define RPC_CLIENT_H

#include <gradwire/gradwire.h>

#include <jansson.h>

struct rpc_client;

/* The folder of all runs, and the folder of the run `name` (NULL: the latest);
 * GW_EUNREACH when there is none. */
void rpc_client_folder(char *out, size_t room);
GW_MUST_CHECK enum gw_err rpc_client_directory(const char *name, char *out,
                                               size_t room,
                                               struct gw_error *why);
/* `name` NULL: the latest. GW_EUNREACH: an unknown run, or one that has ended
 * ("run tiger has ended; start one by: ringctl up 4"). */
GW_MUST_CHECK enum gw_err rpc_client_open(const char *name,
                                          struct rpc_client **client,
                                          struct gw_error *why);
void rpc_client_close(struct rpc_client **client);
const char *rpc_client_run(const struct rpc_client *client);

/* Steals `request`; `timeout_ns` 0: no limit. GW_OK with the answer, whatever
 * its code; else GW_ETIMEOUT, GW_EUNREACH when the supervisor dies meanwhile,
 * or GW_EINTR after Ctrl-C. */
GW_MUST_CHECK enum gw_err
rpc_client_request(struct rpc_client *client, json_t *request,
                   uint64_t timeout_ns, json_t **answer, struct gw_error *why);
/* The same, but an answer with an error code is returned as this error. */
GW_MUST_CHECK enum gw_err rpc_client_do(struct rpc_client *client,
                                        json_t *request, uint64_t timeout_ns,
                                        json_t **answer, struct gw_error *why);
/* The status of the run, an object that the caller releases. */
GW_MUST_CHECK enum gw_err rpc_client_status(struct rpc_client *client,
                                            uint64_t timeout_ns,
                                            json_t **status,
                                            struct gw_error *why);

/* Begins the event stream; with chunks or without. */
GW_MUST_CHECK enum gw_err rpc_client_listen(struct rpc_client *client,
                                            bool chunks, struct gw_error *why);
/* GW_OK with an event. GW_PENDING at `deadline_ns` or after a signal.
 * GW_ECLOSED when the run has ended. */
GW_MUST_CHECK enum gw_err rpc_client_event(struct rpc_client *client,
                                           uint64_t deadline_ns,
                                           struct gw_event *event,
                                           struct gw_error *why);
/* Readable when rpc_client_event may have an event. */
int rpc_client_fd(const struct rpc_client *client);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Commands to the registry and its answers: structs, and their bytes
 * (gw__command_encode and friends). A command is an entry of the controllers'
 * log; registry.h documents its effect.
 *
 *     "GR" version kind | total bytes | time_ms | client | sequence | ...
 *
 * A command has exactly the bytes of its kind: one that is too short or too
 * long, of another version or out of range is refused as a whole.
 *
 * `time_ms` is the registry's time, by which suspicions lapse and clients are
 * forgotten. The leader stamps it: a new leader continues from the newest time
 * in the log with its own clock. A step back is ignored.
 *
 * `client` and `sequence` make a repeated request harmless: see registry.h.
 */
#ifndef GW__CLUSTER_COMMAND_H
#define GW__CLUSTER_COMMAND_H

#include "cluster/routes/route.h"
#include "report.h"
#include "view.h"

#define GW__COMMANDS(X)                                                        \
    X(GW__CMD_REGISTER, "register")                                            \
    X(GW__CMD_ADMIT, "admit")                                                  \
    X(GW__CMD_SUSPECT, "suspect")                                              \
    X(GW__CMD_LEAVE, "leave")                                                  \
    X(GW__CMD_REPORT, "report")                                                \
    X(GW__CMD_DEADLINE, "deadline")                                            \
    X(GW__CMD_ROUTES, "routes")                                                \
    X(GW__CMD_TABLE, "table")                                                  \
    X(GW__CMD_PLACE, "place")                                                  \
    X(GW__CMD_PROMOTE, "promote")                                              \
    X(GW__CMD_HANDOVER, "handover")                                            \
    X(GW__CMD_DRAIN, "drain")

enum gw__command_kind {
#define X(kind, name) kind,
    GW__COMMANDS(X)
#undef X
        GW__COMMAND_KINDS
};

enum gw__role {
    GW__WORKER,
    GW__SERVER,
    GW__CONTROLLER,
    GW__OBSERVER,
    GW__AGGREGATOR, /* forwards messages of a host's workers */
    GW__ROLES
};
const char *gw__role_name(enum gw__role role);
/* Do members of this role send each other beats, and do their changes begin new
 * epochs? */
static inline bool gw__role_is_ps_members(enum gw__role role)
{
    return role == GW__WORKER || role == GW__SERVER || role == GW__AGGREGATOR;
}

enum {
    GW__ENDPOINT_MAX = 120, /* including the final 0 */
    GW__SUSPECT_MORE_MAX = 63,
    GW__NODE_ANY = 65535 /* REGISTER: any free number */
};

struct gw__process {
    unsigned node;
    struct gw__id incarnation;
};

struct gw__command {
    enum gw__command_kind kind;
    uint64_t time_ms;
    struct gw__id client; /* none: a controller, whose requests are harmless to
                             repeat and are not remembered */
    uint64_t sequence;
    struct gw__process who; /* the subject. In SUSPECT the observer, in PROMOTE
                               and HANDOVER the slot's primary; unused in ADMIT,
                               DEADLINE, ROUTES, TABLE and PLACE */
    union {
        struct {
            enum gw__role role;
            bool ring; /* wants to join the ring */
            char endpoint[GW__ENDPOINT_MAX];
        } join; /* REGISTER */
        struct {
            uint64_t from_op;
            unsigned count;
            struct gw__process joiners[GW__NODES_MAX];
            uint64_t ring_epoch;    /* of the ring in which it was proposed */
            struct gw__order order; /* of the ring from then on */
        } admit;
        struct {
            struct gw__process suspected;
            bool certain; /* its process has ended: known, not suspected */
            bool alone;   /* a suspicion that is enough alone, if other servers
                             have its slots */
            /* Certain: others whose processes have ended, such as the members
             * of a rack. They are removed together. */
            unsigned more_count;
            struct gw__process more[GW__SUSPECT_MORE_MAX];
        } suspect;
        struct {
            uint64_t epoch;
            struct gw__report report;
        } flush;        /* REPORT */
        uint64_t epoch; /* DEADLINE */
        struct {
            unsigned slots;
            unsigned replicas; /* wanted per slot */
            unsigned servers;  /* needed before slots are placed */
        } routes;
        struct gw_ps_table_config table;
        struct gw__advice advice; /* PLACE */
        struct {
            unsigned slot;
            uint64_t term; /* of the proposal */
            unsigned node; /* the learner or successor */
        } slot;            /* PROMOTE, HANDOVER */
    };
};

struct gw__answer {
    enum gw_err code;
    uint64_t epoch; /* after the command */
    unsigned node;  /* REGISTER */
    unsigned table; /* TABLE: its number */
    char text[160]; /* one sentence, also on success */
};

enum {
    /* The longest commands: advice for all slots, and an admission of all nodes
     * in a new order. */
    GW__ADVICE_BYTES = GW_PS_SLOTS_MAX * (1 + 2 * GW_PS_REPLICAS_MAX),
    GW__ADMISSION_BYTES = GW__NODES_MAX * (18 + 4),
    GW__COMMAND_BYTES_MAX =
        128 + ((int)GW__ADVICE_BYTES > (int)GW__ADMISSION_BYTES
                   ? (int)GW__ADVICE_BYTES
                   : (int)GW__ADMISSION_BYTES),
    GW__ANSWER_BYTES_MAX = 384
};

/* As if zeroed, without the entries of lists. */
void gw__command_clear(struct gw__command *command);
const char *gw__command_name(enum gw__command_kind kind);
/* Returns the bytes used; 0 if they do not fit `room`. */
size_t gw__command_encode(const struct gw__command *command, void *out,
                          size_t room);
/* GW_EDATA if the bytes are not from gw__command_encode. */
GW_MUST_CHECK enum gw_err gw__command_decode(const void *data, size_t bytes,
                                             struct gw__command *command,
                                             struct gw_error *why);
size_t gw__answer_encode(const struct gw__answer *answer,
                         uint8_t out[GW__ANSWER_BYTES_MAX]);
GW_MUST_CHECK enum gw_err gw__answer_decode(const void *data, size_t bytes,
                                            struct gw__answer *answer,
                                            struct gw_error *why);

void gw__put_process(struct gw__writer *writer, struct gw__process who);
/* Accepts any node number: the registry checks whether it exists. */
struct gw__process gw__get_process(struct gw__reader *reader);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Links shared max-min fair by very many messages. Where thousands of ranks do
 * the same, thousands of links carry the same, and need not be dealt one by
 * one:
 *
 *   class    links of one rate, each of which carries as many messages of each
 *            bundle as the others do
 *   bundle   messages whose ways lead over the same classes, so that all of
 *            them get the same rate at all times
 *   group    messages of a bundle that end together
 *
 * Max-min shares are found over classes and bundles (traffic_fill.c), and a
 * bundle keeps one figure, what each of its messages has been served since it
 * began; a message ends when that has grown by its bytes. So an all-to-all of
 * 4,096 ranks, sixteen million messages under way, is one bundle over two
 * classes.
 *
 * Messages that begin are sorted into classes and bundles by refinement of
 * colours (traffic_colours.c): links by their class or rate, messages by their
 * links, links by their messages, and so on until nothing is told apart any
 * more. What this splits that was one class before is taken apart, as far as it
 * hangs together, and sorted anew. Links that carry nothing belong to no class,
 * so what has been told apart comes together again.
 *
 * Where nothing is alike every message is a bundle of its own. Colours are sums
 * of 64-bit hashes: that two unlike ones agree is not excluded, but will not
 * happen (2^-64 a pair).
 */
#ifndef GW__SIM_TRAFFIC_CLASSES_H
#define GW__SIM_TRAFFIC_CLASSES_H

#include "sim/topology/topology_parts.h"

#define GW__NOTHING UINT32_MAX
/* No virtual time is later: 53 days. */
#define GW__PS_MAX (UINT64_C(1) << 62)

/* Messages of a bundle that end together and then need as long to arrive. */
struct gw__group {
    double end; /* when the bundle has served so much */
    uint64_t latency_ps;
    uint32_t *messages;
    uint32_t count, room;
    uint32_t next; /* fresh: of the same bundle */
    uint32_t bundle;
};

struct gw__bundle {
    uint64_t signature; /* 0: unused */
    uint64_t messages;
    double rate;   /* bytes a picosecond, of each message */
    double served; /* bytes, each message, until since_ps */
    uint64_t since_ps, due_ps;
    double share;             /* the rate to be */
    uint32_t bottleneck;      /* the class that holds it back */
    struct gw__group *groups; /* a heap, the first to end at the top */
    uint32_t group_count, group_room;
    uint32_t first_use, fresh, next; /* next: of the same hash, or unused */
    uint32_t mark;
    bool settled;
};

struct gw__class {
    double rate, room;
    double open;  /* messages a link that have no rate yet */
    double share; /* of those whose bottleneck it is */
    uint64_t colour;
    uint32_t *links;
    uint32_t link_count, link_room;
    uint32_t met; /* links that new messages use */
    uint32_t first_use, next;
    uint32_t mark;
    bool touched;
    bool has_closed; /* some of its bundles keep their rates in this round */
};

/* Each message of the bundle uses `times` links of the class. */
struct gw__use {
    uint32_t bundle, class;
    uint32_t times;
    double messages;        /* a link of the class, in this round */
    uint32_t before, after; /* of the class */
    uint32_t next;          /* of the bundle, or unused */
};

struct gw__class_link {
    double rate; /* 0: no limit */
    uint64_t colour, sum;
    uint32_t class; /* or GW__NOTHING */
    uint32_t mark;
};

struct gw__vector {
    void *items;
    size_t count, room;
};

struct gw__heap_slot {
    uint64_t time_ps;
    uint32_t thing;
};

/* Things that happen, ordered by time and then by number; each is in here at
 * most once. */
struct gw__heap {
    struct gw__heap_slot *slots;
    uint32_t *place; /* of each thing: in `slots`, counted from 1; 0: nowhere */
    uint32_t count;
};

struct gw__class_message {
    uint32_t src, dst;
    uint64_t bytes;
};

/* A message to be sorted, with what is left of it. */
struct gw__new_message {
    uint32_t message;
    double left;
};

struct gw__classes {
    const struct gw_topology *topology;
    /* What message `number` is. */
    struct gw__class_message (*look)(const void *context, uint32_t number);
    const void *context;
    uint64_t *latency_ps; /* of each link */
    struct gw__class_link *links;
    unsigned link_count;
    uint64_t now_ps;
    struct gw__vector classes, bundles, uses, fresh;
    uint32_t free_class, free_bundle, free_use;
    uint32_t *hashed; /* bundles by signature */
    size_t hashed_room;
    struct gw__vector batch;          /* gw__new_message */
    struct gw__vector met, colours;   /* links; a table of colours */
    struct gw__vector touched;        /* classes to deal anew */
    struct gw__vector near_c, near_b; /* that hang together */
    struct gw__heap due;              /* bundles, by due_ps */
    size_t due_room;
    uint32_t round;
    bool exhausted; /* memory is short: nothing below means anything */
};

GW_MUST_CHECK enum gw_err gw__classes_init(struct gw__classes *c,
                                           struct gw_error *why);
void gw__classes_fini(struct gw__classes *c);

/* The message begins now. It has bytes and a way with a limit. */
void gw__classes_join(struct gw__classes *c, uint32_t message);
/* New rates, after joins and ends. */
void gw__classes_deal(struct gw__classes *c);
/* When the next messages end, or UINT64_MAX; and the next of the bundles in
 * which they do so now, or GW__NOTHING. */
uint64_t gw__classes_due(const struct gw__classes *c);
uint32_t gw__classes_pop(struct gw__classes *c);
/* Is now when the bundle's next messages end? Then they are taken out of it one
 * group a call, and the caller frees group->messages. */
bool gw__classes_end(struct gw__classes *c, uint32_t bundle,
                     struct gw__group *group);

/* ---- traffic_due.c ---- */

/* Puts it in, or moves it. */
void gw__heap_put(struct gw__heap *heap, uint32_t thing, uint64_t time_ps);
/* The next thing, taken out; the heap is not empty. */
uint32_t gw__heap_pop(struct gw__heap *heap);

/* ---- between traffic_classes.c, _bundles.c, _fill.c and _colours.c ---- */

static inline struct gw__class *gw__class_at(const struct gw__classes *c,
                                             uint32_t i)
{
    return (struct gw__class *)c->classes.items + i;
}

static inline struct gw__bundle *gw__bundle_at(const struct gw__classes *c,
                                               uint32_t i)
{
    return (struct gw__bundle *)c->bundles.items + i;
}

static inline struct gw__use *gw__use_at(const struct gw__classes *c,
                                         uint32_t i)
{
    return (struct gw__use *)c->uses.items + i;
}

/* Room for one more item of that size at the end, or NULL. */
void *gw__vector_push(struct gw__vector *vector, size_t item);
/* The limited links on the way of a message; *latency_ps is that of all. */
unsigned gw__classes_way(const struct gw__classes *c, uint32_t message,
                         unsigned links[GW_WAY_MAX], uint64_t *latency_ps);
/* Appends; when memory is short, c->exhausted. */
bool gw__classes_push(struct gw__classes *c, struct gw__vector *to,
                      uint32_t number);
/* Brings `served` up to now. */
void gw__bundle_serve(const struct gw__classes *c, struct gw__bundle *bundle);
/* What has come in now is part of its bundle from here on. */
void gw__bundles_keep_fresh(struct gw__classes *c);
void gw__class_touch(struct gw__classes *c, uint32_t class);
/* Nothing uses it any more: its links may be told apart anew. */
void gw__class_free(struct gw__classes *c, uint32_t class);
uint32_t gw__class_new(struct gw__classes *c, double rate);
bool gw__class_add_link(struct gw__classes *c, uint32_t class, uint32_t link);
/* Takes all of the bundle's messages into the batch, with what is left. */
void gw__bundle_dissolve(struct gw__classes *c, uint32_t bundle);
/* The message, which has a class for each link of its way, goes into a bundle.
 */
void gw__bundle_take(struct gw__classes *c, struct gw__new_message what);
/* Sorts the batch: after it every link that it uses has a class. */
void gw__colours_sort(struct gw__classes *c);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Max-min fair sharing of links by very many messages. If thousands of ranks do
 * the same, thousands of links have the same load and can be computed together:
 *
 *   class    links of equal rate, each with the same number of messages of
 *            each bundle
 *   bundle   messages whose paths use the same classes, so that all of them
 *            always have the same rate
 *   group    messages of a bundle that end at the same time
 *
 * Max-min rates are computed for classes and bundles (traffic_fill.c). A bundle
 * has one counter, the bytes that each of its messages has sent since the
 * bundle began; a message ends when the counter has grown by its bytes. So an
 * all-to-all of 4,096 ranks, sixteen million messages under way, is one bundle
 * on two classes.
 *
 * New messages are sorted into classes and bundles by colour refinement
 * (traffic_colours.c): links by their class or rate, messages by their links,
 * links by their messages, and so on until nothing changes. An existing class
 * that would be split is dissolved, with all that is connected to it, and
 * sorted again. Links without messages belong to no class, so links that were
 * once distinguished can be combined later.
 *
 * Without any symmetry every message is a bundle of its own. Colours are sums
 * of 64-bit hashes; a collision is possible but practically excluded (2^-64 per
 * pair).
 */
#ifndef GW__SIM_TRAFFIC_CLASSES_H
#define GW__SIM_TRAFFIC_CLASSES_H

#include "sim/topology/topology_parts.h"

#define GW__NOTHING UINT32_MAX
/* The maximum of virtual time: 53 days. */
#define GW__PS_MAX (UINT64_C(1) << 62)

/* Messages of a bundle that end together and have the same latency. */
struct gw__group {
    double end; /* value of bundle->served at its end */
    uint64_t latency_ps;
    uint32_t *messages;
    uint32_t count, room;
    uint32_t next; /* fresh groups: in the same bundle */
    uint32_t bundle;
};

struct gw__bundle {
    uint64_t signature; /* 0: unused */
    uint64_t messages;
    double rate;   /* bytes per picosecond, of each message */
    double served; /* bytes per message, up to since_ps */
    uint64_t since_ps, due_ps;
    double share;             /* the next rate */
    uint32_t bottleneck;      /* the class that limits it */
    struct gw__group *groups; /* a heap, with the first end at the top */
    uint32_t group_count, group_room;
    /* next: in the hash chain or the free list */
    uint32_t first_use, fresh, next;
    uint32_t mark;
    bool is_fixed;
};

struct gw__class {
    double rate, room;
    double open;  /* messages per link without a rate yet */
    double share; /* rate of the bundles that it limits */
    uint64_t colour;
    uint32_t *links;
    uint32_t link_count, link_room;
    uint32_t met; /* links used by new messages */
    uint32_t first_use, next;
    uint32_t mark;
    bool touched;
    bool has_closed; /* some of its bundles keep their rates in this round */
};

/* Each message of the bundle uses `times` links of the class. */
struct gw__use {
    uint32_t bundle, class;
    uint32_t times;
    double messages;        /* per link of the class, in this round */
    uint32_t before, after; /* in the list of the class */
    uint32_t next;          /* in the list of the bundle or the free list */
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

/* A heap of numbered entries by time and then number, each at most once. */
struct gw__heap {
    struct gw__heap_slot *slots;
    /* position of each entry in `slots`, from 1; 0: not in the heap */
    uint32_t *place;
    uint32_t count;
};

struct gw__class_message {
    uint32_t src, dst;
    uint64_t bytes;
};

/* A message to be sorted, with its remaining bytes. */
struct gw__new_message {
    uint32_t message;
    double left;
};

struct gw__classes {
    const struct gw_topology *topology;
    /* Returns message `number`. */
    struct gw__class_message (*get_message)(const void *context,
                                            uint32_t number);
    const void *context;
    uint64_t *latency_ps; /* of each link */
    struct gw__class_link *links;
    unsigned link_count;
    uint64_t now_ps;
    struct gw__vector classes, bundles, uses, fresh;
    uint32_t free_class, free_bundle, free_use;
    uint32_t *hashed; /* bundles by signature */
    size_t hashed_room;
    struct gw__vector batch;        /* gw__new_message */
    struct gw__vector met, colours; /* links; a table of colours */
    struct gw__vector touched;      /* classes that need new rates */
    struct gw__vector connected_classes,
        connected_bundles; /* connected classes and bundles */
    struct gw__heap due;   /* bundles, by due_ps */
    size_t due_room;
    uint32_t round;
    bool exhausted; /* out of memory: all results are invalid */
};

GW_MUST_CHECK enum gw_err gw__classes_init(struct gw__classes *c,
                                           struct gw_error *why);
void gw__classes_fini(struct gw__classes *c);

/* Begins a message that has bytes and a path with a limited link. */
void gw__classes_join(struct gw__classes *c, uint32_t message);
/* Computes new rates after messages have begun or ended. */
void gw__classes_update_rates(struct gw__classes *c);
/* The time of the next end, or UINT64_MAX. gw__classes_pop returns the next
 * bundle with an end at the current time, or GW__NOTHING. */
uint64_t gw__classes_due(const struct gw__classes *c);
uint32_t gw__classes_pop(struct gw__classes *c);
/* Do messages of the bundle end now? Removes one group per call; the caller
 * frees group->messages. */
bool gw__classes_end(struct gw__classes *c, uint32_t bundle,
                     struct gw__group *group);

/* ---- traffic_due.c ---- */

/* Inserts or moves an entry. */
void gw__heap_put(struct gw__heap *heap, uint32_t thing, uint64_t time_ps);
/* Removes and returns the first entry; the heap must not be empty. */
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

/* Makes room for one more item at the end; NULL: out of memory. */
void *gw__vector_push(struct gw__vector *vector, size_t item);
/* The rate-limited links on the path of a message. *latency_ps is the latency
 * of the whole path. */
unsigned gw__classes_path(const struct gw__classes *c, uint32_t message,
                          unsigned links[GW_PATH_LINKS_MAX],
                          uint64_t *latency_ps);
/* Appends a number; sets c->exhausted if out of memory. */
bool gw__classes_push(struct gw__classes *c, struct gw__vector *to,
                      uint32_t number);
/* Updates `served` to the current time. */
void gw__bundle_serve(const struct gw__classes *c, struct gw__bundle *bundle);
/* Moves the fresh groups to their bundles. */
void gw__bundles_keep_fresh(struct gw__classes *c);
void gw__class_touch(struct gw__classes *c, uint32_t class);
/* The class has no uses left; its links become unclassified. */
void gw__class_free(struct gw__classes *c, uint32_t class);
uint32_t gw__class_new(struct gw__classes *c, double rate);
bool gw__class_add_link(struct gw__classes *c, uint32_t class, uint32_t link);
/* Moves all of the bundle's messages to the batch, with their remaining
 * bytes. */
void gw__bundle_dissolve(struct gw__classes *c, uint32_t bundle);
/* Adds a message, whose links all have classes, to its bundle. */
void gw__bundle_add_message(struct gw__classes *c, struct gw__new_message what);
/* Sorts the batch: afterwards all of its links have classes. */
void gw__colours_sort(struct gw__classes *c);

#endif

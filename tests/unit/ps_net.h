/* SPDX-License-Identifier: MIT
 *
 * Some parameter servers, workers of the simplest kind, and a network between
 * them that loses, duplicates and reorders messages, all from one seed. Routes
 * come from the real code (cluster/route.h); the test decides which servers die
 * and when updates arrive.
 *
 * A worker overwrites the values of a push when it is acknowledged, as real
 * workers may. A late reader of them gets garbage.
 */
#ifndef PS_NET_H
#define PS_NET_H

#include <ps/server/server.h>

#include <cluster/routes/route.h>

enum {
    NET_SERVERS = 6,
    NET_WORKERS = 4,
    NET_WORKER_NODE = 32, /* of the first one */
    NET_PUSHES = 4096,
    NET_MS = 1000000
};

struct net_mail;

/* One request of a worker, until all of its slots are done. */
struct net_request {
    bool used, done, failed;
    unsigned worker, kind, table;
    uint64_t sequence, low_watermark, clock, closed;
    uint64_t todo; /* slots, as bits */
    size_t count;
    uint64_t *keys;
    float *values; /* pushed or pulled values */
    bool half;
    void **memory; /* the values of each attempt: the servers read them there,
                    * and they are overwritten once the request is done */
    uint64_t *carried; /* the slots of each attempt, as bits */
    unsigned sent;
    uint64_t requested_ns;
    struct gw__ps_head reply; /* the newest reply */
    char text[200];
    struct gw_ps_work work;
    struct gw__clock_command command;
};

struct net_saved {
    uint64_t mark;
    unsigned slot, bytes;
    void *data;
};

struct net {
    uint64_t seed, now_ns;
    struct gw_rng rng;
    unsigned server_count, width;
    struct gw__server *servers[NET_SERVERS];
    struct gw__server_config configs[NET_SERVERS];
    bool paused[NET_SERVERS], gone[NET_SERVERS]; /* gone: not in the routes */
    bool alive[NET_WORKERS];
    struct gw__routes routes;
    uint64_t index;
    unsigned loss_ppm, double_ppm, delay_ms; /* 0: in order, at once */
    bool no_lease, no_proposals;
    unsigned proposals;
    struct net_mail *mail;
    size_t mail_count, mail_room;
    uint64_t mail_number;
    uint64_t sequences[NET_WORKERS];
    struct net_request requests[NET_PUSHES];
    unsigned request_count;
    bool signatures; /* requests ask servers to keep key lists */
    struct net_saved saved[256];
    unsigned saved_count;
};

/* On the heap. The slots are placed when it returns. */
struct net *net_new(uint64_t seed, unsigned servers, unsigned slots,
                    unsigned replicas);
void net_free(struct net *net);
/* For a network made with 0 servers: adds a server without any update, and
 * places the slots on the other servers. */
void net_add_silent(struct net *net);
void net_assign_slots(struct net *net);
/* A further, empty server; it joins with the next update. */
void net_add_server(struct net *net);
unsigned net_table(struct net *net, const char *name, uint32_t width,
                   enum gw_ps_updater updater, uint32_t dense);
/* Sends the update to all servers; it arrives some time soon. */
void net_send_update(struct net *net);
/* Drops all messages on their way to that server, updates included. */
void net_lose_mail(struct net *net, unsigned server);
void net_kill(struct net *net, unsigned server); /* kills its process */
void net_declare_dead(struct net *net, unsigned server);
void net_end_worker(struct net *net, unsigned worker);

/* Prints the open requests, and the places of the slots. */
void net_explain(const struct net *net);
void net_run(struct net *net, unsigned ms);
/* Runs until no request and no message is under way; fails the test after
 * `ms`. */
void net_drain(struct net *net, unsigned ms);

/* Keys and values are copied. Each returns the number of the request. */
unsigned net_push(struct net *net, unsigned worker, unsigned table,
                  const uint64_t *keys, size_t count, const float *values,
                  uint64_t clock);
/* Outside of items; pulls the result into the values. */
unsigned net_push_pull(struct net *net, unsigned worker, unsigned table,
                       const uint64_t *keys, size_t count, const float *values);
unsigned net_pull(struct net *net, unsigned worker, unsigned table,
                  const uint64_t *keys, size_t count, uint64_t closed);
unsigned net_clock(struct net *net, unsigned worker, unsigned group,
                   const struct gw__clock_command *command);
/* Sends the request again, as if the answer had been lost. */
void net_repeat(struct net *net, unsigned request);
bool net_done(const struct net *net, unsigned request);
/* Runs until the request has ended, ten seconds at most. */
struct net_request *net_wait(struct net *net, unsigned request);
/* Between ps_net.c and ps_net_worker.c. */
void net_enqueue(struct net *net, unsigned from,
                 const struct gw__message_out *message);
void net_on_reply(struct net *net, struct gw__message_in *message);
void net_repeat_requests(struct net *net);
uint64_t net_incarnation(unsigned node);
/* Sends a message from a worker to a server as it is, without lending a
 * part. */
void net_send(struct net *net, unsigned worker, unsigned server,
              const struct gw__message_out *message);
/* The value of a key in a table of width 1. */
float net_value(struct net *net, unsigned table, uint64_t key);
/* Checks that all replicas of a slot have the same digest; returns the number
 * of replicas compared. */
unsigned net_compare_replicas(struct net *net);

#endif

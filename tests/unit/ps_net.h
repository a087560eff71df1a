/* SPDX-License-Identifier: MIT
 *
 * Some servers of the parameter server, workers of the simplest kind, and a
 * network between them that loses, doubles and reorders, all from one seed. The
 * routes are the real ones (cluster/route.h); who dies and when the news come
 * is the test's.
 *
 * A worker overwrites the values of a push when it is acknowledged, as real
 * ones may: whoever looks at them later gets nonsense.
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
    uint64_t sequence, floor, clock, closed;
    uint64_t todo; /* slots */
    size_t count;
    uint64_t *keys;
    float *values; /* pushed, or pulled */
    bool half;
    void **memory; /* values of each time it was sent: the servers read them
                      there, and they are nonsense once it is done */
    unsigned sent;
    uint64_t asked_ns;
    struct gw__ps_head reply; /* the newest */
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
    bool paused[NET_SERVERS], gone[NET_SERVERS]; /* gone: by the routes */
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
    bool signatures; /* requests carry key lists to be kept */
    struct net_saved saved[256];
    unsigned saved_count;
};

/* On the heap. Slots are placed when it returns. */
struct net *net_new(uint64_t seed, unsigned servers, unsigned slots,
                    unsigned replicas);
void net_free(struct net *net);
/* For one made with 0 servers: adds one that has heard nothing yet; places the
 * slots on those that are there. */
void net_add_silent(struct net *net);
void net_place(struct net *net);
/* A further server, empty; joins with the news. */
void net_add_server(struct net *net);
unsigned net_table(struct net *net, const char *name, uint32_t width,
                   enum gw_ps_updater updater, uint32_t dense);
/* To all servers, some time soon. */
void net_news(struct net *net);
/* What is under way to that server is lost, news too. */
void net_lose_mail(struct net *net, unsigned server);
void net_kill(struct net *net, unsigned server); /* its process */
void net_convict(struct net *net, unsigned server);
void net_end_worker(struct net *net, unsigned worker);

/* Prints what is not done, and where the slots are. */
void net_explain(const struct net *net);
void net_run(struct net *net, unsigned ms);
/* Until no request is under way and no letter either; fails the test after
 * `ms`. */
void net_settle(struct net *net, unsigned ms);

/* Keys and values are copied. Each returns the number of the request. */
unsigned net_push(struct net *net, unsigned worker, unsigned table,
                  const uint64_t *keys, size_t count, const float *values,
                  uint64_t clock);
/* Outside of units; the values become what was pulled. */
unsigned net_push_pull(struct net *net, unsigned worker, unsigned table,
                       const uint64_t *keys, size_t count, const float *values);
unsigned net_pull(struct net *net, unsigned worker, unsigned table,
                  const uint64_t *keys, size_t count, uint64_t closed);
unsigned net_clock(struct net *net, unsigned worker, unsigned group,
                   const struct gw__clock_command *command);
/* Once more, now: as if the answer had been lost. */
void net_repeat(struct net *net, unsigned request);
bool net_done(const struct net *net, unsigned request);
/* Runs until it has ended, at most ten seconds. */
struct net_request *net_wait(struct net *net, unsigned request);
/* Between ps_net.c and ps_net_worker.c. */
void net_post(struct net *net, unsigned from,
              const struct gw__message_out *letter);
void net_on_reply(struct net *net, struct gw__message_in *parcel);
void net_repeat_requests(struct net *net);
uint64_t net_incarnation(unsigned node);
/* A letter as it is, from a worker to a server: takes no part of it over. */
void net_send(struct net *net, unsigned worker, unsigned server,
              const struct gw__message_out *letter);
/* The value of a key in a table of width 1. */
float net_value(struct net *net, unsigned table, uint64_t key);
/* Replicas of each slot have the same digest; returns how many were there. */
unsigned net_compare_replicas(struct net *net);

#endif

/* SPDX-License-Identifier: MIT
 *
 * One of the servers: see pskills.h. It carries out the orders on the board,
 * reports its state there, and starts again as another incarnation after it was
 * declared dead.
 */
#include "pskills.h"

#include <unistd.h>

static const uint64_t give_up_ns = 120000000000;

static struct server_process *process;
static _Atomic(struct gw_ps_server *) server;
static struct gw_ps_server_status reported; /* of this life */

/* ---- reports, by the server's thread ---- */

static void add_increase(_Atomic uint64_t *sum, uint64_t *was, uint64_t is)
{
    atomic_fetch_add(sum, is - *was);
    *was = is;
}

static void on_status(void *context)
{
    static struct gw_ps_server_status now;
    struct gw_ps_server *mine = atomic_load(&server);
    (void)context;
    if (!mine)
        return;
    gw_ps_server_get_status(mine, &now);
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct gw_ps_slot_status *slot = &now.slots[s];
        atomic_store(&process->slots[s].role, slot->role);
        atomic_store(&process->slots[s].last, slot->last);
        atomic_store(&process->slots[s].rows, slot->rows);
        atomic_store(&process->slots[s].committed, slot->committed);
    }
    atomic_store(&process->freeze_ns, now.freeze_ns_max);
    add_increase(&process->moved, &reported.moved, now.moved);
    add_increase(&process->takeovers, &reported.takeovers, now.takeovers);
    add_increase(&process->duplicates, &reported.duplicates, now.duplicates);
    add_increase(&process->refused, &reported.refused, now.refused);
}

/* ---- orders ---- */

static void obey(struct gw_ps_server *mine, bool down[GW_PS_NODES])
{
    for (unsigned node = 0; node < GW_PS_NODES; node++) {
        bool wanted = atomic_load(&process->down[node]);
        if (wanted != down[node])
            gw_ps_server_emulate_link(
                mine, node, &(struct gw_link_profile){.down = wanted});
        down[node] = wanted;
    }
}

static struct gw_ps_server *start(unsigned number)
{
    struct addresses addresses;
    struct gw_ps_server *mine;
    struct gw_error why;
    uint64_t deadline_ns = gw_now_ns() + give_up_ns;
    struct gw_ps_server_config config = {.node = FIRST_SERVER + number,
                                         .endpoint = addresses.own,
                                         .token = board->token,
                                         .controller_count = CONTROLLERS,
                                         .wire = board->wire,
                                         .no_dedupe = board->no_dedupe,
                                         .seed = board->seed,
                                         .on_status = on_status};
    addresses_of(config.node, &addresses);
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        config.controllers[c] = FIRST_CONTROLLER + c;
        config.controller_endpoints[c] = addresses.controllers[c];
    }
    while (gw_ps_server_start(&config, &mine, &why)) {
        if (gw_now_ns() > deadline_ns)
            give_up("server %u: %s", number, why.text);
        nap_us(10000);
    }
    reported = (struct gw_ps_server_status){0};
    atomic_store(&server, mine);
    return mine;
}

/* True: it has left. */
static bool serve(unsigned number, struct gw_ps_server *mine)
{
    struct gw_error why;
    bool down[GW_PS_NODES] = {false};
    for (;;) {
        obey(mine, down);
        apply_failpoint_command(&process->command);
        if (gw_ps_server_error(mine, &why))
            return false;
        if (atomic_load(&process->leave)) {
            enum gw_err err = gw_ps_server_leave(mine, &why);
            if (!err)
                return true;
            if (err != GW_ECLOSED)
                give_up("server %u: leave: %s", number, why.text);
        }
        nap_us(TICK_US);
    }
}

int server_main(unsigned number)
{
    process = &board->servers[number];
    for (;;) {
        struct gw_ps_server *mine = start(number);
        atomic_store(&process->state, SERVER_SERVING);
        bool left = serve(number, mine);
        atomic_store(&process->state, left ? SERVER_LEFT : SERVER_STARTING);
        atomic_store(&server, NULL);
        gw_ps_server_destroy(&mine);
        if (left)
            return 0;
        atomic_fetch_add(&process->declared_dead, 1);
    }
}

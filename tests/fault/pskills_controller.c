/* SPDX-License-Identifier: MIT
 *
 * One of the controllers: see pskills.h. Its log survives a kill.
 */
#include "pskills.h"

#include <cluster/controller/controller.h>

#include <stdio.h>

int controller_main(unsigned number)
{
    struct addresses addresses;
    struct gw__controller *controller;
    struct gw_error why;
    unsigned nodes[CONTROLLERS];
    const char *raft[CONTROLLERS];
    char directory[PATH_ROOM + 16];
    addresses_of(FIRST_CONTROLLER + number, &addresses);
    snprintf(directory, sizeof directory, "%s/%u", board->directory, number);
    for (unsigned c = 0; c < CONTROLLERS; c++) {
        nodes[c] = FIRST_CONTROLLER + c;
        raft[c] = board->raft[c];
    }
    const struct gw__controller_config config = {
        .index = number,
        .count = CONTROLLERS,
        .nodes = nodes,
        .raft_addresses = raft,
        .directory = directory,
        .channel = {.node = FIRST_CONTROLLER + number,
                    .endpoint = addresses.own,
                    .security.token = board->token}};
    enum gw_err err = gw__controller_start(&config, &controller, &why);
    while (!err) {
        apply_failpoint_command(&board->commands[number]);
        nap_us(board->works_in_items ? 2000 : 20000);
        err = gw__controller_error(controller, &why);
    }
    give_up("controller %u: %s", number, why.text);
}

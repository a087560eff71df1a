/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See join.h.
 */
#include "join.h"

#include "common/output.h"
#include "psnode.h"

#include <ring/ring_env.h>
#include <wire/address.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct join_options join_options = {
    .wire = "tcp",
    .node = GW_PS_ANY,
};

static enum gw_err parse_token(struct join *join, struct gw_error *why)
{
    char *end;
    if (!join_options.name)
        join_options.name = getenv("GW_CLUSTER");
    if (!join_options.name)
        join_options.name = "gradwire";
    if (!join_options.token) {
        join->token = gw_hash(join_options.name, strlen(join_options.name), 0);
        return GW_OK;
    }
    size_t digits = strspn(join_options.token, "0123456789abcdefABCDEF");
    join->token = strtoull(join_options.token, &end, 16);
    if (digits > 0 && digits <= 16 && !*end)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "--token must be a number of up to 16 hexadecimal digits");
}

static enum gw_err parse_controllers(struct join *join, struct gw_error *why)
{
    const char *list = join_options.controllers;
    struct gw__controllers read;
    join->by_engine = !list && getenv("GW_CONTROLLERS");
    if (join->by_engine) {
        list = getenv("GW_CONTROLLERS");
        exit_for_engine();
    }
    if (!list || !*list)
        return gw_fail(why, GW_EINVAL,
                       "no controllers given; use --join tcp://host:port (on "
                       "a controller --peers)");
    if (gw__controllers_read(list, &read, why))
        return why->code;
    join->controller_count = read.count;
    for (unsigned i = 0; i < read.count; i++) {
        snprintf(join->endpoints[i], JOIN_ENDPOINT_MAX, "%.111s",
                 read.endpoints[i]);
        join->endpoint_list[i] = join->endpoints[i];
        join->controllers[i] = read.nodes[i];
    }
    return GW_OK;
}

void join_host(const char *endpoint, char host[JOIN_ENDPOINT_MAX])
{
    static const char tcp[] = "tcp://";
    const char *start = endpoint + strlen(tcp), *colon = strrchr(endpoint, ':');
    *host = 0;
    if (strncmp(endpoint, tcp, strlen(tcp)) == 0 && colon > start)
        snprintf(host, JOIN_ENDPOINT_MAX, "%.*s", (int)(colon - start), start);
}

/* The endpoint of this process: as given, or the interface that leads to the
 * controllers. */
static enum gw_err choose_listen(struct join *join, struct gw_error *why)
{
    if (join_options.listen)
        return gw__address_bindable(join_options.listen, join->listen,
                                    sizeof join->listen, why);
    return gw__listen_towards(join->endpoints[0], join_options.interface,
                              join->listen, why);
}

enum gw_err join_parse(struct join *join, struct gw_error *why)
{
    *join = (struct join){.token = 0};
    if (parse_token(join, why) || parse_controllers(join, why))
        return why->code;
    if (join_options.node != GW_PS_ANY &&
        join_options.node >= OBSERVER_NODES - 4)
        return gw_fail(why, GW_EINVAL, "--node must be from 0 to %d, not %u",
                       OBSERVER_NODES - 5, join_options.node);
    if (choose_listen(join, why))
        return why->code;
    join_host(join->listen, join->interface);
    if (join_options.interface)
        snprintf(join->interface, sizeof join->interface, "%.100s",
                 join_options.interface);
    return GW_OK;
}

void join_ready(const char *role, const char *endpoint)
{
    static const struct field fields[] = {
        {.name = "role", .kind = FIELD_TEXT},
        {.name = "endpoint", .kind = FIELD_TEXT},
    };
    enum { FIELD_COUNT = sizeof fields / sizeof *fields };
    const union value values[FIELD_COUNT] = {{.text = role},
                                             {.text = endpoint}};
    struct gw_error why;
    if (strcmp(common.output, "table") == 0)
        printf("%s is ready at %s\n", role, endpoint);
    else if (output_record("psnode", common.output, fields, values, FIELD_COUNT,
                           NULL, false, &why))
        complain(&why);
    fflush(stdout);
}

/* SPDX-License-Identifier: MIT
 *
 * The allowed endpoints: "ipc://@name", abstract, so that no file is left in
 * the file system, and "tcp://host:port" with one numeric host. An address not
 * known to be loopback counts as the open network, where listening needs a key.
 * Other forms that libzmq would accept (wildcards, source addresses, names to
 * resolve) are refused, since endpoints come from other processes.
 */
#include "control_channel_parts.h"
#include "wire/interface.h"

#include <stdlib.h>
#include <string.h>

static const char ipc[] = "ipc://@", tcp[] = "tcp://";

enum { IPC_NAME_MAX = 106 }; /* of a Unix socket's 108 bytes */

static bool starts(const char *endpoint, const char *prefix)
{
    return strncmp(endpoint, prefix, strlen(prefix)) == 0;
}

static bool is_name(const char *name)
{
    size_t length = strlen(name);
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return length > 0 && length <= IPC_NAME_MAX;
}

static bool is_port(const char *port, bool listen)
{
    size_t digits = strspn(port, "0123456789");
    if (listen && strcmp(port, "*") == 0)
        return true;
    return digits > 0 && digits <= 5 && port[digits] == 0 &&
           strtoul(port, NULL, 10) - 1 < 65535;
}

/* "127.0.0.1:4711", "[::1]:4711": the host, or "" if it is neither. */
static void split_host(const char *endpoint,
                       char host[GW__CONTROL_CHANNEL_ENDPOINT_MAX],
                       const char **port)
{
    const char *start = endpoint + strlen(tcp), *colon = strrchr(start, ':');
    size_t length = colon ? (size_t)(colon - start) : 0;
    memcpy(host, start, length);
    host[length] = 0;
    *port = colon ? colon + 1 : "";
    if (strspn(host, "0123456789abcdefABCDEF.:[]") != length)
        host[0] = 0;
}

bool gw__control_channel_is_remote(const char *endpoint)
{
    char host[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    const char *port;
    if (!starts(endpoint, tcp))
        return false;
    split_host(endpoint, host, &port);
    return !gw__is_loopback(host);
}

static enum gw_err check_tcp(const char *endpoint, bool listen,
                             struct gw_error *why)
{
    char host[GW__CONTROL_CHANNEL_ENDPOINT_MAX];
    const char *port;
    split_host(endpoint, host, &port);
    if (host[0] == 0 || !is_port(port, listen))
        return gw_fail(why, GW_EINVAL,
                       "%s: the host and the port must be numbers", endpoint);
    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "[::]") == 0 ||
        strcmp(host, "::") == 0)
        return gw_fail(why, GW_EINVAL,
                       "%s: name one address; peers must know where to connect",
                       endpoint);
    return GW_OK;
}

static enum gw_err check_endpoint(const char *endpoint, bool listen,
                                  struct gw_error *why)
{
    if (strnlen(endpoint, GW__CONTROL_CHANNEL_ENDPOINT_MAX) ==
        GW__CONTROL_CHANNEL_ENDPOINT_MAX)
        return gw_fail(why, GW_EINVAL,
                       "an endpoint must have at most %d characters",
                       GW__CONTROL_CHANNEL_ENDPOINT_MAX - 1);
    if (starts(endpoint, tcp))
        return check_tcp(endpoint, listen, why);
    if (starts(endpoint, ipc) && is_name(endpoint + strlen(ipc)))
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "\"%s\" is neither ipc://@name nor tcp://host:port",
                   endpoint);
}

enum gw_err gw__control_channel_check_endpoint(const char *endpoint,
                                               struct gw_error *why)
{
    return check_endpoint(endpoint, false, why);
}

enum gw_err gw__control_channel_check_listen(const char *endpoint, bool allowed,
                                             struct gw_error *why)
{
    enum gw_err err = check_endpoint(endpoint, true, why);
    if (!err && !allowed && gw__control_channel_is_remote(endpoint))
        err = gw_fail(why, GW_EINVAL,
                      "%s is open to the network; give a key file, or allow it "
                      "with --insecure",
                      endpoint);
    return err;
}

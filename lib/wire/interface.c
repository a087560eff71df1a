/* SPDX-License-Identifier: MIT
 *
 * See interface.h. An address not known to be loopback counts as the open
 * network.
 */
#include "interface.h"

#include <stdio.h>
#include <string.h>

bool gw__is_loopback(const char *interface)
{
    return strncmp(interface, "127.", 4) == 0 ||
           strcmp(interface, "::1") == 0 || strcmp(interface, "[::1]") == 0 ||
           strcmp(interface, "lo") == 0;
}

static enum gw_err check_exposure(const char *interface, bool guarded,
                                  struct gw_error *why)
{
    static const char *const any[] = {"*", "0.0.0.0", "::", "[::]"};
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        if (strcmp(interface, any[i]) == 0)
            return gw_fail(why, GW_EINVAL,
                           "name one interface, not \"%s\"; peers must know "
                           "where to connect",
                           interface);
    if (gw__is_loopback(interface) || guarded)
        return GW_OK;
    return gw_fail(why, GW_EINVAL,
                   "%.60s is open to the network; give a key file, or allow it "
                   "with --insecure",
                   interface);
}

enum gw_err gw__interface(const char *wanted, const char *towards, bool guarded,
                          char number[GW__HOST_MAX], struct gw_error *why)
{
    enum gw_err err = GW_OK;
    snprintf(number, GW__HOST_MAX, "127.0.0.1");
    if (wanted)
        err = gw__address_own(wanted, towards, number, why);
    enum gw_err open = check_exposure(number, guarded, why);
    return open ? open : err;
}

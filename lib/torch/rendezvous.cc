/* SPDX-License-Identifier: MIT
 *
 * See rendezvous.h.
 */
#include "rendezvous.h"

#include "tensors.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <netdb.h>
#include <netinet/in.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gradwire {

std::vector<uint8_t> as_bytes(const std::string &text)
{
    return std::vector<uint8_t>(text.begin(), text.end());
}

std::string as_text(const std::vector<uint8_t> &bytes)
{
    return std::string(bytes.begin(), bytes.end());
}

/* Names the host and its network namespace: those of abstract sockets. */
std::string host_identity()
{
    std::string boot;
    struct stat net = {};
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    stat("/proc/self/ns/net", &net);
    return boot + "/" + std::to_string(net.st_ino);
}

bool share_host(const Place &place)
{
    auto own = host_identity();
    place.store->set("gradwire/host/" + std::to_string(place.rank),
                     as_bytes(own));
    for (int i = 0; i < place.size; i++)
        if (as_text(place.store->get("gradwire/host/" + std::to_string(i))) !=
            own)
            return false;
    return true;
}

/* A port of this address that is free at the moment. */
static uint16_t find_port(const char *host)
{
    struct addrinfo hints = {}, *found = nullptr;
    struct sockaddr_in6 address = {}; /* or sockaddr_in: the port's place is
                                         the same */
    socklen_t bytes = sizeof address;
    hints.ai_socktype = SOCK_STREAM;
    int error = getaddrinfo(host, nullptr, &hints, &found);
    TORCH_CHECK(!error, "gradwire: GW_INTERFACE=", host, ": ",
                gai_strerror(error));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                 getsockname(fd, reinterpret_cast<struct sockaddr *>(&address),
                             &bytes) == 0;
    int reason = errno;
    freeaddrinfo(found);
    if (fd >= 0)
        close(fd);
    TORCH_CHECK(bound, "gradwire: GW_INTERFACE=", host, ": ", strerror(reason),
                "; give an address of this host");
    return ntohs(address.sin6_port);
}

/* Rank 0 draws an endpoint, and the others read it from the store. */
std::string agree_endpoint(const Place &place, const char *lane, bool one_host)
{
    std::string key = std::string("gradwire/endpoint/") + lane;
    if (place.rank == 0) {
        struct gw_rng rng;
        gw_rng_seed(&rng, gw_now_ns() ^ static_cast<uint64_t>(getpid()) << 32);
        std::ostringstream endpoint;
        const char *address = getenv("GW_INTERFACE");
        TORCH_CHECK(one_host || address,
                    "gradwire: ranks on several hosts: set GW_INTERFACE to the "
                    "address of each host");
        if (one_host)
            endpoint << "ipc://@gradwire-torch-" << std::hex
                     << gw_rng_next(&rng);
        else
            endpoint << "tcp://" << address << ":" << find_port(address);
        place.store->set(key, as_bytes(endpoint.str()));
        return endpoint.str();
    }
    return as_text(place.store->get(key));
}

unsigned limit_ms(milliseconds time)
{
    constexpr int64_t longest = 1 << 30;
    return static_cast<unsigned>(
        std::min<int64_t>(std::max<int64_t>(time.count(), 1), longest));
}

struct gw_comm *connect(const Place &place, const char *lane, bool one_host,
                        milliseconds patience)
{
    std::string endpoint = agree_endpoint(place, lane, one_host);
    struct gw_comm_config config = {};
    struct gw_comm *comm;
    struct gw_error why = {};
    const char *wire = getenv("GW_WIRE");
    config.rank = static_cast<unsigned>(place.rank);
    config.size = static_cast<unsigned>(place.size);
    config.rendezvous = endpoint.c_str();
    config.wire = wire ? wire : one_host ? "shm" : "tcp";
    config.connect_ms = limit_ms(place.timeout);
    config.timeout_ms = limit_ms(patience);
    config.key_file = getenv("GRADWIRE_KEY");
    config.interface = getenv("GW_INTERFACE");
    config.insecure = getenv("GW_INSECURE") != nullptr;
    check(gw_comm_create(&config, &comm, &why), why);
    return comm;
}

} // namespace gradwire

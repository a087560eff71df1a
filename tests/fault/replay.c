/* SPDX-License-Identifier: MIT
 *
 * Records the data sent to ports of this host, and sends it again:
 *
 *     replay record FOLDER PORT...    records all data sent to these ports, one
 *                                     file FOLDER/PORT.SOURCE per new
 *                                     connection, until standard input ends.
 *                                     Prints "there" first. Needs root.
 *     replay play HOST PORT FILE COUNT
 *                                     connects so often, sends all of it, and
 *                                     waits until it is disconnected
 *     replay keys HOST PORT FILE COUNT
 *                                     so many sockets with another key (the
 *                                     key file FILE) that try repeatedly,
 *                                     until standard input ends
 *
 * The loopback neither loses nor reorders data; the position of a segment in
 * its file follows from its sequence number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

enum { STREAMS = 4096, PACKET = 1 << 17, PATIENCE_S = 60, BYTES_MAX = 1 << 24 };

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- record ---- */

static struct stream {
    uint16_t source, port;
    uint32_t first; /* sequence number of its first byte */
    int fd;
} streams[STREAMS];
static unsigned stream_count;

static struct stream *find(uint16_t source, uint16_t port)
{
    for (unsigned i = stream_count; i-- > 0;)
        if (streams[i].source == source && streams[i].port == port)
            return &streams[i];
    return NULL;
}

static void begin(const char *folder, const struct tcphdr *tcp)
{
    char path[512];
    if (stream_count == STREAMS)
        return;
    struct stream *s = &streams[stream_count++];
    s->source = ntohs(tcp->source);
    s->port = ntohs(tcp->dest);
    s->first = ntohl(tcp->seq) + 1;
    snprintf(path, sizeof path, "%s/%u.%u", folder, s->port, s->source);
    s->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (s->fd < 0)
        fail(path);
}

static bool is_wanted(uint16_t port, char **ports)
{
    for (; *ports; ports++)
        if (atoi(*ports) == port)
            return true;
    return false;
}

static void save_packet(const uint8_t *packet, size_t bytes, const char *folder,
                        char **ports)
{
    const struct iphdr *ip = (const void *)packet;
    if (bytes < sizeof *ip || ip->protocol != IPPROTO_TCP)
        return;
    size_t skip = ip->ihl * 4U;
    const struct tcphdr *tcp = (const void *)(packet + skip);
    if (bytes < skip + sizeof *tcp || !is_wanted(ntohs(tcp->dest), ports))
        return;
    if (tcp->syn)
        begin(folder, tcp);
    skip += tcp->doff * 4U;
    struct stream *s = find(ntohs(tcp->source), ntohs(tcp->dest));
    uint32_t at = s ? ntohl(tcp->seq) - s->first : BYTES_MAX;
    if (!tcp->syn && bytes > skip && at < BYTES_MAX &&
        pwrite(s->fd, packet + skip, bytes - skip, at) < 0)
        fail(folder);
}

static int record(const char *folder, char **ports)
{
    static _Alignas(8) uint8_t packet[PACKET];
    int room = 1 << 26;
    int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
    if (fd < 0)
        fail("AF_PACKET");
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    puts("there");
    fflush(stdout);
    for (;;) {
        struct pollfd fds[] = {{.fd = fd, .events = POLLIN},
                               {.fd = 0, .events = POLLIN}};
        struct sockaddr_ll from;
        socklen_t size = sizeof from;
        poll(fds, 2, -1);
        if (fds[0].revents) {
            ssize_t got = recvfrom(fd, packet, sizeof packet, 0,
                                   (struct sockaddr *)&from, &size);
            if (got > 0 && from.sll_pkttype != PACKET_OUTGOING)
                save_packet(packet, (size_t)got, folder, ports);
        } else if (fds[1].revents) {
            return 0;
        }
    }
}

/* ---- play ---- */

static int come(const char *host, const char *port)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || fd < 0)
        fail(host);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        if (errno != ECONNREFUSED)
            fail(host);
        puts("no process listens there any more");
        exit(0);
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return fd;
}

/* Sends all data, or until the peer refuses more; then reads to the end. */
static bool is_thrown_out(int fd, const uint8_t *bytes, size_t size)
{
    uint8_t answer[4096];
    ssize_t got;
    for (size_t at = 0; at < size; at += (size_t)got) {
        got = send(fd, bytes + at, size - at, MSG_NOSIGNAL);
        if (got <= 0)
            return true;
    }
    while ((got = recv(fd, answer, sizeof answer, 0)) > 0)
        ;
    struct tcp_info about;
    socklen_t room = sizeof about;
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &about, &room);
    return about.tcpi_state != TCP_ESTABLISHED;
}

static int play(const char *host, const char *port, const char *path,
                unsigned count)
{
    static uint8_t bytes[BYTES_MAX];
    unsigned out = 0;
    int file = open(path, O_RDONLY);
    ssize_t size = read(file, bytes, sizeof bytes);
    if (size <= 0)
        fail(path);
    for (unsigned i = 0; i < count; i++) {
        int fd = come(host, port);
        out += is_thrown_out(fd, bytes, (size_t)size);
        close(fd);
    }
    printf("%u of %u were thrown out, with %zd bytes each\n", out, count, size);
    return out != count;
}

/* ---- keys ---- */

static int knock(const char *host, const char *port, const char *path,
                 unsigned count)
{
    char public_key[41], secret_key[41], endpoint[128], c;
    int often_ms = 10, linger = 0;
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%40s %40s", public_key, secret_key) != 2)
        fail(path);
    fclose(file);
    snprintf(endpoint, sizeof endpoint, "tcp://%s:%s", host, port);
    void *context = zmq_ctx_new();
    for (unsigned i = 0; i < count; i++) {
        void *s = zmq_socket(context, ZMQ_DEALER);
        zmq_setsockopt(s, ZMQ_CURVE_SERVERKEY, public_key, 41);
        zmq_setsockopt(s, ZMQ_CURVE_PUBLICKEY, public_key, 41);
        zmq_setsockopt(s, ZMQ_CURVE_SECRETKEY, secret_key, 41);
        zmq_setsockopt(s, ZMQ_RECONNECT_IVL, &often_ms, sizeof often_ms);
        zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger);
        if (zmq_connect(s, endpoint) != 0)
            fail(endpoint);
    }
    puts("there");
    fflush(stdout);
    return read(0, &c, 1) < 0;
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "record") == 0)
        return record(argv[2], argv + 3);
    if (argc == 6 && strcmp(argv[1], "play") == 0)
        return play(argv[2], argv[3], argv[4], (unsigned)atoi(argv[5]));
    if (argc == 6 && strcmp(argv[1], "keys") == 0)
        return knock(argv[2], argv[3], argv[4], (unsigned)atoi(argv[5]));
    fprintf(stderr, "replay record|play|keys ...\n");
    return 64;
}

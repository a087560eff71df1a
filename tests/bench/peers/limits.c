/* SPDX-License-Identifier: MIT
 *
 * The present limits of this machine: the speed of copies and float sums in a
 * cache and in memory, of one process and of two at once; of reading another
 * process's memory; of a stream over a socket; and the round trip of two
 * processes that spin on a cache line, sleep on a futex, or use a socket. Times
 * from another machine or day can be scaled by these limits; see ../pslite.awk.
 *
 *     limits SECONDS        (of each measurement; prints "name value unit")
 *
 * Every measurement is a function that repeats its work until its time is over.
 * Two-sided ones fork: the child is the far end, and is killed at the end.
 */
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CACHE_BYTES = 256 << 10,
    MEMORY_BYTES = 64 << 20,
    STREAM_BYTES = 256 << 10,
    SPIN_CHECK = 1024 /* round trips between looks at the clock */
};

static double seconds;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(70);
}

static void *map(size_t bytes, int sharing)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        sharing | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        die("mmap");
    memset(memory, 1, bytes);
    return memory;
}

static void print(const char *name, double value, const char *unit)
{
    printf("%s %.3f %s\n", name, value, unit);
    fflush(stdout);
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- memory ---- */

static void copy(float *to, const float *a, const float *b, size_t count)
{
    (void)b;
    memcpy(to, a, count * sizeof *to);
}

static void sum(float *restrict to, const float *restrict a,
                const float *restrict b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = a[i] + b[i];
}

typedef void pass(float *to, const float *a, const float *b, size_t count);

/* GB/s of results. */
static double pass_speed(pass *run, size_t bytes)
{
    float *to = map(bytes, MAP_PRIVATE), *a = map(bytes, MAP_PRIVATE);
    float *b = map(bytes, MAP_PRIVATE);
    double begin = now(), spent, passes = 0;
    do {
        run(to, a, b, bytes / sizeof *to);
        __asm__ volatile("" : : "r"(to) : "memory");
        passes++;
    } while ((spent = now() - begin) < seconds);
    munmap(to, bytes);
    munmap(a, bytes);
    munmap(b, bytes);
    return passes * (double)bytes / spent * 1e-9;
}

static void print_passes(const char *what, pass *run, size_t bytes)
{
    char name[64];
    double *theirs = map(sizeof *theirs, MAP_SHARED);
    snprintf(name, sizeof name, "%s_1", what);
    print(name, pass_speed(run, bytes), "GB/s");
    pid_t child = fork();
    if (child == 0) {
        *theirs = pass_speed(run, bytes);
        exit(0);
    }
    double ours = pass_speed(run, bytes);
    waitpid(child, NULL, 0);
    snprintf(name, sizeof name, "%s_2", what);
    print(name, (ours + *theirs) / 2, "GB/s");
    munmap(theirs, sizeof *theirs);
}

/* The child's memory has the address that it had in the parent. */
static void print_readv(void)
{
    char *far_end = map(MEMORY_BYTES, MAP_PRIVATE);
    char *own_end = map(MEMORY_BYTES, MAP_PRIVATE);
    pid_t child = fork();
    if (child == 0) {
        memset(far_end, 2, MEMORY_BYTES);
        for (;;)
            pause();
    }
    struct iovec to = {own_end, MEMORY_BYTES}, from = {far_end, MEMORY_BYTES};
    double begin = now(), spent = 0, bytes = 0;
    do {
        ssize_t got = process_vm_readv(child, &to, 1, &from, 1, 0);
        if (got <= 0)
            break;
        bytes += (double)got;
    } while ((spent = now() - begin) < seconds);
    end_child(child);
    if (bytes > 0)
        print("readv", bytes / spent * 1e-9, "GB/s");
    munmap(far_end, MEMORY_BYTES);
    munmap(own_end, MEMORY_BYTES);
}

/* ---- sockets ---- */

static void tcp_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, length) || listen(listener, 1) ||
        getsockname(listener, (void *)&address, &length))
        die("listen");
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(ends[0], (void *)&address, length))
        die("connect");
    ends[1] = accept(listener, NULL, NULL);
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(listener);
}

static void unix_pair(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        die("socketpair");
}

static void write_all(int socket, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t done = write(socket, data, bytes);
        if (done <= 0)
            die("write");
        data += done;
        bytes -= (size_t)done;
    }
}

/* Reads all data; sends a byte back for each read that ends in a 1. */
static _Noreturn void listen_to(int socket, char *buffer)
{
    for (;;) {
        ssize_t got = read(socket, buffer, STREAM_BYTES);
        if (got <= 0)
            exit(got < 0);
        if (buffer[got - 1] == 1)
            write_all(socket, buffer, 1);
    }
}

static void await_echo(int socket)
{
    char echo;
    if (read(socket, &echo, 1) != 1)
        die("read");
}

static double stream_speed(int socket, char *buffer)
{
    double begin = now(), bytes = 0;
    memset(buffer, 0, STREAM_BYTES);
    do {
        write_all(socket, buffer, STREAM_BYTES);
        bytes += STREAM_BYTES;
    } while (now() - begin < seconds);
    write_all(socket, "\1", 1);
    await_echo(socket);
    return bytes / (now() - begin) * 1e-9;
}

static double echo_us(int socket)
{
    double begin = now(), spent, trips = 0;
    do {
        write_all(socket, "\1", 1);
        await_echo(socket);
        trips++;
    } while ((spent = now() - begin) < seconds);
    return spent / trips * 1e6;
}

static void print_socket(const char *family, void (*make)(int ends[2]))
{
    char name[64], *buffer = map(STREAM_BYTES, MAP_PRIVATE);
    int ends[2];
    make(ends);
    pid_t child = fork();
    if (child == 0)
        listen_to(ends[1], buffer);
    snprintf(name, sizeof name, "%s_stream", family);
    print(name, stream_speed(ends[0], buffer), "GB/s");
    snprintf(name, sizeof name, "%s_trip", family);
    print(name, echo_us(ends[0]), "us");
    end_child(child);
    close(ends[0]);
    close(ends[1]);
    munmap(buffer, STREAM_BYTES);
}

/* ---- a cache line ---- */

struct ball {
    _Alignas(64) _Atomic unsigned there;
    _Alignas(64) _Atomic unsigned back;
};

static void pause_a_little(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}

static void spin_until(_Atomic unsigned *word, unsigned wanted)
{
    while (atomic_load_explicit(word, memory_order_acquire) != wanted)
        pause_a_little();
}

static void sleep_until(_Atomic unsigned *word, unsigned wanted)
{
    unsigned seen;
    while ((seen = atomic_load(word)) != wanted)
        syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void put(_Atomic unsigned *word, unsigned value, bool wake)
{
    atomic_store_explicit(word, value, memory_order_release);
    if (wake)
        syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void print_round_trips(const char *name, bool asleep)
{
    void (*await)(_Atomic unsigned *, unsigned) =
        asleep ? sleep_until : spin_until;
    struct ball *ball = map(sizeof *ball, MAP_SHARED);
    memset(ball, 0, sizeof *ball);
    pid_t child = fork();
    for (unsigned i = 1; child == 0; i++) {
        await(&ball->there, i);
        put(&ball->back, i, asleep);
    }
    double begin = now(), spent = 0;
    unsigned trips = 0;
    while (spent < seconds) {
        put(&ball->there, ++trips, asleep);
        await(&ball->back, trips);
        if (asleep || trips % SPIN_CHECK == 0)
            spent = now() - begin;
    }
    end_child(child);
    print(name, spent / trips * 1e6, "us");
    munmap(ball, sizeof *ball);
}

int main(int argc, char **argv)
{
    if (argc != 2 || (seconds = strtod(argv[1], NULL)) <= 0) {
        fprintf(stderr, "usage: limits SECONDS\n");
        return 64;
    }
    print_passes("copy_cache", copy, CACHE_BYTES);
    print_passes("copy_memory", copy, MEMORY_BYTES);
    print_passes("sum_cache", sum, CACHE_BYTES);
    print_passes("sum_memory", sum, MEMORY_BYTES);
    print_readv();
    print_socket("tcp", tcp_pair);
    print_socket("unix", unix_pair);
    print_round_trips("spin_trip", false);
    print_round_trips("futex_trip", true);
    return 0;
}

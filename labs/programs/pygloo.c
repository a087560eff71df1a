/* SPDX-License-Identifier: MIT
 *
 * The example of pygloo, Gloo's interface for Python, in C. The processes know
 * only a store and their count, and become ranks: the store hands out their
 * numbers and the address where rank 0 waits. Then they call the primitives.
 *
 *     cc -o pygloo pygloo.c -lgradwire
 *     collrun exec -n 2 ./pygloo STORE 2      or, in two terminals,
 *     ./pygloo STORE 2
 *
 * STORE is a folder, as in Gloo's FileStore, and a key is a file in it. A store
 * needs two operations: `add`, which is atomic, and `get`, which waits for a
 * `set`. Redis has them as well (INCR, SET, GET), and so has Kubernetes' etcd.
 */
#include <gradwire/gradwire.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { VALUE_BYTES = 128, WAIT_NS = 10000000, WAITS = 3000 };

/* ---- the store ---- */

struct store {
    const char *folder;
};

static void key_path(const struct store *store, const char *key, char path[400])
{
    snprintf(path, 400, "%.300s/%.80s", store->folder, key);
}

/* The first of key.0, key.1, ... that no process has made before: each caller
 * gets another one. */
static enum gw_err store_add(const struct store *store, const char *key,
                             unsigned limit, unsigned *number,
                             struct gw_error *why)
{
    char name[80], path[400];
    for (*number = 0; *number < limit; ++*number) {
        snprintf(name, sizeof name, "%.60s.%u", key, *number);
        key_path(store, name, path);
        int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (fd >= 0) {
            close(fd);
            return GW_OK;
        }
        if (errno != EEXIST)
            return gw_fail_errno(why, "%s", path);
    }
    return gw_fail(why, GW_EINVAL,
                   "%s: %u processes have a rank already; another job's? "
                   "Remove the folder",
                   store->folder, limit);
}

/* Writes a new file and renames it, so that readers find a whole value. */
static enum gw_err store_set(const struct store *store, const char *key,
                             const char *value, struct gw_error *why)
{
    char path[400], new_path[410];
    key_path(store, key, path);
    snprintf(new_path, sizeof new_path, "%s.new", path);
    FILE *file = fopen(new_path, "we");
    if (!file)
        return gw_fail_errno(why, "%s", new_path);
    bool written = fputs(value, file) >= 0;
    if (fclose(file) != 0 || !written || rename(new_path, path) != 0)
        return gw_fail_errno(why, "%s", path);
    return GW_OK;
}

/* Waits until another process has set it. */
static enum gw_err store_get(const struct store *store, const char *key,
                             char value[VALUE_BYTES], struct gw_error *why)
{
    const struct timespec moment = {.tv_nsec = WAIT_NS};
    char path[400];
    key_path(store, key, path);
    for (int i = 0; i < WAITS; i++) {
        FILE *file = fopen(path, "re");
        if (file) {
            const char *line = fgets(value, VALUE_BYTES, file);
            fclose(file);
            return line ? GW_OK : gw_fail(why, GW_EDATA, "%s is empty", path);
        }
        nanosleep(&moment, NULL);
    }
    return gw_fail(why, GW_ETIMEOUT, "%s: no rank 0 has set it", path);
}

/* All have connected; the next job may use the folder. */
static void store_clear(const struct store *store, unsigned size)
{
    char name[40], path[400];
    for (unsigned rank = 0; rank < size; rank++) {
        snprintf(name, sizeof name, "rank.%u", rank);
        key_path(store, name, path);
        unlink(path);
    }
    key_path(store, "address", path);
    unlink(path);
}

/* ---- pygloo.rendezvous.Context, connectFullMesh ---- */

static enum gw_err connect_by(const struct store *store, unsigned size,
                              struct gw_comm **comm, struct gw_error *why)
{
    struct gw_comm_config config = {.size = size, .wire = "tcp"};
    char address[VALUE_BYTES];
    if (mkdir(store->folder, 0700) != 0 && errno != EEXIST)
        return gw_fail_errno(why, "%s", store->folder);
    enum gw_err err = store_add(store, "rank", size, &config.rank, why);
    if (!err && config.rank == 0) {
        snprintf(address, sizeof address, "ipc://@pygloo-%d", (int)getpid());
        err = store_set(store, "address", address, why);
    }
    if (!err)
        err = store_get(store, "address", address, why);
    config.rendezvous = address;
    if (!err)
        err = gw_comm_create(&config, comm, why);
    if (!err && config.rank == 0)
        store_clear(store, size);
    return err;
}

/* ---- the primitives ---- */

static void show(const struct gw_comm *comm, const char *what,
                 const float *values, size_t count)
{
    char line[400];
    int used = snprintf(line, sizeof line, "rank %u of %u: %s",
                        gw_comm_rank(comm), gw_comm_size(comm), what);
    for (size_t i = 0; i < count && used < 360; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %g",
                         (double)values[i]);
    puts(line);
    fflush(stdout);
}

/* pygloo.allreduce(context, sendptr, recvptr, data_size, glooFloat32, SUM,
 * RING), and its relatives, on the source's array. */
static enum gw_err call(struct gw_comm *comm)
{
    const float own[6] = {1, 2, 3, 1, 2, 3};
    float got[64 * 6] = {0}, part[6] = {0};
    unsigned rank = gw_comm_rank(comm), size = gw_comm_size(comm);
    const struct gw_call allreduce = {.collective = GW_ALLREDUCE,
                                      .in = own,
                                      .out = got,
                                      .count = 6,
                                      .type = GW_F32,
                                      .op = GW_SUM,
                                      .algo = size > 1 ? "ring" : NULL};
    enum gw_err err = gw_run(comm, &allreduce);
    if (err)
        return err;
    show(comm, "allreduce", got, 6);
    part[0] = (float)rank;
    err = gw_allgather(comm, part, got, 1, GW_F32);
    if (err)
        return err;
    show(comm, "allgather", got, size);
    err = gw_reduce_scatter(comm, got, part, 1, GW_F32, GW_SUM);
    if (err)
        return err;
    show(comm, "reduce_scatter", part, 1);
    err = gw_broadcast(comm, own, part, 3, GW_F32, 0);
    if (err)
        return err;
    show(comm, "broadcast", part, 3);
    return gw_barrier(comm);
}

int main(int argc, char **argv)
{
    struct gw_comm *comm = NULL;
    struct gw_error why = {.code = GW_OK};
    unsigned long size = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (size < 1 || size > 64) {
        fprintf(stderr, "usage: pygloo STORE SIZE    (a folder; 1 to 64)\n");
        return 64;
    }
    const struct store store = {argv[1]};
    enum gw_err err = connect_by(&store, (unsigned)size, &comm, &why);
    if (!err) {
        err = call(comm);
        if (err)
            why = *gw_comm_error(comm);
    }
    if (err)
        fprintf(stderr, "pygloo: %s\n", why.text);
    gw_comm_destroy(&comm);
    return gw_err_exit(err);
}

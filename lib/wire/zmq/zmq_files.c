/* SPDX-License-Identifier: MIT
 *
 * File descriptors. libzmq needs two or three per socket, the last of them when
 * a peer connects, and ends the whole program if it cannot have one. So each
 * wire and each control channel reserves its descriptors at the start. If the
 * soft limit is too low, it is raised as far as the hard limit allows.
 */
#include "zmq_files.h"
#include "zmq_wire.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned reserved; /* by all wires and control channels */
static unsigned others;   /* open when none was reserved */

static unsigned open_files(void)
{
    unsigned count = 0;
    DIR *self = opendir("/proc/self/fd");
    while (self && readdir(self))
        count++;
    if (self)
        closedir(self);
    return count;
}

/* Room for `count` descriptors. False: raising the limit to *limit is not
 * enough. */
static bool raise_file_limit(unsigned count, rlim_t *limit)
{
    enum { FOR_OTHERS = 256 };
    struct rlimit files;
    *limit = 0;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || count <= files.rlim_cur)
        return true;
    *limit = files.rlim_max;
    files.rlim_cur = count + FOR_OTHERS < files.rlim_max ? count + FOR_OTHERS
                                                         : files.rlim_max;
    return count <= files.rlim_cur && setrlimit(RLIMIT_NOFILE, &files) == 0;
}

enum gw_err gw__files_reserve(unsigned count, struct gw_error *why)
{
    unsigned in_use;
    rlim_t limit;
    pthread_mutex_lock(&lock);
    if (reserved == 0)
        others = open_files();
    in_use = reserved + others;
    bool room = raise_file_limit(in_use + count, &limit);
    reserved += room ? count : 0;
    pthread_mutex_unlock(&lock);
    if (room)
        return GW_OK;
    return gw_fail(why, GW_ESYS,
                   "%u more open files are needed, %u are in use and the limit "
                   "is %llu; raise it with ulimit -n",
                   count, in_use, (unsigned long long)limit);
}

void gw__files_release(unsigned count)
{
    pthread_mutex_lock(&lock);
    reserved -= count;
    pthread_mutex_unlock(&lock);
}

/* ---- of a wire ---- */

static unsigned needed_files(const struct gw__zmq *zmq)
{
    enum {
        A_WIRE = 13,  /* libzmq's threads, bell, watch, epoll set */
        A_PEER = 3,   /* its pidfd, and the two ends of the monitor */
        A_SOCKET = 2, /* its mailbox and its connection */
        A_LISTENER = 1,
        A_STREAM = 1,
        THE_DOOR = 1 + sizeof zmq->door.guests / sizeof *zmq->door.guests,
    };
    unsigned peers = zmq->wire.size - 1;
    unsigned higher = peers - zmq->wire.rank, sockets = zmq->lanes + 1;
    bool bulk = zmq->address.secured && zmq->address.transport == GW__ZMQ_TCP;
    return A_WIRE + peers * (A_PEER + sockets * A_SOCKET) +
           higher * sockets * A_LISTENER +
           (bulk ? peers * A_STREAM + THE_DOOR : 0);
}

enum gw_err gw__zmq_reserve_files(struct gw__zmq *zmq, struct gw_error *why)
{
    unsigned need = needed_files(zmq);
    enum gw_err err = gw__files_reserve(need, why);
    if (err)
        return gw_wrap(why, err, "%u ranks", zmq->wire.size);
    zmq->files = need;
    return GW_OK;
}

void gw__zmq_release_files(struct gw__zmq *zmq)
{
    gw__files_release(zmq->files);
    zmq->files = 0;
}

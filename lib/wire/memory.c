/* SPDX-License-Identifier: MIT
 *
 * Shared memory without names. A region is a memfd (or, when $GW_SHM_DIR names
 * a tmpfs such as /dev/shm, an unnamed O_TMPFILE there). Peers of the same user
 * open it as /proc/PID/fd/FD. The kernel frees it with its last user, so a
 * SIGKILL at any moment leaves nothing in the file system.
 *
 * Pages are reserved at once by fallocate: a full /dev/shm or a memory limit is
 * an error here, not a SIGBUS in the middle of an all-reduce.
 */
#include "memory.h"

#include <base/memory_limit.h>
#include <gradwire/wire.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

/* The regions of gw_alloc, unordered. `lock` guards all of it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gw__region *regions;
static size_t region_count, region_capacity;
static _Atomic uint64_t generation = 1;
static _Atomic uint32_t last_id;

static int open_unnamed(const char **place)
{
    const char *dir = getenv("GW_SHM_DIR");
    *place = dir ? dir : "memory";
    if (dir)
        return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int fd = memfd_create("gradwire", MFD_CLOEXEC);
    if (fd >= 0)
        (void)fchmod(fd, 0600); /* created with mode 0777 */
    return fd;
}

/* fallocate, restarted after signals; errno holds the error. */
static int reserve_file(int fd, size_t bytes)
{
    int err;
    do
        err = posix_fallocate(fd, 0, (off_t)bytes);
    while (err == EINTR);
    errno = err;
    return err ? -1 : 0;
}

enum gw_err gw__region_new(size_t bytes, struct gw__region *region,
                           struct gw_error *why)
{
    const char *place;
    enum gw_err err;
    bytes = (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    int fd = open_unnamed(&place);
    if (fd < 0)
        return gw_fail_errno(why, "shared memory in %s", place);
    bool is_above_limit = bytes > gw__memory_limit();
    errno = ENOMEM;
    if (is_above_limit || reserve_file(fd, bytes) != 0)
        goto fail;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, fd, 0);
    if (base == MAP_FAILED)
        goto fail;
    *region = (struct gw__region){.fd = fd,
                                  .id = atomic_fetch_add(&last_id, 1) + 1,
                                  .pid = (int)getpid(),
                                  .base = base,
                                  .bytes = bytes};
    return GW_OK;
fail:
    err = gw_fail_errno(why, "%zu bytes of shared memory in %s", bytes, place);
    close(fd);
    return err;
}

void gw__region_free(struct gw__region *region)
{
    if (!region->base)
        return;
    munmap(region->base, region->bytes);
    close(region->fd);
    memset(region, 0, sizeof *region);
}

static bool remember(const struct gw__region *region)
{
    if (region_count == region_capacity) {
        size_t larger = region_capacity ? 2 * region_capacity : 16;
        void *moved = realloc(regions, larger * sizeof *regions);
        if (!moved)
            return false;
        regions = moved;
        region_capacity = larger;
    }
    regions[region_count++] = *region;
    return true;
}

void *gw_alloc(size_t bytes, struct gw_error *why)
{
    struct gw__region region = {0};
    if (gw__region_new(bytes ? bytes : 1, &region, why) != GW_OK)
        return NULL;
    pthread_mutex_lock(&lock);
    bool kept = remember(&region);
    pthread_mutex_unlock(&lock);
    if (!kept) {
        gw_fail(why, GW_ENOMEM, "shared memory: table of regions");
        gw__region_free(&region);
        return NULL;
    }
    return region.base;
}

/* Peers may keep the region mapped for long, so its pages are freed here, but
 * not by a child that has inherited it. */
static void free_pages(const struct gw__region *region)
{
    if (region->base && region->pid == (int)getpid())
        (void)fallocate(region->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        0, (off_t)region->bytes);
}

void gw_free(void *memory)
{
    struct gw__region found = {0};
    if (!memory)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < region_count; i++)
        if (regions[i].base == memory) {
            found = regions[i];
            regions[i] = regions[--region_count];
            atomic_fetch_add(&generation, 1);
            break;
        }
    pthread_mutex_unlock(&lock);
    free_pages(&found);
    gw__region_free(&found);
}

bool gw__region_find(const void *memory, size_t bytes,
                     struct gw__region *region)
{
    uintptr_t at = (uintptr_t)memory;
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < region_count && !found; i++) {
        uintptr_t base = (uintptr_t)regions[i].base;
        if (at >= base && at - base <= regions[i].bytes &&
            bytes <= regions[i].bytes - (at - base)) {
            *region = regions[i];
            found = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

uint64_t gw__region_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_acquire);
}

/* A file shorter than the expected size is a different file. */
static enum gw_err map_whole(int fd, size_t bytes, bool at_once, void **base,
                             struct gw_error *why)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return gw_fail_errno(why, "fstat");
    if (file.st_uid != geteuid())
        return gw_fail(why, GW_EUNREACH, "it belongs to another user (%u)",
                       (unsigned)file.st_uid);
    if (!S_ISREG(file.st_mode) || (uint64_t)file.st_size < bytes)
        return gw_fail(why, GW_EUNREACH, "it no longer exists");
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | (at_once ? MAP_POPULATE : 0), fd, 0);
    if (mapped == MAP_FAILED)
        return gw_fail_errno(why, "mmap");
    *base = mapped;
    return GW_OK;
}

enum gw_err gw__region_map(int pid, int fd, size_t bytes, bool at_once,
                           void **base, struct gw_error *why)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    *base = NULL;
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0)
        return gw_fail_errno(why, "memory of process %d (%s)", pid, path);
    enum gw_err err = map_whole(own, bytes, at_once, base, why);
    close(own);
    return err ? gw_wrap(why, err, "memory of process %d (%s)", pid, path)
               : GW_OK;
}

void gw__region_unmap(void *base, size_t bytes)
{
    if (base)
        munmap(base, bytes);
}

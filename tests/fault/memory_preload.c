/* SPDX-License-Identifier: MIT
 *
 * Preloaded into a tool, fails one of its allocations: the n-th call by
 * gradwire's own code in one of the command's processes. Allocations by other
 * libraries succeed: libzmq ends the process without memory, which is outside
 * our control.
 *
 * memory.c shares a page with all processes of a command (MEMORY_STATE names
 * the file). Each process takes a number there, in the order of their starts,
 * and counts its calls; the selected process fails the selected call.
 */
#include "memory_state.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define CALLER ((uintptr_t)__builtin_return_address(0))

static struct memory_state *state;
static unsigned process = MEMORY_PROCESSES;
static uintptr_t base, code_begin, code_end;

/* Our code is in the executable, which includes the library. */
static int find_code(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        code_begin = info->dlpi_addr + part->p_vaddr;
        code_end = code_begin + part->p_memsz;
    }
    return 1; /* the first object is the executable */
}

static void read_number(void)
{
    process = atomic_fetch_add(&state->processes, 1);
}

static bool is_tool(void)
{
    static const char *const tools[] = {"collrun", "pipebench", "psnode",
                                        "ringctl", "ringtop"};
    char path[512];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    path[bytes > 0 ? bytes : 0] = 0;
    const char *name = strrchr(path, '/');
    for (size_t i = 0; name && i < sizeof tools / sizeof *tools; i++)
        if (strcmp(name + 1, tools[i]) == 0)
            return true;
    return false;
}

static __attribute__((constructor)) void begin(void)
{
    const char *path = getenv("MEMORY_STATE");
    int fd = path && is_tool() ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *page = (void *)syscall(SYS_mmap, NULL, sizeof *state,
                                 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return;
    dl_iterate_phdr(find_code, NULL);
    state = page;
    read_number();
    pthread_atfork(NULL, NULL, read_number);
}

/* Whether this call is the selected one; sets errno then. */
static bool fails(uintptr_t caller)
{
    if (!state || caller < code_begin || caller >= code_end ||
        process >= MEMORY_PROCESSES)
        return false;
    uint64_t call = atomic_fetch_add(&state->calls[process], 1) + 1;
    bool meant = process == state->process && call == state->call;
    if (meant) {
        atomic_store(&state->caller, caller - base);
        errno = ENOMEM;
    }
    return meant;
}

void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (fails(CALLER))
        return ENOMEM;
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

char *strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = fails(CALLER) ? NULL : __libc_malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

char *strndup(const char *text, size_t most)
{
    size_t bytes = strnlen(text, most);
    char *copy = fails(CALLER) ? NULL : __libc_malloc(bytes + 1);
    if (!copy)
        return NULL;
    copy[bytes] = 0;
    return memcpy(copy, text, bytes);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd,
           off_t offset)
{
    if (fails(CALLER))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

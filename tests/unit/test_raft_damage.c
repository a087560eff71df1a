/* SPDX-License-Identifier: MIT
 *
 * Damage to a controller's directory, drawn from a seed: flipped bits, and
 * files that are truncated, zeroed in part, too long, missing, duplicated, or
 * exchanged. Each damage is refused with the name of its file, or else libraft
 * finds every acknowledged entry in the directory.
 *
 *     DAMAGES=2000 SEED=7 CK_RUN_SUITE=raft_damage build/unit
 *
 * sets their number, a third for each of the directories; the failing one is
 * printed. The directories are those of killed processes: a young log, one that
 * was restarted, and one with two snapshots.
 */
#include "logs.h"

#include <cluster/raft/raft_dir.h>
#include <cluster/raft/raft_log_parts.h>
#include <cluster/raft/raft_segment.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

Suite *suite_raft_damage(void);

enum { DAMAGES = 210, TEMPLATES = 3, FILES_MAX = 24, ENTRIES_MAX = 4096 };

static struct logs logs;
static char folder[64]; /* the damaged directory */
static struct gw_rng rng;
static char story[800]; /* description of the damage */
static bool thorough;

/* ---- files ---- */

struct content {
    char name[256];
    uint8_t *bytes;
    size_t size;
};

/* A directory in memory. */
struct template
{
    struct content files[FILES_MAX];
    unsigned count;
    uint64_t last; /* entry */
    uint32_t crcs[ENTRIES_MAX];
};

static void read_template(struct template *t, const char *path)
{
    DIR *all = opendir(path);
    struct dirent *one;
    struct stat status;
    ck_assert_ptr_nonnull(all);
    while ((one = readdir(all))) {
        int fd = openat(dirfd(all), one->d_name, O_RDONLY);
        ck_assert_int_eq(fstat(fd, &status), 0);
        if (S_ISREG(status.st_mode)) {
            ck_assert_uint_lt(t->count, FILES_MAX);
            struct content *file = &t->files[t->count++];
            snprintf(file->name, sizeof file->name, "%s", one->d_name);
            file->size = (size_t)status.st_size;
            file->bytes = malloc(file->size + 1);
            ck_assert_int_eq(read(fd, file->bytes, file->size),
                             (ssize_t)file->size);
        }
        close(fd);
    }
    closedir(all);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

static void write_template(const struct template *t)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    for (unsigned i = 0; i < t->count; i++)
        write_file(t->files[i].name, t->files[i].bytes, t->files[i].size);
}

/* ---- the directory of a killed process ---- */

/* The numbers of entries in each life. */
static const unsigned lives[TEMPLATES][3] = {{24}, {30, 9, 17}, {700, 600, 5}};

static void live(unsigned entries, uint64_t before)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        logs_open(&logs, 0);
        logs_leader(&logs);
        for (unsigned n = 1; n <= entries; n++) {
            logs_propose(&logs, 0, before + n);
            if (n % 64 == 7 || n == entries)
                logs_await(&logs, 0, before + n);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static const struct raft_entry *entry_of(const struct raft *raft,
                                         raft_index index)
{
    const struct raft_log *log = &raft->log;
    return &log->entries[(log->front + (index - log->offset - 1)) % log->size];
}

static void open_damaged(struct gw__raft_log **log, enum gw_err expected);

static void make_template(struct template *t, const unsigned life[3])
{
    char path[128];
    uint64_t before = 0;
    struct gw__raft_log *log;
    logs_begin(&logs, 1);
    logs_path(&logs, 0, path);
    for (unsigned i = 0; i < 3 && life[i]; i++) {
        live(life[i], before);
        before += life[i];
    }
    read_template(t, path);
    write_template(t);
    open_damaged(&log, GW_OK);
    t->last = raft_last_index(&log->raft);
    ck_assert_uint_gt(t->last, before);
    for (raft_index i = log->raft.log.offset + 1; i <= t->last; i++) {
        const struct raft_entry *entry = entry_of(&log->raft, i);
        t->crcs[i] = gw__raft_crc((uint32_t)entry->term, entry->buf.base,
                                  entry->buf.len);
    }
    gw__raft_log_close(&log);
}

static void drop_template(struct template *t)
{
    for (unsigned i = 0; i < t->count; i++)
        free(t->files[i].bytes);
    logs_end(&logs);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- damage ---- */

static uint64_t below(uint64_t end)
{
    return gw_rng_below(&rng, end ? end : 1);
}

/* Mostly within the used part. */
static size_t draw_position(const struct content *file)
{
    size_t used = file->size;
    while (used > 0 && file->bytes[used - 1] == 0)
        used--;
    return below(8) && used ? below(used + 8 < file->size ? used + 8 : used)
                            : below(file->size);
}

static void flip(struct content *file)
{
    size_t at = draw_position(file);
    unsigned bit = (unsigned)below(8);
    if (at < file->size)
        file->bytes[at] ^= (uint8_t)(1 << bit);
    snprintf(story, sizeof story, "%s: bit %u of byte %zu", file->name, bit,
             at);
}

static void truncate_content(struct content *file)
{
    size_t at = draw_position(file);
    snprintf(story, sizeof story, "%s: %zu bytes of %zu", file->name, at,
             file->size);
    file->size = at;
}

static void zero(struct content *file)
{
    static const size_t sizes[] = {8, 512, 4096};
    size_t size = sizes[below(3)], at = draw_position(file) / size * size;
    if (size > file->size - at)
        size = file->size - at;
    memset(file->bytes + at, 0, size);
    snprintf(story, sizeof story, "%s: %zu zeros at %zu", file->name, size, at);
}

static void lengthen(struct content *file)
{
    size_t more = 1 + below(600);
    bool zeros = below(2);
    file->bytes = realloc(file->bytes, file->size + more);
    for (size_t i = 0; i < more; i++)
        file->bytes[file->size + i] = zeros ? 0 : (uint8_t)below(256);
    file->size += more;
    snprintf(story, sizeof story, "%s: %zu bytes more", file->name, more);
}

static void swap(struct content *file, struct content *other)
{
    struct content was = *file;
    file->bytes = other->bytes;
    file->size = other->size;
    other->bytes = was.bytes;
    other->size = was.size;
    snprintf(story, sizeof story, "%s and %s: swapped", file->name,
             other->name);
}

/* Over another file, or under a name that sorts last. */
static void copy(struct template *t, struct content *file,
                 struct content *other)
{
    if (below(2)) {
        other = &t->files[t->count++];
        *other = (struct content){0};
        snprintf(other->name, sizeof other->name,
                 below(2) ? "open-%u" : "%016u-%016u",
                 (unsigned)(below(2) ? 99 : t->last + 1),
                 (unsigned)(t->last + 1 + below(9)));
    }
    uint8_t *bytes = malloc(file->size + 1);
    memcpy(bytes, file->bytes, file->size);
    free(other->bytes);
    other->bytes = bytes;
    other->size = file->size;
    snprintf(story, sizeof story, "%s: as %s, too", file->name, other->name);
}

static void lose(struct template *t, struct content *file)
{
    snprintf(story, sizeof story, "%s: gone", file->name);
    free(file->bytes);
    *file = t->files[--t->count];
}

static void damage(struct template *t)
{
    struct content *file = &t->files[below(t->count)];
    struct content *other = &t->files[below(t->count)];
    switch (below(10)) {
    case 0:
        truncate_content(file);
        break;
    case 1:
        zero(file);
        break;
    case 2:
        lengthen(file);
        break;
    case 3:
        swap(file, other);
        break;
    case 4:
        if (file != other)
            copy(t, file, other);
        break;
    case 5:
        lose(t, file);
        break;
    default:
        flip(file);
    }
}

/* ---- the result ---- */

static void on_entry(void *context, uint64_t index, const void *command,
                     size_t bytes)
{
    (void)context, (void)index, (void)command, (void)bytes;
}

static void on_snapshot(void *context, const void *data, size_t bytes)
{
    (void)context, (void)data, (void)bytes;
}

static void on_leader(void *context, unsigned leader)
{
    (void)context, (void)leader;
}

static enum gw_err open_folder(struct gw__raft_log **log, bool accept,
                               struct gw_error *why)
{
    const char *addresses[] = {logs.addresses[0]};
    const struct gw__raft_log_config config = {.count = 1,
                                               .addresses = addresses,
                                               .directory = folder,
                                               .accept_loss = accept,
                                               .election_ms = 150,
                                               .heartbeat_ms = 30,
                                               .on_entry = on_entry,
                                               .on_snapshot = on_snapshot,
                                               .on_leader = on_leader};
    return gw__raft_log_open(&config, log, why);
}

static void open_damaged(struct gw__raft_log **log, enum gw_err expected)
{
    struct gw_error why = {0};
    enum gw_err err = open_folder(log, false, &why);
    ck_assert_msg(err == expected || err == GW_EDATA, "%s: %s", story,
                  why.text);
    if (err)
        ck_assert_msg(strstr(why.text, folder) && strstr(why.text, "lead"),
                      "%s: %s", story, why.text);
}

static void check_entries(const struct template *t, struct gw__raft_log *log)
{
    const struct raft *raft = &log->raft;
    raft_index first = raft->log.offset + 1, last = raft_last_index(&log->raft);
    raft_index covered = raft->log.snapshot.last_index;
    ck_assert_msg(last == t->last, "%s: entry %llu is the last of %llu", story,
                  last, (unsigned long long)t->last);
    ck_assert_msg(first <= covered + 1, "%s: entries after %llu", story,
                  covered);
    for (raft_index i = first; i <= last; i++) {
        const struct raft_entry *entry = entry_of(raft, i);
        ck_assert_msg(gw__raft_crc((uint32_t)entry->term, entry->buf.base,
                                   entry->buf.len) == t->crcs[i] ||
                          t->crcs[i] == 0,
                      "%s: entry %llu is another one", story, i);
    }
}

/* With the loss accepted, the log starts; a second time, too. */
static void accept_loss(void)
{
    struct gw__raft_log *log;
    struct gw_error why = {0};
    for (int i = 0; i < 2; i++) {
        enum gw_err err = open_folder(&log, i == 0, &why);
        ck_assert_msg(err == GW_OK, "%s: accepted: %s", story, why.text);
        gw__raft_log_close(&log);
    }
}

static void copy_template(struct template *to, const struct template *from)
{
    *to = *from;
    for (unsigned i = 0; i < from->count; i++) {
        to->files[i].bytes = malloc(from->files[i].size + 1);
        memcpy(to->files[i].bytes, from->files[i].bytes, from->files[i].size);
    }
}

static unsigned number_from(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* A directory that passes the check has all acknowledged entries. Every fourth
 * is also opened with libraft, which is slow since it waits for the kernel. */
static bool is_refused(const struct template *intact, unsigned i)
{
    struct gw__raft_log *log;
    struct gw__raft_ack *ack;
    struct gw_error why;
    if (thorough || i % 4 == 0) {
        open_damaged(&log, GW_OK);
        if (log)
            check_entries(intact, log);
        bool opened = log;
        gw__raft_log_close(&log);
        return !opened;
    }
    if (gw__raft_dir_check(folder, false, &ack, &why))
        return true;
    ck_assert_msg(gw__raft_ack_newest(ack) == intact->last, "%s", story);
    gw__raft_ack_close(&ack);
    return false;
}

static bool one_round(const struct template *intact, unsigned seed, unsigned i)
{
    static struct template damaged;
    gw_rng_seed(&rng, gw_hash(&i, sizeof i, seed));
    copy_template(&damaged, intact);
    damage(&damaged);
    size_t used = strlen(story);
    snprintf(story + used, sizeof story - used, " (number %u)", i);
    write_template(&damaged);
    bool refused = is_refused(intact, i);
    if (refused && i % (thorough ? 4 : 12) == 0)
        accept_loss();
    for (unsigned f = 0; f < damaged.count; f++)
        free(damaged.files[f].bytes);
    return refused;
}

START_TEST(damage_is_refused_or_does_no_harm)
{
    static struct template intact;
    unsigned refused = 0;
    unsigned rounds = number_from("DAMAGES", DAMAGES) / TEMPLATES;
    unsigned seed = number_from("SEED", (unsigned)getpid());
    thorough = getenv("DAMAGES");
    printf("raft_damage: SEED=%u DAMAGES=%u\n", seed, rounds * TEMPLATES);
    snprintf(folder, sizeof folder, "/dev/shm/gw-damage-%d", (int)getpid());
    make_template(&intact, lives[_i]);
    for (unsigned i = 0; i < rounds; i++)
        refused += one_round(&intact, seed + (unsigned)_i, i);
    ck_assert_uint_gt(refused, rounds / 4);
    drop_template(&intact);
}
END_TEST

Suite *suite_raft_damage(void)
{
    Suite *suite = suite_create("raft_damage");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, damage_is_refused_or_does_no_harm, 0, TEMPLATES);
    suite_add_tcase(suite, t);
    return suite;
}

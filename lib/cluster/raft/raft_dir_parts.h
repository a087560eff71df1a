/* SPDX-License-Identifier: MIT
 *
 * Internal interfaces of the check of a controller's directory; see raft_dir.h.
 */
#ifndef GW__CLUSTER_RAFT_DIR_PARTS_H
#define GW__CLUSTER_RAFT_DIR_PARTS_H

#include "raft_dir.h"
#include "raft_segment.h"

enum {
    GW__RAFT_DIR_NAME_MAX = 96,
    GW__RAFT_DIR_FORMAT = 1,
    GW__RAFT_DIR_METADATA_BYTES = 32
};

/* A segment. Full segments come first, then open ones. */
struct gw__raft_dir_file {
    char name[GW__RAFT_DIR_NAME_MAX];
    bool open;
    uint64_t first, last; /* its entries; an open one: twice the number in its
                             name */
    uint64_t hash;        /* of its batches; 0: none */
    size_t torn_at;       /* cut off here, unless 0 */
    uint64_t torn;        /* the entry there */
    bool remove;          /* nothing in it is valid */
};

struct gw__raft_dir_snapshot {
    char name[GW__RAFT_DIR_NAME_MAX]; /* of its data; with ".meta", of its
                                         metadata */
    uint64_t term, index, time;       /* index 0: no snapshot */
};

enum gw__raft_dir_place {
    GW__RAFT_DAMAGED_SEGMENT,  /* `file`, from byte `at` on */
    GW__RAFT_DAMAGED_END,      /* entries from `batch_first` on are missing */
    GW__RAFT_DAMAGED_SNAPSHOT, /* the newest */
    GW__RAFT_DAMAGED_VOTE,
    GW__RAFT_DAMAGED_ALL /* there is a vote, but no log */
};

struct gw__raft_dir_damage {
    enum gw__raft_dir_place place;
    unsigned file;
    size_t at;
    uint64_t file_first, batch_first; /* first entries of the file, and of the
                                         batch at `at` */
};

struct gw__raft_dir {
    const char *path;
    int folder;
    struct gw__raft_ack *ack;
    struct gw__raft_dir_file *files;
    unsigned count;
    struct gw__raft_dir_snapshot snapshot;
    uint64_t next;                    /* the next entry */
    uint64_t file_first, batch_first; /* first entries of the current file and
                                         batch */
    uint64_t term;                    /* of the entry before */
    uint64_t in_term;                 /* of the newest vote */
    struct gw__raft_dir_damage damage;
};

/* ---- raft_dir_files.c ---- */

/* Lists the segments in order, and the newest snapshot. */
GW_MUST_CHECK enum gw_err gw__raft_dir_list(struct gw__raft_dir *dir,
                                            struct gw_error *why);
/* All bytes of a file; *bytes NULL: the file does not exist. */
GW_MUST_CHECK enum gw_err gw__raft_dir_read(const struct gw__raft_dir *dir,
                                            const char *name, uint8_t **bytes,
                                            size_t *size, struct gw_error *why);
/* Writes zeros from there to its end, on disk. */
GW_MUST_CHECK enum gw_err gw__raft_dir_zero(const struct gw__raft_dir *dir,
                                            const char *name, size_t at,
                                            struct gw_error *why);

/* ---- raft_dir_about.c ---- */

/* Checks the vote; must follow the check of the entries. GW_EDATA with
 * `damage`. */
GW_MUST_CHECK enum gw_err gw__raft_dir_check_vote(struct gw__raft_dir *dir,
                                                  struct gw_error *why);
GW_MUST_CHECK enum gw_err gw__raft_dir_check_snapshot(struct gw__raft_dir *dir,
                                                      struct gw_error *why);
/* Writes an empty vote, in a term after all known ones. */
GW_MUST_CHECK enum gw_err gw__raft_dir_renew_vote(struct gw__raft_dir *dir,
                                                  struct gw_error *why);

/* ---- raft_dir_lose.c ---- */

/* Moves away the damaged part and everything after it. The vote's files stay
 * unless nothing else is left. */
GW_MUST_CHECK enum gw_err gw__raft_dir_lose(struct gw__raft_dir *dir,
                                            struct gw_error *why);

#endif

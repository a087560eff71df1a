/* SPDX-License-Identifier: MIT
 *
 * A network trained on a mesh of ranks, which are threads of the test. Every
 * rank sees to it that all have the same losses, and that what it counted and
 * holds is what gw_layout_price says.
 */
#ifndef PARALLEL_RUN_H
#define PARALLEL_RUN_H

#include <gradwire/gradwire.h>

enum { RUN_STEPS_MAX = 100 };

struct parallel_run {
    const char *network;  /* its text */
    const char *mesh;     /* NULL: 1x1x1 */
    const char *schedule; /* NULL: gpipe */
    const char *wire;     /* NULL: shm */
    const char *algo;
    unsigned micros, chunks, batch, steps;
    enum gw_data_mode mode;
    unsigned group;
    enum gw_optimiser optimiser;
    double rate;
    size_t bucket_bytes;
    bool overlap;
    struct gw_sink *events; /* with one rank */
    bool uncounted;         /* an algorithm that sends more than the formula */
    unsigned save_at; /* if not 0: after so many steps the state is saved and
                         the rest done by a new trainer that restores it */
    /* found */
    double losses[RUN_STEPS_MAX];
    double last_loss; /* over all rows, after the last step */
    uint64_t last_right;
};

/* 240 rows of 16 features, 4 classes: what a random tanh network says of
 * them. */
struct gw_dataset *parallel_data(void);
void parallel_train(struct parallel_run *run, const struct gw_dataset *data);
/* Trains it, and the same network on one rank; the losses agree to 1e-5. */
void parallel_agrees(struct parallel_run *run, const struct gw_dataset *data);

#endif

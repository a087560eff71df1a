/* SPDX-License-Identifier: MIT
 *
 * A network trained on a mesh of ranks, which are threads of the test. Every
 * rank checks that all ranks have the same losses, and that its counted bytes
 * and memory match gw_layout_price.
 */
#ifndef PARALLEL_RUN_H
#define PARALLEL_RUN_H

#include <gradwire/gradwire.h>

enum { RUN_STEPS_MAX = 100 };

struct parallel_run {
    const char *network;  /* in text form */
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
    struct gw_sink *events; /* of the run with one rank */
    bool uncounted;         /* an algorithm sends more than the formula */
    unsigned save_at; /* not 0: after so many steps the state is saved, and a
                       * new trainer restores it and continues */
    /* results */
    double losses[RUN_STEPS_MAX];
    double last_loss; /* over all rows, after the last step */
    uint64_t last_right;
};

/* 240 rows of 16 features, labelled by a random tanh network with 4 classes. */
struct gw_dataset *parallel_data(void);
void parallel_train(struct parallel_run *run, const struct gw_dataset *data);
/* Trains it, and the same network on one rank; the losses must agree to
 * 1e-5. */
void parallel_agrees(struct parallel_run *run, const struct gw_dataset *data);

#endif

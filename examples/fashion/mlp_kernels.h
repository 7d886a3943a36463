/*  examples/fashion/mlp_kernels.h - the two loops in which the network spends its time.
 *
 *  mlp_kernels.c is compiled once for each instruction set, and mlp.c picks one when it runs.  All
 *  give the same bits: every output has its own chain of multiplications and additions in the order
 *  of its sum, lanes lie beside each other over outputs, and nothing is contracted. */
#ifndef MLP_KERNELS_H
#define MLP_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

/*  Counts of columns are multiples of this. */
enum { MLP_LANES = 16 };

typedef struct {
    const char *name;

    /*  c[i][j] = first + a[i][0] b[0][j] + a[i][1] b[1][j] + ... over `terms`, where `first` is
     *  c[i][j] when `add` is set, else 0; i < rows, j < columns.  Element (i, t) of `a` is
     *  a[i * a_row + t * a_term], so a transposed matrix costs nothing; `b` and `c` have rows of
     *  b_row and c_row floats. */
    void (*multiply)(size_t rows, size_t columns, size_t terms, const float *a, size_t a_row,
                     size_t a_term, const float *b, size_t b_row, float *c, size_t c_row, bool add);

    /*  velocity = momentum * velocity - rate * grad;  weights += velocity.  Velocities smaller
     *  than 2^-64 become 0 before they are added. */
    void (*momentum)(size_t count, float *weights, float *velocity, const float *grad, float rate,
                     float momentum);
} mlp_kernels_t;

extern const mlp_kernels_t mlp_kernels_plain, mlp_kernels_avx2, mlp_kernels_avx512;

#endif

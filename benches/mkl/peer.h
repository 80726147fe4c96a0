/* What the files of the MKL program share. */

#ifndef SPARSEFUSE_PEERS_MKL_H
#define SPARSEFUSE_PEERS_MKL_H

#include <mkl.h>

#include "../peers/protocol.h"

/* Fails where a call of MKL does. */
#define CHECK(call) \
  do { \
    if ((call) != SPARSE_STATUS_SUCCESS) fail(#call " failed"); \
  } while (0)

static const struct matrix_descr general = {SPARSE_MATRIX_TYPE_GENERAL, SPARSE_FILL_MODE_LOWER,
                                            SPARSE_DIAG_NON_UNIT};

/* operations.c: the works that make a matrix. One call does the work once, and the result lives
 * until the next. */
int is_operation(const char *work);
void set_up_operation(const arguments_t *args, const csr_t *a, sparse_matrix_t matrix);
void operate(void);
void print_operation_check(void);

#endif

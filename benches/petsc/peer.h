/* What the files of the PETSc program share. */

#ifndef SPARSEFUSE_PEERS_PETSC_H
#define SPARSEFUSE_PEERS_PETSC_H

#include <petscksp.h>

#include "../peers/protocol.h"

#define CHECK(call) CHKERRABORT(PETSC_COMM_WORLD, call)

/* peer.c: a matrix without entries, `rows` of whose rows are this rank's (or PETSC_DECIDE). */
Mat empty_matrix(PetscInt n, PetscInt rows, MatType type, PetscInt *first, PetscInt *end);
/* peer.c: the elements of a vector on rank 0, to be freed; NULL on the others. */
double *gathered(Vec y);

/* operations.c: the works that make a matrix. One call does the work once, and the result lives
 * until the next; what is returned is the seconds that it took. */
int is_operation(const char *work);
void set_up_operation(const arguments_t *args, const csr_t *a, Mat matrix);
double operate(void);
void print_operation_check(int rank);

/* multigrid.c: the works `gmg` and `amg`. One call solves once; what is returned is the seconds of
 * setup and solve, of which `setup` gets those before the iterations. */
int is_multigrid(const char *work);
void set_up_multigrid(const arguments_t *args, const csr_t *a, Mat matrix);
double solve_from_scratch(double *setup);
void print_multigrid_check(const csr_t *a, int rank);

#endif

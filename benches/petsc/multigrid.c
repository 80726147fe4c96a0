/* Conjugate gradients with a multigrid preconditioner, from a matrix in memory to the solution.
 *
 * Variants: mg-ssor, mg-gs (Gauss-Seidel forwards before the coarse correction, backwards after it)
 * and mg-chebyshev: PCMG with Galerkin operators and bilinear interpolation, which is made here;
 * gamg and boomeramg. Coarse points are the points 1, 3, 5 ... of each axis, since
 * the boundary lies one step beyond the grid; PETSc's DMDA would want its points on the boundary.
 * The norm that is tested is that of the residual, ||r|| <= 1e-8 ||b||. */

#include "peer.h"

/* A level with at most so many points along an axis is the last. */
enum { COARSEST = 8, LEVELS = 32 };

static Mat a;
static Vec b, x;
static PetscInt side;
static int is_geometric, iterations;

int is_multigrid(const char *work) { return strcmp(work, "gmg") == 0 || strcmp(work, "amg") == 0; }

#define MG "-pc_type mg -pc_mg_galerkin pmat "
#define SOR "-mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type sor "
/* The smoother after the coarse correction is another one then. */
#define UP \
  "-pc_mg_distinct_smoothup -mg_levels_up_ksp_type richardson -mg_levels_up_ksp_max_it 1 " \
  "-mg_levels_up_pc_type sor "

static const char *options_of(const char *variant) {
  static const char *const table[][2] = {
      {"mg-ssor", MG SOR},
      {"mg-gs", MG SOR UP "-mg_levels_pc_sor_local_forward -mg_levels_up_pc_sor_local_backward"},
      {"mg-chebyshev",
       MG "-mg_levels_ksp_type chebyshev -mg_levels_ksp_max_it 2 -mg_levels_pc_type jacobi"},
      {"gamg", "-pc_type gamg"},
      {"boomeramg", "-pc_type hypre -pc_hypre_type boomeramg"},
  };
  for (size_t k = 0; k < sizeof table / sizeof table[0]; k++)
    if (strcmp(variant, table[k][0]) == 0) return table[k][1];
  fail("no such variant");
  return NULL;
}

void set_up_multigrid(const arguments_t *args, const csr_t *file, Mat matrix) {
  PetscInt first, end;
  double *elements;
  a = matrix;
  CHECK(MatSetOption(a, MAT_SPD, PETSC_TRUE));
  is_geometric = strncmp(args->variant, "mg-", 3) == 0;
  side = (PetscInt)llround(sqrt((double)file->n_rows));
  if (is_geometric && (size_t)(side * side) != file->n_rows) fail("the grid is not a square");
  CHECK(PetscOptionsInsertString(NULL, options_of(args->variant)));
  CHECK(MatCreateVecs(a, &x, &b));
  CHECK(VecGetOwnershipRange(b, &first, &end));
  CHECK(VecGetArray(b, &elements));
  for (PetscInt i = first; i < end; i++) elements[i - first] = input((uint64_t)i);
  CHECK(VecRestoreArray(b, &elements));
}

/* The coarse neighbours of point i of an axis, and their weights; how many they are. */
static int neighbours(PetscInt i, PetscInt n_coarse, PetscInt *points, double *weights) {
  int count = 0;
  if (i % 2 == 1) {
    points[0] = i / 2;
    weights[0] = 1.0;
    return 1;
  }
  for (PetscInt j = i / 2 - 1; j <= i / 2; j++) {
    if (j >= 0 && j < n_coarse) {
      points[count] = j;
      weights[count++] = 0.5;
    }
  }
  return count;
}

/* Bilinear interpolation from n / 2 by n / 2 to n by n points, with 0 on the boundary. */
static Mat interpolation(PetscInt n) {
  PetscInt n_coarse = n / 2, fine = n * n, coarse = n_coarse * n_coarse;
  PetscInt rows = PETSC_DECIDE, cols = PETSC_DECIDE, end;
  CHECK(PetscSplitOwnership(PETSC_COMM_WORLD, &rows, &fine));
  CHECK(PetscSplitOwnership(PETSC_COMM_WORLD, &cols, &coarse));
  MPI_Scan(&rows, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
  PetscInt *pos = malloc(sizeof(PetscInt) * (size_t)(rows + 1));
  PetscInt *crd = malloc(sizeof(PetscInt) * (size_t)(4 * rows));
  double *vals = malloc(sizeof(double) * (size_t)(4 * rows));
  PetscInt k = 0;
  for (PetscInt row = 0; row < rows; row++) {
    PetscInt point = end - rows + row, ys[2], xs[2];
    double y_weights[2], x_weights[2];
    int n_y = neighbours(point / n, n_coarse, ys, y_weights);
    int n_x = neighbours(point % n, n_coarse, xs, x_weights);
    pos[row] = k;
    for (int i = 0; i < n_y; i++) {
      for (int j = 0; j < n_x; j++) {
        crd[k] = ys[i] * n_coarse + xs[j];
        vals[k++] = y_weights[i] * x_weights[j];
      }
    }
  }
  pos[rows] = k;
  Mat p;
  CHECK(MatCreate(PETSC_COMM_WORLD, &p));
  CHECK(MatSetSizes(p, rows, cols, fine, coarse));
  CHECK(MatSetType(p, MATAIJ));
  CHECK(MatSeqAIJSetPreallocationCSR(p, pos, crd, vals));
  CHECK(MatMPIAIJSetPreallocationCSR(p, pos, crd, vals));
  free(pos);
  free(crd);
  free(vals);
  return p;
}

static void set_interpolations(PC pc) {
  PetscInt sides[LEVELS], levels = 1;
  for (sides[0] = side; sides[levels - 1] > COARSEST; levels++)
    sides[levels] = sides[levels - 1] / 2;
  CHECK(PCSetType(pc, PCMG));
  CHECK(PCMGSetLevels(pc, levels, NULL));
  for (PetscInt level = 1; level < levels; level++) {
    /* PETSc numbers the levels from the coarsest. */
    Mat p = interpolation(sides[levels - 1 - level]);
    CHECK(PCMGSetInterpolation(pc, level, p));
    CHECK(MatDestroy(&p));
  }
}

double solve_from_scratch(double *setup) {
  KSP ksp;
  PC pc;
  PetscInt count;
  KSPConvergedReason reason;
  MPI_Barrier(PETSC_COMM_WORLD);
  double begin = now();
  CHECK(KSPCreate(PETSC_COMM_WORLD, &ksp));
  CHECK(KSPSetType(ksp, KSPCG));
  CHECK(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  CHECK(KSPSetTolerances(ksp, 1e-8, 0.0, PETSC_DEFAULT, 500));
  CHECK(KSPSetOperators(ksp, a, a));
  CHECK(KSPGetPC(ksp, &pc));
  if (is_geometric) set_interpolations(pc);
  CHECK(KSPSetFromOptions(ksp));
  CHECK(KSPSetUp(ksp));
  double middle = now();
  CHECK(KSPSolve(ksp, b, x));
  MPI_Barrier(PETSC_COMM_WORLD);
  double end = now();
  CHECK(KSPGetConvergedReason(ksp, &reason));
  if (reason < 0) fail("the solve has not converged");
  CHECK(KSPGetIterationNumber(ksp, &count));
  CHECK(KSPDestroy(&ksp));
  iterations = (int)count;
  *setup = middle - begin;
  return end - begin;
}

void print_multigrid_check(const csr_t *file, int rank) {
  double *solution = gathered(x), *right = gathered(b);
  if (rank == 0) print_solution_check(file, solution, right, iterations);
  free(solution);
  free(right);
}

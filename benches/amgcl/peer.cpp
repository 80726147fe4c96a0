// AMGCL as a competitor: conjugate gradients with algebraic multigrid on OpenMP threads, from a
// matrix in memory to the solution.
//
// Variants: sa (smoothed aggregation), rs (Ruge and Stueben), both with the sparse approximate
// inverse of order 0 that AMGCL's documentation prefers.

// AMGCL 1.0.0 relies on others to include these.
#include <boost/range/functions.hpp>

#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/ruge_stuben.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>
#include <omp.h>
#include <vector>

#include "../peers/protocol.h"

typedef amgcl::backend::builtin<double> Backend;

// A matrix and a right-hand side in memory, and the solution of the last solve.
struct Problem {
  size_t n;
  std::vector<ptrdiff_t> pos, crd;
  std::vector<double> vals, b, x;
  int iterations;

  explicit Problem(const csr_t &file)
      : n(file.n_rows),
        pos(file.pos, file.pos + file.n_rows + 1),
        crd(file.crd, file.crd + file.nnz),
        vals(file.vals, file.vals + file.nnz),
        b(n),
        iterations(0) {
    for (size_t i = 0; i < n; i++) b[i] = input(i);
  }

  // The seconds of setup and solve, of which `setup` gets those before the iterations.
  template <class Coarsening>
  double solve(double &setup) {
    typedef amgcl::amg<Backend, Coarsening, amgcl::relaxation::spai0> Preconditioner;
    typedef amgcl::make_solver<Preconditioner, amgcl::solver::cg<Backend>> Solver;
    typename Solver::params parameters;
    parameters.solver.tol = 1e-8;
    parameters.solver.maxiter = 500;
    double begin = now();
    Solver solver(boost::tie(n, pos, crd, vals), parameters);
    setup = now() - begin;
    x.assign(n, 0.0);
    size_t count;
    double residual;
    boost::tie(count, residual) = solver(b, x);
    double seconds = now() - begin;
    iterations = (int)count;
    return seconds;
  }

  double solve(const char *variant, double &setup) {
    if (strcmp(variant, "sa") == 0) return solve<amgcl::coarsening::smoothed_aggregation>(setup);
    return solve<amgcl::coarsening::ruge_stuben>(setup);
  }
};

int main(int argc, char **argv) {
  arguments_t args = arguments(argc, argv);
  omp_set_num_threads(args.threads);
  printf("version AMGCL 1.0.0\n");
  csr_t file = map_matrix(args.matrix);
  Problem problem(file);
  double setup;
  problem.solve(args.variant, setup);
  print_solution_check(&file, problem.x.data(), problem.b.data(), problem.iterations);
  int repetitions;
  while ((repetitions = next_batch()) > 0) {
    double seconds = 0.0, setups = 0.0;
    for (int k = 0; k < repetitions; k++) {
      seconds += problem.solve(args.variant, setup);
      setups += setup;
    }
    print_phases(seconds, setups);
  }
  return 0;
}

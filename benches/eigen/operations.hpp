// The works that make a matrix: A A, A X with a dense X, the transpose, and a matrix from triplets.
// Eigen does all but A X on one thread.

#ifndef SPARSEFUSE_PEERS_EIGEN_OPERATIONS_HPP
#define SPARSEFUSE_PEERS_EIGEN_OPERATIONS_HPP

#include <Eigen/Sparse>
#include <string>
#include <vector>

#include "../peers/protocol.h"

typedef Eigen::SparseMatrix<double, Eigen::RowMajor, int> Matrix;
typedef Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> Dense;

class Operations {
 public:
  Operations(const arguments_t &args, const csr_t &file, const Matrix &a) : work(args.work), a(a) {
    if (work == "spmm") {
      x.resize(a.cols(), SPMM_COLUMNS);
      for (Eigen::Index i = 0; i < x.size(); i++) x.data()[i] = input((uint64_t)i) - 0.5;
    }
    if (makes_triplets()) {
      std::vector<int> rows(file.nnz), cols(file.nnz);
      std::vector<double> vals(file.nnz);
      make_triplets(&file, args.work, 0, file.nnz, rows.data(), cols.data(), vals.data());
      for (size_t k = 0; k < file.nnz; k++) triplets.emplace_back(rows[k], cols[k], vals[k]);
    }
  }

  bool is_asked() const {
    return work == "multiply" || work == "spmm" || work == "transpose" || makes_triplets();
  }

  // The result is made anew.
  void once() {
    if (work == "multiply") result = Matrix(a * a);
    if (work == "transpose") result = Matrix(a.transpose());
    if (work == "spmm") {
      y.resize(0, 0);
      y = Dense(a * x);
    }
    if (makes_triplets()) {
      result = Matrix(a.rows(), a.cols());
      result.setFromTriplets(triplets.begin(), triplets.end());
    }
  }

  void print_check() const {
    Eigen::VectorXd v(work == "spmm" ? (Eigen::Index)SPMM_COLUMNS : a.cols());
    for (Eigen::Index i = 0; i < v.size(); i++) v[i] = input((uint64_t)i) - 0.5;
    Eigen::VectorXd product = work == "spmm" ? Eigen::VectorXd(y * v) : Eigen::VectorXd(result * v);
    double entries = work == "spmm" ? (double)y.size() : (double)result.nonZeros();
    print_matrix_check(product.data(), (size_t)product.size(), entries);
  }

 private:
  bool makes_triplets() const { return work.compare(0, 8, "triplets") == 0; }

  std::string work;
  const Matrix &a;
  Dense x, y;
  Matrix result;
  std::vector<Eigen::Triplet<double, int>> triplets;
};

#endif

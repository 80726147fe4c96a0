//! What preconditioners are, built as dense matrices and solved by elimination.

use super::{
    FEW, SCHWARZ, changed_values, definite, estimating, general, pseudo_random, random_matrix,
};
use ndarray::{Array1, Array2};
use num_complex::Complex;
use sparsefuse_dense::{Array, Vector};
use sparsefuse_kernels::Field;
use sparsefuse_solvers::preconditioners::{
    AdditiveSchwarz, BlockJacobi, Direct, Ic0, Ilu0, Iluk, Ilut, IlutOptions, Polynomial,
    PolynomialOptions, SchwarzOptions, Sor, SorOptions, SorOrder, SorSweep, spcholesky, splu,
};
use sparsefuse_solvers::{LinearOperator, Preconditioner};
use sparsefuse_sparse::{Csr, LocalRows};

type C = Complex<f64>;
pub(super) type Matrix = Array2<C>;

const N: usize = 40;

fn wide<T: Field>(value: T) -> C {
    let (re, im) = value.parts();
    C::new(re, im)
}

fn dense<T: Field>(a: &Csr<T>) -> Matrix {
    let mut whole = Matrix::zeros(a.shape());
    let (rows, local) = a.local_rows().unwrap();
    for (number, row) in rows.enumerate() {
        for k in local.pos[number] as usize..local.pos[number + 1] as usize {
            whole[(row, local.crd[k] as usize)] = wide(local.vals[k]);
        }
    }
    whole
}

/// The operator as a matrix.
pub(super) fn operator<T: Field>(m: &dyn LinearOperator<T>) -> Matrix {
    matrix_of(m.shape().0, |x| m.apply(x).unwrap())
}

fn matrix_of<T: Field>(n: usize, map: impl Fn(&Vector<T>) -> Vector<T>) -> Matrix {
    let mut whole = Matrix::zeros((n, n));
    for column in 0..n {
        let unit: Vec<T> = (0..n)
            .map(|row| if row == column { T::ONE } else { T::ZERO })
            .collect();
        let image = map(&Vector::from_vec(unit)).to_vec().unwrap();
        for (row, &value) in image.iter().enumerate() {
            whole[(row, column)] = wide(value);
        }
    }
    whole
}

/// Asserts that the operator is the inverse of M.
#[track_caller]
fn check_inverse<T: Field>(what: &str, m: &Matrix, inverse: &dyn LinearOperator<T>) {
    let product = m.dot(&operator(inverse));
    let tolerance = if T::DTYPE.real().size() == 4 {
        2e-5
    } else {
        1e-12
    };
    for ((row, column), value) in product.indexed_iter() {
        let expected = if row == column { C::ONE } else { C::ZERO };
        let distance = (value - expected).norm();
        assert!(distance < tolerance, "{what}: ({row}, {column}) is {value}");
    }
}

fn diagonal(a: &Matrix) -> Matrix {
    Matrix::from_diag(&a.diag())
}

fn lower(a: &Matrix) -> Matrix {
    Matrix::from_shape_fn(a.dim(), |(i, j)| if j < i { a[(i, j)] } else { C::ZERO })
}

fn upper(a: &Matrix) -> Matrix {
    Matrix::from_shape_fn(a.dim(), |(i, j)| if j > i { a[(i, j)] } else { C::ZERO })
}

/// L U of an elimination that keeps the entries that `keeps` names, as one product.
fn incomplete_lu(a: &Matrix, keeps: impl Fn(usize, usize) -> bool) -> Matrix {
    let n = a.nrows();
    let mut w = a.clone();
    for i in 1..n {
        for k in 0..i {
            if keeps(i, k) {
                w[(i, k)] = w[(i, k)] / w[(k, k)];
                for j in k + 1..n {
                    if keeps(i, j) {
                        w[(i, j)] = w[(i, j)] - w[(i, k)] * w[(k, j)];
                    }
                }
            }
        }
    }
    (lower(&w) + Matrix::eye(n)).dot(&(upper(&w) + diagonal(&w)))
}

/// The levels of fill of each entry: Saad's definition, over all rows at once.
fn levels(a: &Matrix) -> Array2<usize> {
    let far = usize::MAX / 4;
    let mut level = a.mapv(|value| if value == C::ZERO { far } else { 0 });
    let n = a.nrows();
    for k in 0..n {
        for i in k + 1..n {
            for j in k + 1..n {
                let through = level[(i, k)] + level[(k, j)] + 1;
                level[(i, j)] = level[(i, j)].min(through);
            }
        }
    }
    level
}

fn check_factorizations<T: Field>() {
    for (is_hermitian, seed) in [(false, 1), (true, 2)] {
        let a = random_matrix::<T>(N, is_hermitian, seed);
        let whole = dense(&a);
        let m = incomplete_lu(&whole, |i, j| whole[(i, j)] != C::ZERO);
        check_inverse("ilu(0)", &m, &Ilu0::new(&a).unwrap());
        if is_hermitian {
            let ic = Ic0::new(&a).unwrap();
            assert_eq!(ic.shift(), 0.0);
            check_inverse("ic(0)", &m, &ic);
            check_inverse("cholesky", &whole, &spcholesky(&a).unwrap());
        }
        let level = levels(&whole);
        for k in 0..3 {
            let m = incomplete_lu(&whole, |i, j| level[(i, j)] <= k);
            check_inverse("ilu(k)", &m, &Iluk::new(&a, k).unwrap());
        }
        let everything = IlutOptions {
            drop_tolerance: 0.0,
            fill: N,
        };
        check_inverse("ilut", &whole, &Ilut::new(&a, everything).unwrap());
        let factors = splu(&a).unwrap();
        check_inverse("lu", &whole, &factors);
        check_columns(&factors);
    }
}

/// The solutions for the columns of a matrix are those for each of them, to the bit.
fn check_columns<T: Field>(factors: &Direct<T>) {
    let b = Array::<T, 2>::random_normal([N, 3], 1);
    for k in [0, 1, 3] {
        let x = factors.solve(&b.slice((.., ..k))).unwrap();
        assert_eq!(x.shape(), [N, k]);
        for column in 0..k {
            let expected = factors.solve(&b.column(column)).unwrap();
            assert_eq!(
                x.column(column).to_vec().unwrap(),
                expected.to_vec().unwrap()
            );
        }
    }
    let error = factors.solve(&b.t()).unwrap_err().to_string();
    let expected = format!("solve: expected a shape of ({N}, {N}), found (3, {N})");
    assert_eq!(error, expected);
    let cube = Array::<T, 3>::zeros([N, 1, 1]);
    let error = factors.solve(&cube).unwrap_err().to_string();
    assert!(error.contains("a vector or a matrix"), "{error}");
}

#[test]
fn factorizations_are_those_of_dense_elimination() {
    check_factorizations::<f64>();
    check_factorizations::<f32>();
    check_factorizations::<Complex<f64>>();
    check_factorizations::<Complex<f32>>();
}

/// L and U of ILUT in one matrix: Saad's algorithm on whole rows, where entries of L are compared
/// with the norm of the row before they are divided.
fn ilut(a: &Matrix, options: IlutOptions) -> Matrix {
    let n = a.nrows();
    let mut w = Matrix::zeros(a.dim());
    for i in 0..n {
        let mut row = a.row(i).to_owned();
        let norm = row.iter().map(|value| value.norm_sqr()).sum::<f64>().sqrt();
        let is_small = |value: C| value.norm() < options.drop_tolerance * norm;
        for k in 0..i {
            if is_small(row[k]) {
                row[k] = C::ZERO;
            }
            row[k] /= w[(k, k)];
            for j in k + 1..n {
                row[j] = row[j] - row[k] * w[(k, j)];
            }
        }
        for part in [0..i, i + 1..n] {
            let mut columns: Vec<usize> = part.collect();
            // Factors count as before they were divided.
            let size = |j: usize| if j < i { row[j] * w[(j, j)] } else { row[j] }.norm();
            columns.sort_by(|&j, &k| size(k).total_cmp(&size(j)));
            for (place, &j) in columns.iter().enumerate() {
                if place >= options.fill || (j > i && is_small(row[j])) {
                    row[j] = C::ZERO;
                }
            }
        }
        w.row_mut(i).assign(&row);
    }
    w
}

fn check_updated_ilut<T: Field>() {
    let a = random_matrix::<T>(N, false, 1);
    let kept = ilut(&dense(&a), FEW);
    for part in [lower(&kept), upper(&kept)] {
        let entries = part.iter().filter(|&&value| value != C::ZERO).count();
        assert!(entries > N, "{entries}");
    }
    let mut m = Ilut::new(&a, FEW).unwrap();
    let product = (lower(&kept) + Matrix::eye(N)).dot(&(upper(&kept) + diagonal(&kept)));
    check_inverse("ilut", &product, &m);

    let other = changed_values(&a, 2, 1.0);
    let is_kept = |i, j| kept[(i, j)] != C::ZERO;
    let chosen_afresh = ilut(&dense(&other), FEW);
    let differs = |((i, j), value): ((usize, usize), &C)| (*value != C::ZERO) != is_kept(i, j);
    assert!(chosen_afresh.indexed_iter().any(differs));

    m.update(&other).unwrap();
    let whole = dense(&other);
    let part = Matrix::from_shape_fn(whole.dim(), |(i, j)| {
        if is_kept(i, j) {
            whole[(i, j)]
        } else {
            C::ZERO
        }
    });
    let product = incomplete_lu(&part, is_kept);
    for ((i, j), value) in product.indexed_iter() {
        let is_equal = (value - whole[(i, j)]).norm() < 1e-13;
        assert!(is_equal || !is_kept(i, j), "({i}, {j}) is {value}");
    }
    check_inverse("updated ilut", &product, &m);
}

#[test]
fn updates_of_ilut_equal_the_matrix_on_the_structure_it_keeps() {
    check_updated_ilut::<f64>();
    check_updated_ilut::<Complex<f64>>();
}

/// The same structure, and the same solutions divided by the scale.
#[test]
fn what_ilut_keeps_does_not_depend_on_the_scale() {
    let a = random_matrix::<f64>(N, false, 5);
    let b = Vector::<f64>::random_normal([N], 1);
    let of = |power: i32| {
        let m = Ilut::new(&a.scale(2f64.powi(power)), FEW).unwrap();
        let x = m.apply(&b).unwrap() * 2f64.powi(power);
        (m.local_entries(), x.to_vec().unwrap())
    };
    let expected = of(0);
    for power in [-300, -20, 10, 20, 300] {
        assert_eq!(of(power), expected, "{power}");
    }
}

fn check_relaxations<T: Field>() {
    let a = random_matrix::<T>(N, false, 3);
    let whole = dense(&a);
    let (l, d, u) = (lower(&whole), diagonal(&whole), upper(&whole));
    let omega = C::new(1.2, 0.0);
    let options = |sweep| SorOptions {
        omega: 1.2,
        sweep,
        ..SorOptions::default()
    };
    let forward = &d / omega + &l;
    let backward = &d / omega + &u;
    let made = Sor::new(&a, options(SorSweep::Forward)).unwrap();
    check_inverse("forward", &forward, &made);
    let made = Sor::new(&a, options(SorSweep::Backward)).unwrap();
    check_inverse("backward", &backward, &made);
    let inverse = Matrix::from_diag(&d.diag().mapv(|entry| C::ONE / entry));
    let symmetric = forward.dot(&inverse).dot(&backward) * (omega / (C::new(2.0, 0.0) - omega));
    let made = Sor::new(&a, options(SorSweep::Symmetric)).unwrap();
    check_inverse("symmetric", &symmetric, &made);
    let blocks = Matrix::from_shape_fn(whole.dim(), |(i, j)| {
        let is_inside = i / 7 == j / 7;
        if is_inside { whole[(i, j)] } else { C::ZERO }
    });
    check_inverse("block jacobi", &blocks, &BlockJacobi::new(&a, 7).unwrap());
}

#[test]
fn relaxations_are_their_splittings() {
    check_relaxations::<f64>();
    check_relaxations::<f32>();
    check_relaxations::<Complex<f64>>();
    check_relaxations::<Complex<f32>>();
}

#[test]
fn sweeps_are_those_of_the_textbook() {
    let a = random_matrix::<f64>(N, false, 4);
    let whole = dense(&a);
    let b = pseudo_random::<f64>(N, 5);
    // Colors in the order in which rows of the multicolor variant are relaxed.
    let colored = Sor::new(
        &a,
        SorOptions {
            omega: 0.9,
            sweep: SorSweep::Forward,
            sweeps: 3,
            order: SorOrder::Multicolor,
        },
    )
    .unwrap();
    let n_colors = colored.colors().unwrap();
    let color_of = greedy(&whole);
    assert_eq!(n_colors, 1 + color_of.iter().max().unwrap());
    let mut order: Vec<usize> = (0..N).collect();
    order.sort_by_key(|&row| color_of[row]);
    let mut x = Array1::<f64>::zeros(N);
    for row in std::iter::repeat_n(order, 3).flatten() {
        let known: f64 = (0..N).map(|j| whole[(row, j)].re * x[j]).sum();
        x[row] += 0.9 * (b[row] - known) / whole[(row, row)].re;
    }
    let found = colored.apply(&Vector::from_vec(b.clone())).unwrap();
    let smoothed = colored
        .smooth(&Vector::from_vec(b), Vector::zeros([N]))
        .unwrap();
    for found in [found, smoothed] {
        for (found, expected) in found.to_vec().unwrap().iter().zip(&x) {
            assert!((found - expected).abs() < 1e-13, "{found} {expected}");
        }
    }
}

fn greedy(a: &Matrix) -> Vec<usize> {
    let mut colors: Vec<usize> = Vec::new();
    for row in 0..a.nrows() {
        let is_neighbour = |&j: &usize| a[(row, j)] != C::ZERO || a[(j, row)] != C::ZERO;
        let used: Vec<usize> = (0..row).filter(is_neighbour).map(|j| colors[j]).collect();
        colors.push((0..).find(|color| !used.contains(color)).unwrap());
    }
    colors
}

#[test]
fn schwarz_adds_the_solutions_of_blocks() {
    let a = random_matrix::<f64>(N, false, 8);
    let whole = dense(&a);
    let found = operator(&AdditiveSchwarz::new(&a, SCHWARZ).unwrap());
    let mut sum = Matrix::zeros((N, N));
    for block in 0..5 {
        let own = block * N / 5..(block + 1) * N / 5;
        let is_named = |&row: &usize| own.clone().any(|i| whole[(i, row)] != C::ZERO);
        let rows: Vec<usize> = (0..N).filter(is_named).collect();
        let part = Csr::from_rows(rows.len(), rows.len(), |_| {
            let mut local = LocalRows::with_capacity(rows.len(), 0);
            for &row in &rows {
                for (column, &of_whole) in rows.iter().enumerate() {
                    local.push(column as u32, whole[(row, of_whole)].re);
                }
                local.end_row();
            }
            local
        });
        let inverse = operator(&splu(&part.unwrap()).unwrap());
        for ((i, j), value) in inverse.indexed_iter() {
            sum[(rows[i], rows[j])] += value;
        }
    }
    assert!((found - sum).iter().all(|value| value.norm() < 1e-14));
}

/// A block on each rank: on one rank without overlap that is ILU(0).
#[test]
fn schwarz_on_one_rank_is_its_block_solve() {
    let a = random_matrix::<f64>(N, false, 8);
    let schwarz = AdditiveSchwarz::new(&a, SchwarzOptions::default()).unwrap();
    let distance = operator(&schwarz) - operator(&Ilu0::new(&a).unwrap());
    assert!(distance.iter().all(|value| value.norm() < 1e-15));
}

#[test]
fn the_neumann_series_is_summed() {
    let a = random_matrix::<f64>(N, false, 6);
    let whole = dense(&a);
    let options = PolynomialOptions {
        degree: 3,
        omega: Some(0.7),
    };
    let scaled = Matrix::from_shape_fn(whole.dim(), |(i, j)| whole[(i, j)] * 0.7 / whole[(i, i)]);
    let g = Matrix::eye(N) - &scaled;
    let series = Matrix::eye(N) + &g + g.dot(&g) + g.dot(&g).dot(&g);
    // z = series (omega D^-1) r, of which we multiply D / omega back.
    let found = operator(&Polynomial::new(&a, options).unwrap());
    let found = found.dot(&(diagonal(&whole) / C::new(0.7, 0.0)));
    assert!((found - series).iter().all(|value| value.norm() < 1e-13));
}

#[test]
fn adjoints_are_conjugate_transposes() {
    let mut without = Vec::new();
    for is_hermitian in [true, false] {
        let a = random_matrix::<Complex<f64>>(N, is_hermitian, 10);
        // The polynomial exists for any matrix; a Cholesky factorisation does not.
        let needs_hermitian = |name: &str| name == "ic(0)" || name == "cholesky";
        let all = general().into_iter().chain(definite()).chain(estimating());
        for (name, make) in all.filter(|(name, _)| is_hermitian || !needs_hermitian(name)) {
            let m = make(&a).unwrap();
            if m.apply_adjoint(&Vector::ones([N])).is_err() {
                without.push(name);
                continue;
            }
            let adjoint = matrix_of(N, |x| m.apply_adjoint(x).unwrap());
            let distance = operator(&*m).t().mapv(|value| value.conj()) - adjoint;
            assert!(
                distance.iter().all(|value| value.norm() < 1e-14),
                "{name}, Hermitian: {is_hermitian}"
            );
        }
    }
    assert!(
        without
            .iter()
            .all(|name| name.contains("sor") || name.contains("schwarz")),
        "{without:?}"
    );
}

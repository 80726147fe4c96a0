//! `--solver auto` and `--pc auto`: what to try on a matrix, in which order, and why.
//!
//! Looking costs a pass over the matrix and a comparison with its adjoint. Every rank finds the
//! same facts and so makes the same choice.

use super::arguments::Solver;
use super::pc::Pc;
use sparsefuse::Error;
use sparsefuse::kernels::Field;
use sparsefuse::sparse::Csr;
use std::fmt;

/// A method and a preconditioner to try.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) solver: Solver,
    pub(super) pc: Pc,
    /// Why this one, in words.
    pub(super) why: String,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {}", self.solver.name(), self.pc)
    }
}

/// Entries up to which a complete factorisation is the first choice: it takes less than a second.
const SMALL: usize = 50_000;
/// Entries up to which one is the last resort.
const FACTORABLE: usize = 4_000_000;

/// What is tried when all else has failed.
const LAST_RESORT: &str = "jacobi";
/// The same where a diagonal entry is not positive: MINRES needs a definite preconditioner.
const INDEFINITE_RESORT: &str = "none";

/// What was asked for, either of which may be left open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) solver: Solver,
    pub(super) pc: &'a Pc,
    /// The grid that the matrix stems from, if that is known.
    pub(super) has_grid: bool,
}

/// What a choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    nnz: usize,
    is_complex: bool,
    is_square: bool,
    is_hermitian: bool,
    has_positive_diagonal: bool,
    /// Whether no entry beside the diagonal is positive, but for few.
    is_like_m_matrix: bool,
}

/// What to try, the first first; every rank must ask. One candidate where nothing is left open.
pub(super) fn candidates<T: Field>(a: &Csr<T>, asked: &Asked<'_>) -> Result<Vec<Candidate>, Error> {
    let is_open = asked.solver == Solver::Auto || asked.pc.is_auto();
    if !is_open {
        return Ok(vec![Candidate {
            solver: asked.solver,
            pc: asked.pc.clone(),
            why: String::new(),
        }]);
    }
    let facts = Facts::of(a)?;
    let mut all: Vec<Candidate> = Vec::new();
    for (pc, why) in preconditioners(&facts, asked) {
        let pc = match asked.pc.is_auto() {
            true => Pc::parse(pc).expect("the names here are those of the catalogue"),
            false => asked.pc.clone(),
        };
        let solver = match asked.solver {
            Solver::Auto if asked.pc.is_auto() && pc.to_string() == facts.last_resort() => {
                last_resort(&facts)
            }
            Solver::Auto => solver_for(&facts, &pc, a.runtime().ranks()),
            solver => solver,
        };
        let is_known = |known: &Candidate| (known.solver, &known.pc) == (solver, &pc);
        if !all.iter().any(is_known) {
            let why = match asked.pc.is_auto() {
                true => format!("{}: {why}", facts.in_words()),
                false => facts.in_words(),
            };
            all.push(Candidate { solver, pc, why });
        }
    }
    Ok(all)
}

/// Names of preconditioners to try, and why.
fn preconditioners(facts: &Facts, asked: &Asked<'_>) -> Vec<(&'static str, &'static str)> {
    let mut names = Vec::new();
    let is_definite = facts.is_hermitian && facts.has_positive_diagonal;
    if !facts.is_square {
        return vec![("none", "least squares")];
    }
    if facts.nnz <= SMALL {
        if is_definite {
            names.push(("cholesky", "small, so factored completely"));
        }
        names.push(("lu", "small, so factored completely"));
    } else if is_definite {
        if asked.has_grid {
            names.push(("gmg", "on a grid, so by multigrid"));
        }
        if facts.is_like_m_matrix {
            names.push(("amg", "like an elliptic problem, so by multigrid"));
        }
        names.push(("ic", "an incomplete factorisation"));
        names.push(("ssor", "exists for every positive diagonal"));
    } else if facts.is_hermitian {
        if facts.nnz <= FACTORABLE {
            names.push(("lu", "indefinite, so factored completely"));
        }
        names.push(("ilut", "an incomplete factorisation"));
    } else {
        names.push(("ilu", "an incomplete factorisation"));
        names.push(("ilut:1e-4,30", "a more exact incomplete factorisation"));
    }
    if facts.nnz <= FACTORABLE {
        names.push(("lu", "the last resort"));
    }
    names.push((facts.last_resort(), "nothing else has converged"));
    names
}

/// The method for a matrix and a preconditioner.
fn solver_for(facts: &Facts, pc: &Pc, ranks: usize) -> Solver {
    let name = pc.to_string();
    let is_general = name.starts_with("lu") || name.starts_with("ilu");
    let is_general = is_general || pc.symmetric_instead(ranks).is_some();
    if !facts.is_square {
        Solver::Lsmr
    } else if is_general || !facts.is_hermitian {
        Solver::Gmres
    } else if facts.has_positive_diagonal {
        Solver::Cg
    } else {
        Solver::Minres
    }
}

/// The method for the last resort, which needs no definite matrix.
fn last_resort(facts: &Facts) -> Solver {
    match (facts.is_square, facts.is_hermitian) {
        (false, _) => Solver::Lsmr,
        (true, true) => Solver::Minres,
        (true, false) => Solver::Gmres,
    }
}

impl Facts {
    /// The preconditioner for the last resort.
    fn last_resort(&self) -> &'static str {
        match self.is_hermitian && !self.has_positive_diagonal {
            true => INDEFINITE_RESORT,
            false => LAST_RESORT,
        }
    }

    fn of<T: Field>(a: &Csr<T>) -> Result<Self, Error> {
        let (n_rows, n_cols) = a.shape();
        if n_rows != n_cols {
            return Ok(Self {
                nnz: a.nnz(),
                is_complex: T::IS_COMPLEX,
                is_square: false,
                is_hermitian: false,
                has_positive_diagonal: false,
                is_like_m_matrix: false,
            });
        }
        let is_hermitian = a.is_hermitian()?;
        let (rows, own) = a.local_rows()?;
        let (mut positive_diagonals, mut positive_others, mut others) = (0u64, 0u64, 0u64);
        for (number, row) in rows.clone().enumerate() {
            for k in own.pos[number] as usize..own.pos[number + 1] as usize {
                let (re, im) = own.vals[k].parts();
                if own.crd[k] as usize == row {
                    positive_diagonals += u64::from(re > 0.0 && im == 0.0);
                } else if (re, im) != (0.0, 0.0) {
                    others += 1;
                    positive_others += u64::from(re > 0.0 || im != 0.0);
                }
            }
        }
        let mine = [
            u64::from(positive_diagonals == rows.len() as u64),
            positive_others,
            others,
        ];
        let all = a.runtime().all_gather(&mine)?;
        let sum = |place: usize| all.iter().map(|of_rank| of_rank[place]).sum::<u64>();
        Ok(Self {
            nnz: a.nnz(),
            is_complex: T::IS_COMPLEX,
            is_square: true,
            is_hermitian,
            has_positive_diagonal: sum(0) == all.len() as u64,
            is_like_m_matrix: sum(1) * 20 <= sum(2),
        })
    }

    fn in_words(&self) -> String {
        let symmetry = match (self.is_square, self.is_hermitian, self.is_complex) {
            (false, _, _) => "not square",
            (true, true, false) => "symmetric",
            (true, false, false) => "not symmetric",
            (true, true, true) => "Hermitian",
            (true, false, true) => "not Hermitian",
        };
        let diagonal = match self.has_positive_diagonal {
            true => ", positive diagonal",
            false => "",
        };
        format!("{symmetry}{diagonal}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsefuse::dense::Vector;
    use sparsefuse::sparse::{Csr, gallery};

    fn names(a: &Csr<f64>, solver: Solver, pc: &str, has_grid: bool) -> Vec<(Solver, String)> {
        let pc = Pc::parse(pc).unwrap();
        let asked = Asked {
            solver,
            pc: &pc,
            has_grid,
        };
        let all = candidates(a, &asked).unwrap();
        all.iter()
            .map(|one| (one.solver, one.pc.to_string()))
            .collect()
    }

    #[test]
    fn elliptic_problems_are_for_multigrid() {
        let a = gallery::poisson2d::<f64>(128).unwrap();
        let on_grid = names(&a, Solver::Auto, "auto", true);
        assert_eq!(
            on_grid[..2],
            [(Solver::Cg, "gmg".into()), (Solver::Cg, "amg".into())]
        );
        let from_file = names(&a, Solver::Auto, "auto", false);
        assert_eq!(from_file[0], (Solver::Cg, "amg".into()));
    }

    #[test]
    fn small_matrices_are_factored() {
        let a = gallery::poisson2d::<f64>(8).unwrap();
        assert_eq!(
            names(&a, Solver::Auto, "auto", true)[0],
            (Solver::Cg, "cholesky".into())
        );
        let a = gallery::random::<f64>(100, 5, 1).unwrap();
        assert_eq!(
            names(&a, Solver::Auto, "auto", false)[0],
            (Solver::Gmres, "lu".into())
        );
    }

    /// The two triangles of assembled matrices often differ by rounding.
    #[test]
    fn symmetric_up_to_rounding_is_symmetric() {
        let a = gallery::poisson2d::<f64>(8).unwrap();
        let vals: Vec<f64> = a.values().to_vec().unwrap();
        let rounded = vals.iter().enumerate();
        let rounded = rounded.map(|(k, value)| value + k as f64 * 1e-18).collect();
        let a = a.with_values(Vector::from_vec(rounded)).unwrap();
        assert_eq!(
            names(&a, Solver::Auto, "jacobi", false),
            [(Solver::Cg, "jacobi".into())]
        );
    }

    #[test]
    fn what_was_asked_for_is_kept() {
        let a = gallery::poisson2d::<f64>(128).unwrap();
        assert_eq!(
            names(&a, Solver::Auto, "ilu:1", false),
            [(Solver::Gmres, "ilu:1".into())]
        );
        assert_eq!(
            names(&a, Solver::Minres, "none", false),
            [(Solver::Minres, "none".into())]
        );
        let of_solver = names(&a, Solver::Bicgstab, "auto", false);
        assert!(
            of_solver
                .iter()
                .all(|(solver, _)| *solver == Solver::Bicgstab)
        );
    }
}

//! What no rank holds as a whole: entries given by all ranks, files read and written by parts,
//! rows gathered on one rank, rows balanced.

use crate::{Entries, Exact, Temporary, bits, entries, everywhere, for_each_type, rows, small};
use num_complex::Complex;
use proptest::prelude::{ProptestConfig, any, proptest};
use sparsefuse_dense::Vector;
use sparsefuse_kernels::random;
use sparsefuse_runtime::{Config, Error, Runtime, run_ranks};
use sparsefuse_sparse::matrix_market::WriteErrorKind;
use sparsefuse_sparse::{Csr, Triplets, gallery, read_vector, write_vector};
use sparsefuse_testing::matrices;
use std::path::{Path, PathBuf};

/// Each rank gives a stretch of the entries, empty ones among them; values whose sums depend on
/// their order.
fn check_triplets<T: Exact>(all: &Entries, seed: u64) {
    everywhere(|| {
        let runtime = Runtime::current();
        let n = all.entries.len();
        let cut = |rank: usize| match rank {
            0 => 0,
            rank if rank == runtime.ranks() => n,
            // Ascending cuts anywhere.
            rank => {
                let mut cuts: Vec<usize> = (1..runtime.ranks() as u64)
                    .map(|k| (random::bits(seed, k) % (n as u64 + 1)) as usize)
                    .collect();
                cuts.sort_unstable();
                cuts[rank - 1]
            }
        };
        let mine = Entries {
            entries: all.entries[cut(runtime.rank())..cut(runtime.rank() + 1)].to_vec(),
            ..*all
        };
        let whole = rows(&all.csr::<T>()?)?;
        assert_eq!(
            rows(&Csr::from_distributed_triplets(mine.triplets::<T>())?)?,
            whole
        );
        Ok(whole)
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn entries_may_be_given_by_any_rank(entries in entries(), seed in any::<u64>()) {
        for_each_type!(check_triplets(&entries, seed));
    }
}

/// 1e16 + 1 + 1 - 1e16 depends on the order: 0 or 2.
#[test]
fn duplicates_are_summed_in_the_order_of_ranks_and_positions() {
    let values = [1e16, 1.0, 1.0, -1e16, 0.1, 1e16, -1e16];
    for ranks in [1, 2, 3, 5] {
        let sums = run_ranks(ranks, &small(), |runtime| {
            let (rank, ranks) = (runtime.rank(), runtime.ranks());
            let mut triplets = Triplets::new(20, 20).unwrap();
            let mine = values.len() * rank / ranks..values.len() * (rank + 1) / ranks;
            for &value in &values[mine] {
                triplets.push(17, 3, value).unwrap();
            }
            let a = Csr::from_distributed_triplets(triplets).unwrap();
            a.to_triplets().unwrap().vals().to_vec()
        });
        let expected = values.iter().fold(0.0, |sum, value| sum + value);
        for sum in sums.unwrap() {
            assert_eq!(bits(&sum), bits(&[expected]));
        }
    }
}

#[test]
fn ranks_that_mean_different_matrices_are_refused() {
    let errors = run_ranks(3, &small(), |runtime| {
        let n_cols = if runtime.rank() == 1 { 4 } else { 5 };
        let triplets = Triplets::<f64>::new(9, n_cols).unwrap();
        Csr::from_distributed_triplets(triplets)
            .unwrap_err()
            .to_string()
    });
    for error in errors.unwrap() {
        assert_eq!(
            error,
            "from_distributed_triplets: expected entries of a matrix of 9 by 5 on every rank, \
             found 9 by 4 on rank 1"
        );
    }
}

#[test]
fn one_rank_gathers_the_others_do_not() {
    for (ranks, root) in [(1, 0), (2, 1), (3, 0), (5, 4)] {
        let gathered = run_ranks(ranks, &small(), |runtime| {
            let a = gallery::random::<f64>(50, 4, 7).unwrap();
            let x = Vector::<f64>::linspace(0.0, 1.0, 50);
            let whole = (a.to_rows()?, a.to_sprs()?, a.to_triplets()?, x.to_vec()?);
            let found = (
                a.gather(root)?,
                a.gather_sprs(root)?,
                a.gather_triplets(root)?,
                x.gather(root)?,
            );
            let expected = match runtime.rank() == root {
                true => (Some(whole.0), Some(whole.1), Some(whole.2), Some(whole.3)),
                false => (None, None, None, None),
            };
            assert_eq!(found, expected);
            Ok::<_, Error>(())
        });
        gathered.unwrap().into_iter().for_each(Result::unwrap);
    }
}

/// The files of a folder that one rank can read into complex elements.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().contains(".mtx"));
    files.sort();
    files
}

#[test]
fn files_read_by_parts_are_those_read_whole() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    let mut files = files_in(&data);
    assert!(!files.is_empty());
    files.extend(matrices().iter().flat_map(|folder| files_in(folder)));
    // There is memory for its rows on one rank, perhaps, but not on all at a time.
    files.retain(|path| !path.to_string_lossy().contains("announces_"));
    for path in files {
        everywhere(|| rows(&Csr::<Complex<f64>>::read(&path).unwrap()));
    }
}

#[test]
fn vectors_read_by_parts_are_those_read_whole() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    for name in ["rhs.mtx", "rhs_sparse.mtx"] {
        let found = everywhere(|| read_vector::<f64>(data.join(name)).unwrap().to_vec());
        assert!(!found.is_empty());
    }
    let message = everywhere(|| {
        Ok(read_vector::<f64>(data.join("array.mtx"))
            .unwrap_err()
            .to_string())
    });
    assert!(
        message.ends_with("expected a vector, which has one column, found 2 x 3"),
        "{message}"
    );
}

/// The text is that of one rank, and a vector may be a view.
#[test]
fn files_are_written_by_parts() {
    for name in ["matrix.mtx", "matrix.mtx.gz"] {
        let file = Temporary::new(name);
        let vector = Temporary::new(&format!("vector_{name}"));
        everywhere(|| {
            let runtime = Runtime::current();
            let a = gallery::random::<f64>(70, 5, 3)?.scale(0.1);
            let x = Vector::<f64>::random_uniform([90], 5);
            let part = x.slice(10..);
            a.write(&file.path).unwrap();
            write_vector(&vector.path, &part, "a part").unwrap();
            let again = rows(&Csr::<f64>::read(&file.path).unwrap())?;
            assert_eq!(again, rows(&a)?);
            let elements = bits(&read_vector::<f64>(&vector.path).unwrap().to_vec()?);
            assert_eq!(elements, bits(&part.to_vec()?));
            let text = (
                std::fs::read(&file.path).unwrap(),
                std::fs::read(&vector.path).unwrap(),
            );
            // No rank writes the next file while another still reads this one.
            runtime.all_gather::<u32>(&[])?;
            Ok(text)
        });
    }
}

#[test]
fn what_cannot_be_written_is_the_same_error_everywhere() {
    let file = Temporary::new("not_finite.mtx");
    let message = everywhere(|| {
        let mut triplets = Triplets::new(20, 20).unwrap();
        triplets.push(19, 0, f64::INFINITY).unwrap();
        triplets.push(18, 7, f64::NAN).unwrap();
        let error = Csr::from_triplets(&triplets)?
            .write(&file.path)
            .unwrap_err();
        assert!(matches!(error.kind(), WriteErrorKind::NotFinite { .. }));
        Ok(error.kind().to_string())
    });
    assert_eq!(message, "expected finite values, found NaN at (18, 7)");
    assert!(!file.path.exists());
    let message = everywhere(|| {
        let x = Vector::<f64>::ones([40]);
        Ok(write_vector("no/such/folder/x.mtx", &x, "")
            .unwrap_err()
            .to_string())
    });
    assert!(
        message.starts_with("no/such/folder/x.mtx: cannot write: "),
        "{message}"
    );
}

/// Rows of very different lengths: the first ones are full.
fn heavy(n: usize) -> Result<Csr<f64>, Error> {
    let mut triplets = Triplets::new(n, n).unwrap();
    for row in 0..n {
        let len = if row < n / 8 { n } else { 2 };
        for k in 0..len {
            let value = random::uniform(3, (row * n + k) as u64);
            triplets.push(row, (row + k) % n, value).unwrap();
        }
    }
    Csr::from_triplets(&triplets)
}

#[test]
fn balanced_matrices_are_the_same_matrices() {
    for ranks in [1, 2, 3, 5] {
        let found = run_ranks(ranks, &small(), |_| {
            let a = heavy(96)?.scale(2.0);
            let balanced = a.balance()?;
            let (before, after) = (a.imbalance()?, balanced.imbalance()?);
            assert!(
                after < 1.3 && (ranks == 1 || before > 1.3),
                "{before} to {after}"
            );
            assert_eq!(rows(&balanced)?, rows(&a)?);
            assert_eq!(rows(&balanced.transpose()?)?, rows(&a.transpose()?)?);
            assert_eq!(
                bits(&balanced.diagonal(0)?.to_vec()?),
                bits(&a.diagonal(0)?.to_vec()?)
            );
            let x = Vector::<f64>::random_uniform([96], 1);
            let y = &balanced * &x;
            let sums = [y.dot(&x).get()?, (&a * &x).dot(&x).get()?];
            assert_eq!(bits(&sums[..1]), bits(&sums[1..]));
            assert_eq!(bits(&y.to_vec()?), bits(&(&a * &x).to_vec()?));
            // What is even stays where it is.
            let again = balanced.balance()?;
            assert_eq!(again.local_rows()?, balanced.local_rows()?);
            Ok::<_, Error>(bits(&sums))
        });
        let found: Result<Vec<_>, Error> = found.unwrap().into_iter().collect();
        let found = found.unwrap();
        assert!(found.iter().all(|sums| *sums == found[0]));
    }
}

/// After the first iterations vectors are where the rows are: what is sent are ghosts and sums,
/// whatever the partition that the vectors had at first.
#[test]
fn vectors_follow_a_balanced_matrix() {
    let config = Config {
        tile_len: 16,
        ..small()
    };
    let sent = run_ranks(3, &config, |runtime| {
        // Only neighbours are coupled, so that ghosts are few.
        let mut triplets = Triplets::new(960, 960).unwrap();
        for row in 0..960usize {
            let reach = if row < 160 { 30 } else { 1 };
            for col in row.saturating_sub(reach)..(row + reach + 1).min(960) {
                triplets
                    .push(row, col, 1.0 / (1.0 + row.abs_diff(col) as f64))
                    .unwrap();
            }
        }
        let a = Csr::from_triplets(&triplets)?.balance()?;
        let (b, mut x) = (Vector::<f64>::ones([960]), Vector::<f64>::zeros([960]));
        let mut r = &b - &(&a * &x);
        let mut p = r.try_add(Vector::zeros([960]))?;
        let mut each = Vec::new();
        for _ in 0..6 {
            let before = runtime.counters().bytes_sent;
            let q = &a * &p;
            let alpha = r.dot(&r).ratio(&p.dot(&q));
            x += &alpha * &p;
            r -= &alpha * &q;
            p = &r + &(&alpha * &p);
            x.sum().get()?;
            runtime.flush();
            each.push(runtime.counters().bytes_sent - before);
        }
        Ok::<_, Error>(each)
    });
    for each in sent.unwrap() {
        let each = each.unwrap();
        assert!(each[2..].iter().all(|bytes| *bytes < 1500), "{each:?}");
    }
}

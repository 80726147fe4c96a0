//! What ranks fetch from each other outside of tasks.

use crate::{everywhere, small};
use sparsefuse_dense::Vector;
use sparsefuse_runtime::{Error, Exchange, Partition, Runtime, run_ranks};
use sparsefuse_sparse::{
    Csr, Diagonal, Ghosts, LocalRows, Triangle, TriangularSolve, Triplets, gallery,
};

/// Some indices below `n`, others on each rank.
fn needed(n: usize, rank: usize) -> Vec<u32> {
    (0..n as u32)
        .filter(|&i| (i as usize * 7 + rank * 3) % 5 < 2)
        .collect()
}

#[test]
fn elements_and_rows_are_those_of_the_owners() {
    everywhere(|| {
        let a = gallery::poisson2d::<f64>(5)?;
        let whole = a.to_rows()?;
        let x: Vec<f64> = (0..25).map(|i| f64::from(i) * 1.5).collect();
        let own = Vector::from_slice(&x).local()?;
        let runtime = Runtime::current();
        let needed = needed(25, runtime.rank());

        let ghosts = Ghosts::new(&runtime, own.partition(), needed.clone())?;
        let expected: Vec<f64> = needed.iter().map(|&i| x[i as usize]).collect();
        assert_eq!(ghosts.indices(), needed);
        assert_eq!(ghosts.fetch(&own)?, expected);
        assert_eq!(ghosts.numbers(&needed[1..3])?, [1, 2]);
        assert_eq!(ghosts.number(needed[4]), Some(4));

        let ghosts = Ghosts::new(&runtime, a.row_partition()?, needed.clone())?;
        let mut expected = LocalRows::with_capacity(0, 0);
        for row in needed {
            let entries = whole.pos[row as usize] as usize..whole.pos[row as usize + 1] as usize;
            entries.for_each(|k| expected.push(whole.crd[k], whole.vals[k]));
            expected.end_row();
        }
        assert_eq!(ghosts.fetch_rows(a.local_rows()?.1.as_rows())?, expected);

        // A product by hand, of local numbers.
        let ghosts = a.ghosts_of_columns(own.partition())?;
        let columns = ghosts.fetch(&own)?;
        let (_, rows) = a.local_rows()?;
        for (k, number) in ghosts.numbers(&rows.crd)?.into_iter().enumerate() {
            assert_eq!(columns[number as usize], x[rows.crd[k] as usize]);
        }
        Ok(())
    });
}

#[test]
fn a_wrong_index_on_one_rank_is_an_error_on_all() {
    let errors = run_ranks(2, &small(), |runtime| {
        let partition = runtime.partition_at(&[0, 4, 8]).unwrap();
        let needed = if runtime.rank() == 0 {
            vec![1, 8]
        } else {
            vec![1]
        };
        Ghosts::new(runtime, partition, needed)
            .unwrap_err()
            .to_string()
    });
    let errors = errors.unwrap();
    assert_eq!(errors[0], "exchange: expected indices below 8, found 8");
    assert!(errors[1].contains(&errors[0]), "{}", errors[1]);
    let unordered = Ghosts::new(&Runtime::current(), Partition::Replicated, vec![2, 2]);
    let error = unordered.unwrap_err().to_string();
    assert_eq!(
        error,
        "exchange: expected indices that ascend strictly, found 2 after 2"
    );
}

/// A rank that has no rows to send tells so in as many messages as rows take, and one that fails
/// takes as many: what comes next is another message.
#[test]
fn rows_that_a_rank_fails_to_send_leave_no_messages() {
    let found = run_ranks(3, &small(), |runtime| {
        let relay = Exchange::relay(runtime.rank(), &[0, 2, 3, 3])?;
        let received = match runtime.rank() {
            0 => Err(Error::argument("rows", "memory", "none")),
            _ => LocalRows::<f64>::receive(runtime, &relay),
        };
        let cause = received.expect_err("the first rank has failed");
        LocalRows::<f64>::send_failure(runtime, &relay, &cause);
        // Empty rows are as many messages as others.
        let mut rows = match runtime.rank() {
            0 => LocalRows::with_capacity(2, 0),
            _ => LocalRows::<f64>::receive(runtime, &relay)?,
        };
        while rows.pos.len() <= [2, 3, 3][runtime.rank()] {
            rows.end_row();
        }
        let all = rows.as_rows();
        all.send(runtime, &relay, |row| all.entries(row))?;
        let next = runtime.all_gather(&[runtime.rank() as u64])?.concat();
        Ok::<_, Error>((cause.to_string(), rows.pos.len(), next))
    });
    let found = found.unwrap().into_iter().map(Result::unwrap);
    for (rank, (cause, len, next)) in found.enumerate() {
        assert!(cause.contains("expected memory, found none"), "{cause}");
        assert_eq!((len, next), ([3, 4, 4][rank], vec![0, 1, 2]));
    }
}

/// A triangular solve takes new values whatever ranks hold their rows.
#[test]
fn triangles_take_values_of_rows_that_are_spread_otherwise() {
    let expected = everywhere(|| {
        let n = 40;
        let mut triplets = Triplets::new(n, n)?;
        for row in 0..n {
            // The first rows have most of the entries.
            for column in (row / 4 * 3..row).chain([row]) {
                triplets.push(row, column, 1.0 + ((row * 7 + column) % 5) as f64)?;
            }
        }
        let a = Csr::from_triplets(&triplets)?;
        let mut solve = TriangularSolve::new(&a, Triangle::Lower, Diagonal::Stored)?;
        let b = Vector::<f64>::linspace(1.0, 2.0, n);
        solve.update(&a.balance()?.scale(2.0))?;
        let x = solve.solve(&b)?.to_vec()?;
        let of_other = solve.update(&gallery::poisson1d(n)?).is_err();
        let of_fewer = solve.update(&gallery::poisson1d(n - 1)?).is_err();
        assert!(of_other && of_fewer);
        Ok(x)
    });
    assert!(expected.iter().all(|x| x.is_finite()));
}

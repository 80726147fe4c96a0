//! Programs on the emulated device: the bits are those of the host, and only what somebody reads is
//! copied.

use sparsefuse_kernels::{DType, Element};
use sparsefuse_runtime::{
    Config, Counters, DeviceKind, Error, Runtime, Shape, StoreHandle, TaskSpace,
};
use sparsefuse_testing::bodies::{axpy, dot, ratio, scale, spmv};
use sparsefuse_testing::{bits, device_toolchain};
use std::path::Path;
use std::sync::Arc;

/// Runs a program without a device, and with all tasks on the emulated one, and looks at what that
/// has done; where there is no C compiler it says so.
fn check<R: PartialEq + std::fmt::Debug>(
    program: impl Fn(&Runtime) -> Result<R, Error>,
    look: impl Fn(Counters),
) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(toolchain) = device_toolchain(folder) else {
        return;
    };
    for tile_len in [4, 1024] {
        let runtime = |(device, device_threshold)| {
            let config = Config {
                tile_len,
                device,
                device_threshold,
                native: Some(Arc::clone(&toolchain)),
                ..Config::default()
            };
            Runtime::new(config).expect("an emulated device needs a C compiler alone")
        };
        let host = runtime((DeviceKind::Host, 0));
        let expected = program(&host);
        assert!(expected.is_ok() && host.counters().device_tasks == 0);
        // All tasks there; the larger ones, so that memory goes back and forth; as by default.
        for threshold in [0, 20_000, Config::default().device_threshold] {
            let device = runtime((DeviceKind::Emulated, threshold));
            assert!(
                program(&device) == expected,
                "tiles of {tile_len}, tasks from {threshold} bytes on"
            );
            if threshold == 0 {
                look(device.counters());
            }
        }
    }
}

/// All tasks have run on the device.
fn are_all_there(counters: Counters) {
    assert!(counters.device_tasks > 0);
    assert_eq!(counters.device_tasks, counters.fused_tasks, "{counters:?}");
}

fn vector(runtime: &Runtime, n: usize, seed: f64) -> Result<StoreHandle, Error> {
    let elements = (0..n).map(|i| ((i as f64 + 1.0) * seed).sin()).collect();
    runtime.store_from_vec(Shape::new(&[n]), elements)
}

/// `a x + y`.
fn sum(a: f64, x: &StoreHandle, y: &StoreHandle) -> Result<StoreHandle, Error> {
    let out = x.runtime().new_store(x.shape(), DType::F64);
    let args = [x.into(), y.into(), (&out).into()];
    x.runtime().submit(axpy(), &args, &[a.to_value()])?;
    Ok(out)
}

fn scalar(runtime: &Runtime) -> StoreHandle {
    runtime.new_store(Shape::SCALAR, DType::F64)
}

fn product(x: &StoreHandle, y: &StoreHandle) -> Result<StoreHandle, Error> {
    let out = scalar(x.runtime());
    x.runtime()
        .submit(dot(), &[x.into(), y.into(), (&out).into()], &[])?;
    Ok(out)
}

#[test]
fn loops_and_sums_have_the_bits_of_the_host() {
    for n in [1, 3, 1000, 5000] {
        let program = |runtime: &Runtime| {
            let (x, y) = (vector(runtime, n, 0.7)?, vector(runtime, n, 1.3)?);
            let z = sum(2.5, &x, &y)?;
            let s = product(&z, &x)?;
            let s: f64 = runtime.read_scalar(&s)?;
            Ok((s.to_bits(), bits(&runtime.read::<f64>(&z, None)?)))
        };
        check(program, are_all_there);
    }
}

#[test]
fn what_stays_on_the_device_is_not_copied() {
    let program = |runtime: &Runtime| {
        let mut x = vector(runtime, 1000, 0.7)?;
        let y = vector(runtime, 1000, 1.3)?;
        for _ in 0..20 {
            x = sum(0.5, &x, &y)?;
            let s = product(&x, &y)?;
            let t = product(&x, &x)?;
            let ratio_of = scalar(runtime);
            runtime.submit(
                ratio(),
                &[(&s).into(), (&t).into(), (&ratio_of).into()],
                &[],
            )?;
            let scaled = runtime.new_store(x.shape(), DType::F64);
            runtime.submit(
                scale(),
                &[(&ratio_of).into(), (&x).into(), (&scaled).into()],
                &[],
            )?;
            x = scaled;
        }
        Ok(bits(&runtime.read::<f64>(&x, None)?))
    };
    check(program, |counters| {
        // Both vectors go there, one comes back; memory is of the sizes of the pool.
        assert!(counters.uploaded < 3 * 10_240, "{counters:?}");
        assert!(counters.downloaded < 2 * 10_240, "{counters:?}");
    });
}

#[test]
fn many_sums_of_one_pass_have_the_bits_of_the_host() {
    for n in [30, 1000, 4099] {
        let program = |runtime: &Runtime| {
            let ranges = (0..=n as u64).map(|row| 2 * row).collect();
            let columns = (0..n as u32).flat_map(|row| [row, (row * 7 + 1) % n as u32]);
            let values: Vec<f64> = (0..2 * n).map(|k| (k as f64).cos()).collect();
            let entries = Shape::new(&[2 * n]);
            let ranges = runtime.store_from_vec(Shape::new(&[n + 1]), ranges)?;
            let columns = runtime.store_from_vec(entries, columns.collect())?;
            let values = runtime.store_from_vec(entries, values)?;
            let x = vector(runtime, n, 0.7)?;
            let y = runtime.new_store(x.shape(), DType::F64);
            let args = [&y, &ranges, &columns, &values, &x].map(Into::into);
            runtime.submit(spmv(), &args, &[])?;
            let sums: Result<Vec<_>, Error> = (1..12)
                .map(|k| product(&vector(runtime, n, 0.1 * f64::from(k))?, &y))
                .collect();
            let sums = sums?
                .into_iter()
                .map(|sum| runtime.read_scalar::<f64>(&sum));
            let sums: Result<Vec<f64>, Error> = sums.collect();
            Ok((bits(&sums?), bits(&runtime.read::<f64>(&y, None)?)))
        };
        check(program, are_all_there);
    }
}

/// Entries of a row: columns and values.
type Row = Vec<(usize, f64)>;

/// Powers of a matrix times a vector, and sums of them.
fn check_products(n: usize, of_row: impl Fn(usize) -> Row) {
    let program = |runtime: &Runtime| {
        let (mut ranges, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
        for row in 0..n {
            for (column, value) in of_row(row) {
                columns.push(column as u32);
                values.push(value);
            }
            ranges.push(columns.len() as u64);
        }
        let entries = Shape::new(&[values.len()]);
        let ranges = runtime.store_from_vec(Shape::new(&[n + 1]), ranges)?;
        let columns = runtime.store_from_vec(entries, columns)?;
        let mut values = runtime.store_from_vec(entries, values)?;
        let mut x = vector(runtime, n, 0.7)?;
        let mut sums = Vec::new();
        for round in 0..4 {
            let y = runtime.new_store(x.shape(), DType::F64);
            let args = [&y, &ranges, &columns, &values, &x].map(Into::into);
            runtime.submit(spmv(), &args, &[])?;
            sums.push(runtime.read_scalar::<f64>(&product(&x, &y)?)?.to_bits());
            x = y;
            // Other entries of the same structure.
            if round == 1 {
                values = sum(0.5, &values, &values)?;
            }
        }
        Ok((sums, bits(&runtime.read::<f64>(&x, None)?)))
    };
    check(program, are_all_there);
}

#[test]
fn products_of_matrices_have_the_bits_of_the_host() {
    // Rows of any length, and columns in any order.
    check_products(700, |row| {
        let n_entries = if row % 90 == 11 {
            200
        } else {
            (row * 7 + 3) % 6
        };
        let entry = |k: usize| ((row + k * k * 31) % 700, ((row * 3 + k) as f64).cos());
        (0..n_entries).map(entry).collect()
    });
    // The same values in each row but the first and the last; others; none in some rows.
    let line = |n: usize, value: fn(usize, usize) -> f64| {
        move |row: usize| -> Row {
            let near = [row.wrapping_sub(9), row.wrapping_sub(1), row, row + 1];
            let inside = near
                .into_iter()
                .enumerate()
                .filter(move |&(_, column)| column < n);
            inside.map(|(k, column)| (column, value(row, k))).collect()
        }
    };
    check_products(1000, line(1000, |_, k| [-0.3, 0.1, 1.0, -0.7][k]));
    check_products(1000, line(1000, |row, k| ((row * 4 + k) as f64).sin()));
    check_products(1024, |row| match row % 300 < 3 {
        true => Vec::new(),
        false => line(1024, |_, k| 0.3 * k as f64)(row),
    });
    // Rows equally long, at no common distances.
    check_products(500, |row| {
        let mut columns: Vec<usize> = (0..5).map(|k| (row * 37 + k * k * 71) % 500).collect();
        columns.sort_unstable();
        columns.dedup();
        let value = |column: usize| ((row + column) as f64).sin();
        columns
            .into_iter()
            .map(|column| (column, value(column)))
            .collect()
    });
}

/// The ranges and columns of a matrix with an entry in each row.
fn one_entry_a_row(runtime: &Runtime, n: usize) -> Result<[StoreHandle; 2], Error> {
    let columns: Vec<u32> = (0..n as u32).map(|row| (row * 7 + 1) % n as u32).collect();
    let ranges = (0..=n as u64).collect();
    Ok([
        runtime.store_from_vec(Shape::new(&[n + 1]), ranges)?,
        runtime.store_from_vec(Shape::new(&[n]), columns)?,
    ])
}

#[test]
fn entries_whose_memory_is_taken_over_are_read_before() {
    let n = 3000;
    let program = |runtime: &Runtime| {
        let [ranges, columns] = one_entry_a_row(runtime, n)?;
        let shape = Shape::new(&[n]);
        let mut values = vector(runtime, n, 0.3)?;
        let mut x = vector(runtime, n, 0.7)?;
        let mut sums = Vec::new();
        for _ in 0..6 {
            let y = runtime.new_store(shape, DType::F64);
            let args = [&y, &ranges, &columns, &values, &x].map(Into::into);
            runtime.submit(spmv(), &args, &[])?;
            // The old entries die in the task that reads them.
            values = sum(0.5, &values, &x)?;
            let scaled = sum(0.25, &y, &values)?;
            sums.push(
                runtime
                    .read_scalar::<f64>(&product(&scaled, &y)?)?
                    .to_bits(),
            );
            x = scaled;
        }
        Ok((sums, bits(&runtime.read::<f64>(&values, None)?)))
    };
    check(program, are_all_there);
}

#[test]
fn entries_that_a_host_task_changes_in_place_are_read_anew() {
    let n = 3000;
    let program = |runtime: &Runtime| {
        let [ranges, columns] = one_entry_a_row(runtime, n)?;
        let shape = Shape::new(&[n]);
        let (values, x) = (vector(runtime, n, 0.3)?, vector(runtime, n, 0.7)?);
        let mut products = Vec::new();
        for round in 0..3 {
            let y = runtime.new_store(shape, DType::F64);
            let args = [&y, &ranges, &columns, &values, &x].map(Into::into);
            runtime.submit(spmv(), &args, &[])?;
            products.push(bits(&runtime.read::<f64>(&y, None)?));
            // The entries lie on the host, and on the device in slices alone.
            let mut space = TaskSpace::new(runtime, "halve");
            space.task([round]).updates(&values).run(|args| {
                let mut block = args.block_mut::<f64>(0)?;
                block.row_mut(0).iter_mut().for_each(|value| *value /= 2.0);
                Ok(())
            })?;
            space.wait_all()?;
        }
        Ok(products)
    };
    check(program, are_all_there);
}

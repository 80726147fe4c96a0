//! Loops on the emulated device against the reference, to the bit.
#![expect(unsafe_code, reason = "runs kernels on memory of the tests")]

use super::{Device, DeviceLoop, Emulated, NoForm};
use crate::element::DType;
use crate::generate::{Case, Data, case, one_nan};
use crate::ir::{Inst, Kernel, ReduceOp, value_types};
use crate::launch::{Launch, Operand};
use crate::native::Toolchain;
use crate::reduce::Forest;
use crate::reference;
use std::time::Duration;

/// A device with a cache in the folder of the tests.
fn device() -> Emulated {
    let folder = std::env::temp_dir().join("sparsefuse-device-tests");
    let toolchain = Toolchain {
        limit: Duration::from_secs(300),
        ..Toolchain::new(folder)
    };
    Emulated::new(toolchain, 1 << 30)
}

/// The reductions of a kernel: argument, domain, operation, type.
fn reductions(kernel: &Kernel) -> Vec<(usize, u32, ReduceOp, DType)> {
    let mut all = Vec::new();
    for loop_ in &kernel.loops {
        let types = value_types(kernel, &loop_.body);
        for inst in &loop_.body {
            if let Inst::Reduce(op, arg, a) = *inst {
                let dtype = types[a as usize].unwrap();
                all.push((arg as usize, loop_.domain, op, dtype));
            }
        }
    }
    all
}

/// The operands with no ghosts, and with these places in place of partial results.
fn on_device(launch: &Launch<'_>, results: &mut [[u64; 2]]) -> Vec<Operand> {
    let mut results = results.iter_mut();
    let operands = launch.operands.iter().map(|operand| match *operand {
        Operand::Gather {
            own, own_len: 7, width, ..
        } => Operand::Gather {
            own,
            own_len: 7,
            ghosts: std::ptr::null(),
            width,
        },
        Operand::Reduction { .. } => Operand::Reduction {
            partials: std::ptr::from_mut(results.next().unwrap()).cast(),
        },
        other => other,
    });
    operands.collect()
}

/// The results of a run, by the reference or the device: what it has written, and what it has reduced.
type Outcome = (Data, Vec<[u64; 2]>);

fn by_reference(case: &Case) -> Outcome {
    let mut results = Vec::new();
    let data = case.run_whole(|kernel, launch| {
        // SAFETY: the generator binds every argument to memory that fits.
        unsafe { reference::run(kernel, launch) };
        for (arg, domain, op, dtype) in reductions(kernel) {
            let extent = launch.domains[domain as usize];
            let Operand::Reduction { partials } = launch.operands[arg] else {
                unreachable!("a reduction is bound to slots")
            };
            let n_tiles = extent.tiles.count(extent.len as usize);
            // SAFETY: there is a slot for each tile.
            let tiles = unsafe { std::slice::from_raw_parts_mut(partials, n_tiles) };
            let mut forest = Forest::default();
            extent.tiles.plant((op, dtype), 0, &mut tiles.to_vec(), &mut forest);
            let bits = forest.finish(op, dtype).bits;
            results.push(bits.map(|word| one_nan(dtype.real(), word)));
        }
    });
    (case.without_partials(case.with_one_nan(data)), results)
}

fn by_device(case: &Case, loops: &[DeviceLoop], device: &Emulated) -> Outcome {
    let all = reductions(&case.kernel);
    let mut results = vec![[0; 2]; case.kernel.args.len()];
    let data = case.run_whole(|_, launch| {
        let operands = on_device(launch, &mut results);
        let launch = Launch {
            operands: &operands,
            ..*launch
        };
        for device_loop in loops {
            let scratch = device.allocate(device_loop.scratch_bytes(&launch)).unwrap();
            // SAFETY: the emulated device reads and writes memory of the host, where the generator binds
            // every argument to memory that fits.
            unsafe { device_loop.run(&launch, scratch, device) }.unwrap();
            // SAFETY: it is not used any more.
            unsafe { device.free(scratch) };
        }
    });
    let places: Vec<usize> = (case.kernel.args.iter().enumerate())
        .filter(|(_, arg)| arg.kind == crate::ir::ArgKind::Reduction)
        .map(|(number, _)| number)
        .collect();
    let results = all.iter().map(|&(arg, _, _, dtype)| {
        let place = places.iter().position(|&place| place == arg).unwrap();
        let [low, high] = results[place];
        let bits = match dtype {
            DType::ComplexF32 => [low & 0xffff_ffff, low >> 32],
            _ => [low, high],
        };
        bits.map(|word| one_nan(dtype.real(), word))
    });
    (case.without_partials(case.with_one_nan(data)), results.collect())
}

/// The loops of a case, if the device has them.
fn loops(case: &Case, device: &Emulated) -> Result<Vec<DeviceLoop>, NoForm> {
    let mut loops = Err(NoForm::Refused("nothing".to_owned()));
    case.run_whole(|kernel, launch| {
        let mut results = vec![[0; 2]; kernel.args.len()];
        let operands = on_device(launch, &mut results);
        let launch = Launch {
            operands: &operands,
            ..*launch
        };
        let all = kernel.loops.iter();
        loops = all
            .map(|loop_| DeviceLoop::new(kernel, loop_, &launch, device))
            .collect();
    });
    loops
}

#[test]
fn random_kernels_equal_the_reference() {
    let device = device();
    let mut cases = Vec::new();
    let mut refused = 0;
    for seed in 0..150 {
        let case = case(seed, [1, 3, 16, 24, 128][seed as usize % 5]);
        match loops(&case, &device) {
            Ok(loops) => cases.push((seed, case, loops)),
            Err(NoForm::Refused(_)) => refused += 1,
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    let is_sum = |inst: &Inst| matches!(inst, Inst::RowSum { .. } | Inst::Gather { .. });
    let has_sums = |case: &&(u64, Case, Vec<DeviceLoop>)| {
        let mut insts = case.1.kernel.loops.iter().flat_map(|loop_| &loop_.body);
        insts.any(is_sum)
    };
    let sums = cases.iter().filter(has_sums).count();
    assert!(
        cases.len() > 100 && sums > 10,
        "{refused} kernels have no form, {sums} of the others sum rows"
    );
    for (seed, case, loops) in &cases {
        let (expected, found) = (by_reference(case), by_device(case, loops, &device));
        assert!(expected.1 == found.1, "seed {seed}: {:x?} {:x?}\n{}", expected.1, found.1, case.kernel);
        assert!(expected == found, "seed {seed}\n{}", case.kernel);
    }
    device.finish().unwrap();
}

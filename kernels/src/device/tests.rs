//! Loops on devices against the reference, to the bit, on the emulated one; `tests_on_gpu` has
//! those of a GPU.
#![expect(unsafe_code, reason = "runs kernels on memory of the tests")]

pub(super) mod programs;

use super::{Address, Device, DeviceLoop, Emulated, NoForm};
use crate::element::DType;
use crate::generate::{Case, Data, case, one_nan};
use crate::ir::{ArgKind, Inst, Kernel, ReduceOp, value_types};
use crate::launch::{Launch, Operand, Structure};
use crate::native::Toolchain;
use crate::reduce::{self, Forest};
use crate::reference;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// The emulated device, with a cache in the user's folder of temporary files; `None`, which is
/// printed, where there is no C compiler.
fn emulated() -> Option<Emulated> {
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("sparsefuse-device-tests-{user}"));
    let toolchain = Toolchain {
        limit: Duration::from_secs(300),
        ..Toolchain::new(folder)
    };
    let runs = |command: &Vec<String>| {
        let mut compiler = Command::new(&command[0]);
        compiler.arg("--version").output().is_ok()
    };
    if !toolchain.compilers.iter().any(runs) {
        println!("skipped: there is no C compiler");
        return None;
    }
    Some(Emulated::new(toolchain, 1 << 30))
}

/// The reductions of a kernel: argument, domain, operation, type.
fn reductions(kernel: &Kernel) -> Vec<(usize, u32, ReduceOp, DType)> {
    let mut all = Vec::new();
    for loop_ in &kernel.loops {
        let types = value_types(kernel, &loop_.body);
        for inst in &loop_.body {
            if let Inst::Reduce(op, arg, a) = *inst {
                let dtype = types[a as usize].expect("generated kernels are well typed");
                all.push((arg as usize, loop_.domain, op, dtype));
            }
        }
    }
    all
}

/// The results of a run, by the reference or the device: what it has written, and what it has
/// reduced.
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
            let kind = (op, dtype);
            extent
                .tiles
                .build_forest(kind, 0, &mut tiles.to_vec(), &mut forest);
            let result = reduce::result(op, dtype, forest.finish(op, dtype));
            let dtype = result.dtype().real();
            results.push(result.bits().map(|word| one_nan(dtype, word)));
        }
    });
    (case.without_partials(case.with_one_nan(data)), results)
}

/// Memory of the device that holds a copy of memory of the host.
struct Copied {
    host: *mut u8,
    bytes: usize,
    device: Address,
}

/// An address of the host in memory of the device. Operands without elements may lie anywhere.
fn moved<T>(copies: &[Copied], address: *const T) -> *mut T {
    let at = address.addr();
    let holds = |copy: &&Copied| (copy.host.addr()..=copy.host.addr() + copy.bytes).contains(&at);
    let copy = copies.iter().find(holds);
    let place = copy.map_or(0, |copy| copy.device.0 as usize + at - copy.host.addr());
    std::ptr::without_provenance_mut(place)
}

/// The operands in memory of the device, without ghosts, and with the results of reductions in the
/// words of `results`, two for each.
fn on_device(launch: &Launch<'_>, copies: &[Copied], results: Address) -> Vec<Operand> {
    let mut result = results.0 as usize;
    let operands = launch.operands.iter().map(|operand| match *operand {
        Operand::Array { data, layout } => Operand::Array {
            data: moved(copies, data),
            layout,
        },
        Operand::Scalar { data } => Operand::Scalar {
            data: moved(copies, data),
        },
        Operand::Gather {
            own,
            own_len,
            ghosts,
            width,
        } => Operand::Gather {
            own: moved(copies, own),
            own_len,
            ghosts: if own_len == 7 {
                std::ptr::null()
            } else {
                ghosts
            },
            width,
        },
        Operand::Entries { data } => Operand::Entries {
            data: moved(copies, data),
        },
        Operand::Structure(structure) => Operand::Structure(Structure {
            pos: moved(copies, structure.pos),
            crd: moved(copies, structure.crd),
            ..structure
        }),
        Operand::DenseRows {
            data,
            layout,
            columns,
            column_stride,
        } => Operand::DenseRows {
            data: moved(copies, data),
            layout,
            columns,
            column_stride,
        },
        Operand::Reduction { .. } => {
            result += 16;
            Operand::Reduction {
                partials: std::ptr::without_provenance_mut(result - 16),
            }
        }
        Operand::Packed(_) | Operand::Sliced(_) => unreachable!("generated operands are plain"),
    });
    operands.collect()
}

fn by_device(case: &Case, loops: &[DeviceLoop], device: &dyn Device) -> Outcome {
    let kernel = &case.kernel;
    let mut words = vec![[0u64; 2]; kernel.args.len()];
    let words_bytes = size_of_val(&words[..]);
    let data = case.run_in_memory(|_, launch, memory| {
        let results = device.allocate(words_bytes).unwrap();
        // SAFETY: both have as many bytes.
        unsafe { device.upload(words.as_ptr().cast(), results, words_bytes) }.unwrap();
        let copy = |&(host, bytes): &(*mut u8, usize)| {
            let copy = device.allocate(bytes.max(1)).unwrap();
            // SAFETY: as above.
            unsafe { device.upload(host, copy, bytes) }.unwrap();
            Copied {
                host,
                bytes,
                device: copy,
            }
        };
        let copies: Vec<Copied> = memory.iter().map(copy).collect();
        let operands = on_device(launch, &copies, results);
        let launch = Launch {
            operands: &operands,
            ..*launch
        };
        for device_loop in loops {
            let scratch = device.allocate(device_loop.scratch_bytes(&launch)).unwrap();
            // SAFETY: the generator binds every argument to memory that fits, of which the device
            // has copies.
            unsafe { device_loop.run(&launch, scratch, device) }.unwrap();
            // SAFETY: it is not used any more.
            unsafe { device.free(scratch) };
        }
        for copy in copies {
            // SAFETY: both have as many bytes, and the copy is not used any more.
            unsafe {
                device.download(copy.device, copy.host, copy.bytes).unwrap();
                device.free(copy.device);
            }
        }
        // SAFETY: as above.
        unsafe {
            let to = words.as_mut_ptr().cast();
            device.download(results, to, words_bytes).unwrap();
            device.free(results);
        }
    });
    let is_reduction = |(_, arg): &(usize, &crate::ir::Arg)| arg.kind == ArgKind::Reduction;
    let places = kernel.args.iter().enumerate().filter(is_reduction);
    let places: Vec<usize> = places.map(|(number, _)| number).collect();
    let results = reductions(kernel);
    let results = results.iter().map(|&(arg, _, op, dtype)| {
        let dtype = op.output(dtype).expect("generated kernels are well typed");
        let place = places.iter().position(|&place| place == arg).unwrap();
        let [low, high] = words[place];
        let bits = match dtype {
            DType::ComplexF32 => [low & 0xffff_ffff, low >> 32],
            _ => [low, high],
        };
        bits.map(|word| one_nan(dtype.real(), word))
    });
    let data = case.without_partials(case.with_one_nan(data));
    (data, results.collect())
}

/// The loops of a case, if the device has them.
pub(super) fn loops(case: &Case, device: &dyn Device) -> Result<Vec<DeviceLoop>, NoForm> {
    let mut loops = Err(NoForm::Refused("nothing".to_owned()));
    case.run_whole(|kernel, launch| {
        let operands = on_device(launch, &[], Address(0));
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

/// Compares random kernels on a device with the reference.
pub(super) fn check(device: &dyn Device, seeds: u64) {
    let (mut cases, mut refused) = (Vec::new(), BTreeMap::<String, u64>::new());
    for seed in 0..seeds {
        let case = case(seed, [1, 3, 16, 24, 128][seed as usize % 5]);
        match loops(&case, device) {
            Ok(loops) => cases.push((seed, case, loops)),
            Err(NoForm::Refused(what)) => *refused.entry(what).or_default() += 1,
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    let sums_rows = |inst: &Inst| matches!(inst, Inst::RowSum { .. } | Inst::Gather { .. });
    let has_sums = |case: &&(u64, Case, Vec<DeviceLoop>)| {
        let mut insts = case.1.kernel.loops.iter().flat_map(|loop_| &loop_.body);
        insts.any(sums_rows)
    };
    let sums = cases.iter().filter(has_sums).count() as u64;
    assert!(
        refused.values().sum::<u64>() < seeds / 6 && sums > seeds / 20,
        "of {seeds} kernels these have no form: {refused:?}, {sums} of the others sum rows"
    );
    for (seed, case, loops) in &cases {
        let (expected, found) = (by_reference(case), by_device(case, loops, device));
        assert!(expected == found, "seed {seed}\n{}", case.kernel);
    }
    device.finish().unwrap();
}

#[test]
fn random_kernels_equal_the_reference() {
    if let Some(device) = emulated() {
        check(&device, 150);
    }
}

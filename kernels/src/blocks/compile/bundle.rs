//! Which updates of one target become one step, and which sums of products.
//!
//! `u - h_0 q_0 - h_1 q_1 ...` is lowered to an op for each product, each of which reads what the
//! last one has left; inner products with one vector are an op each. Where a loop has several of
//! them, one op at the place of the last takes them all (`streams.rs`), so that several arrays are
//! read side by side. A value that the bundle reads lives until then; what is read in place costs
//! nothing meanwhile, so products of anything else stay as they are.

use super::lower::{Lowered, Op, Operand, Terms};
use crate::element::DType;

/// From how many products with one value on they are bundled, though it is computed by the loop.
const SEVERAL: usize = 4;

/// Bundles the ops of a loop; the values and what they are remain.
pub(crate) fn bundle(mut lowered: Lowered) -> Lowered {
    let n_reads = count_reads(&lowered);
    let updates = chains(&lowered, &n_reads);
    let products = sums(&lowered, &n_reads);
    if updates.is_empty() && products.is_empty() {
        return lowered;
    }
    let mut is_bundled = vec![false; lowered.ops.len()];
    for chain in &updates {
        let (&last, others) = chain.split_last().expect("a chain has links");
        others.iter().for_each(|&at| is_bundled[at] = true);
        let Op::AddProduct(_, joined, [.., target]) = lowered.ops[chain[0]] else {
            unreachable!("a chain consists of updates")
        };
        let first = lowered.terms.len();
        for &at in chain {
            let term = term(&lowered.ops[at]).expect("a link is an update by a number");
            lowered.terms.push((term, 0));
        }
        let terms = Terms {
            first,
            end: lowered.terms.len(),
        };
        lowered.ops[last] = Op::Update(joined, target, terms);
    }
    for (dtype, is_conjugated, ops) in &products {
        let last = *ops.iter().max().expect("a bundle has products");
        let first = lowered.terms.len();
        for &at in ops {
            is_bundled[at] = at != last;
            let Op::ReduceProduct(_, reduction, factors) = lowered.ops[at] else {
                unreachable!("only sums of products are bundled as such")
            };
            let factors = match is_conjugated {
                true => [conjugated(&lowered, factors[0]), factors[1]],
                false => factors,
            };
            lowered.terms.push((factors, reduction));
        }
        let terms = Terms {
            first,
            end: lowered.terms.len(),
        };
        lowered.ops[last] = Op::ReduceProducts(*dtype, *is_conjugated, terms);
    }
    without(lowered, &is_bundled)
}

/// How often each value is read.
fn count_reads(lowered: &Lowered) -> Vec<usize> {
    let mut n_reads = vec![0; lowered.values.len()];
    for op in &lowered.ops {
        lowered.reads(op).for_each(|value| n_reads[value] += 1);
    }
    n_reads
}

/// The array and the number of an update by a multiple of an array.
fn term(op: &Op) -> Option<[Operand; 2]> {
    match *op {
        Op::AddProduct(
            _,
            _,
            [
                a @ Operand::Value(_),
                b @ Operand::Uniform(_),
                Operand::Value(_),
            ],
        ) => Some([a, b]),
        Op::AddProduct(
            _,
            _,
            [
                b @ Operand::Uniform(_),
                a @ Operand::Value(_),
                Operand::Value(_),
            ],
        ) => Some([a, b]),
        _ => None,
    }
}

/// Updates each of which alone reads the result of the one before, two or more, as positions.
fn chains(lowered: &Lowered, n_reads: &[usize]) -> Vec<Vec<usize>> {
    let mut chains: Vec<Vec<usize>> = Vec::new();
    // The chain whose last link defines a value.
    let mut of_value: Vec<Option<usize>> = vec![None; lowered.values.len()];
    for (at, op) in lowered.ops.iter().enumerate() {
        let (Op::AddProduct(_, joined, [.., Operand::Value(target)]), Some(_)) = (*op, term(op))
        else {
            continue;
        };
        let goes_on = |&chain: &usize| {
            let last = chains[chain].last().map(|&last| lowered.ops[last]);
            matches!(last, Some(Op::AddProduct(_, of, _)) if of == joined)
        };
        let chain = of_value[target].filter(|_| n_reads[target] == 1);
        let chain = match chain.filter(goes_on) {
            Some(chain) => {
                chains[chain].push(at);
                chain
            }
            None => {
                chains.push(vec![at]);
                chains.len() - 1
            }
        };
        let out = lowered.outs[at].expect("an update defines a value");
        of_value[out] = Some(chain);
    }
    chains.retain(|chain| chain.len() > 1);
    chains
}

/// The sums of products to bundle, by type and by whether their first factors are conjugates:
/// positions, those with a common array side by side.
fn sums(lowered: &Lowered, n_reads: &[usize]) -> Vec<(DType, bool, Vec<usize>)> {
    let mut kinds: Vec<(DType, bool, Vec<usize>)> = Vec::new();
    for (at, op) in lowered.ops.iter().enumerate() {
        let Op::ReduceProduct(dtype, _, factors) = *op else {
            continue;
        };
        let conjugated = conjugated(lowered, factors[0]);
        let is_conjugated = conjugated != factors[0];
        let may_wait = |operand: Operand| match operand {
            Operand::Value(value) => {
                let is_load = matches!(lowered.ops[lowered.values[value].defined], Op::Load(..));
                is_load || n_reads[value] >= SEVERAL
            }
            Operand::None | Operand::Uniform(_) => false,
        };
        if !(may_wait(conjugated) && may_wait(factors[1])) {
            continue;
        }
        let kind = kinds
            .iter_mut()
            .find(|kind| (kind.0, kind.1) == (dtype, is_conjugated));
        match kind {
            Some((.., ops)) => ops.push(at),
            None => kinds.push((dtype, is_conjugated, vec![at])),
        }
    }
    kinds.retain(|(.., ops)| ops.len() > 1);
    for (.., ops) in &mut kinds {
        // The factor that fewer products share; those with the same one come together.
        let own = |&at: &usize| match lowered.ops[at] {
            Op::ReduceProduct(_, _, factors) => {
                let key = |operand: Operand| match operand {
                    Operand::Value(value) => (n_reads[value], operand),
                    Operand::None | Operand::Uniform(_) => (0, operand),
                };
                factors.map(key).into_iter().min()
            }
            _ => None,
        };
        ops.sort_by_key(own);
    }
    kinds
}

/// What a value is the conjugate of, or the value itself.
fn conjugated(lowered: &Lowered, operand: Operand) -> Operand {
    match operand {
        Operand::Value(value) => lowered.conjugates.get(&value).copied().unwrap_or(operand),
        Operand::None | Operand::Uniform(_) => operand,
    }
}

/// The loop without some of its ops, and with the lives of its values counted anew.
fn without(mut lowered: Lowered, is_bundled: &[bool]) -> Lowered {
    let mut number = 0;
    let mut keep = |_: &mut Op| {
        number += 1;
        !is_bundled[number - 1]
    };
    lowered.ops.retain_mut(|op| keep(op));
    let mut outs = is_bundled.iter();
    lowered.outs.retain(|_| outs.next() == Some(&false));
    lowered.count_lives();
    lowered
}

#[cfg(test)]
mod tests {
    use crate::blocks::compile::{Step, compile};
    use crate::blocks::tests::check_random_kernels;
    use crate::generate::case;
    use crate::text::parse;

    /// The numbers of terms of updates and of sums of products, and of steps for one product.
    fn terms(body: &str) -> (Vec<usize>, Vec<usize>, usize) {
        let text = format!(
            "kernel(a0: array f64 @0, a1: array f64 @1, a2: array f64 @2, a3: array f64 @3, \
             a4: reduction f64 @4, a5: reduction f64 @5, a6: reduction f64 @6; p0: f64) {{\n\
             loop d0 {{\n%0 = param p0\n%1 = load a1\n%2 = load a2\n%3 = load a3\n{body}\n}}\n}}\n"
        );
        let kernel = parse(&text).unwrap();
        let program = compile(&kernel, &kernel.loops[0]);
        let (mut updates, mut sums, mut single) = (Vec::new(), Vec::new(), 0);
        for step in &program.steps {
            match step {
                Step::Update { terms, .. } => updates.push(terms.end - terms.first),
                Step::ReduceProducts { terms, .. } => sums.push(terms.end - terms.first),
                Step::ReduceProduct { .. } => single += 1,
                _ => {}
            }
        }
        (updates, sums, single)
    }

    #[test]
    fn updates_of_one_target_are_one_step() {
        let body = "%4 = mul %1 %0\n%5 = sub %3 %4\n%6 = mul %0 %2\n%7 = sub %5 %6\nstore a0 %7";
        assert_eq!(terms(body), (vec![2], vec![], 0));
        // A value between them that is read elsewhere, and another way to join.
        let stored = "%4 = mul %1 %0\n%5 = sub %3 %4\n%6 = mul %0 %2\n%7 = sub %5 %6\n\
                      %8 = mul %7 %5\nstore a0 %8";
        assert_eq!(terms(stored), (vec![], vec![], 0));
        let mixed = "%4 = mul %1 %0\n%5 = sub %3 %4\n%6 = mul %0 %2\n%7 = add %5 %6\nstore a0 %7";
        assert_eq!(terms(mixed), (vec![], vec![], 0));
    }

    #[test]
    fn sums_of_products_of_arrays_are_one_step() {
        let body = "%4 = mul %1 %2\nreduce sum a4 %4\n%6 = mul %2 %3\nreduce sum a5 %6\n\
                    %8 = mul %3 %3\nreduce sum a6 %8";
        assert_eq!(terms(body), (vec![], vec![3], 0));
        // A factor that the loop computes would have to be kept.
        let computed = "%4 = add %1 %2\n%5 = mul %4 %2\nreduce sum a4 %5\n\
                        %7 = mul %2 %3\nreduce sum a5 %7\n%9 = mul %3 %3\nreduce sum a6 %9";
        assert_eq!(terms(computed), (vec![], vec![2], 1));
    }

    #[test]
    fn bundles_of_random_kernels_equal_the_reference() {
        let is_bundled = |seed: &u64| {
            let case = case(*seed, 24);
            let loops = case.kernel.loops.iter();
            let programs = loops.map(|loop_| compile(&case.kernel, loop_));
            programs
                .flat_map(|program| program.steps)
                .any(|step| matches!(step, Step::Update { .. } | Step::ReduceProducts { .. }))
        };
        let seeds: Vec<u64> = (50_000..54_000).filter(is_bundled).collect();
        assert!(
            seeds.len() > 300,
            "only {} kernels had bundles",
            seeds.len()
        );
        check_random_kernels(&seeds, &[16, 24, 1024], &[0, 7, 48]);
    }
}

//! The verifier: whether a kernel keeps the invariants that [`crate::ir`] states.
//!
//! In goes a kernel, out comes nothing, or the first instruction that breaks an invariant with what
//! was expected there and what was found. Whoever runs a kernel relies on it having been verified;
//! the passes keep what it checks.

use crate::element::DType;
use crate::ir::{self, ArgId, ArgKind, BinaryOp, Inst, Kernel, Loop, ReduceOp, ValueId};
use std::collections::BTreeMap;

/// The instruction that breaks an invariant, and which invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("loop {loop_number}, instruction {instruction}: {kind}")]
pub struct VerifyError {
    /// The position of the loop in the kernel.
    pub loop_number: usize,
    /// The position of the instruction in the loop's body.
    pub instruction: usize,
    /// The invariant that it breaks.
    pub kind: VerifyErrorKind,
}

/// What is wrong with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyErrorKind {
    /// An operand is not the number of an earlier instruction.
    #[error("expected an operand defined before, found %{operand}")]
    NotDefined {
        /// The operand.
        operand: ValueId,
    },
    /// An operand is an instruction that writes memory.
    #[error("expected an operand with a value, found %{operand}, which only writes memory")]
    NoValue {
        /// The operand.
        operand: ValueId,
    },
    /// An operand has another type than the instruction takes.
    #[error("expected an operand of type {expected}, found %{operand} of type {found}")]
    OperandType {
        /// The operand.
        operand: ValueId,
        /// The type that the instruction takes.
        expected: DType,
        /// The type of the operand.
        found: DType,
    },
    /// An operation is not defined on the type of its operands.
    #[error("expected operands that `{op}` is defined on, found {dtype}")]
    NotDefinedOn {
        /// The name of the operation.
        op: &'static str,
        /// The type of its operands.
        dtype: DType,
    },
    /// A value that depends on the row is written to a scalar.
    #[error("expected a uniform value, found %{operand}, which depends on the row")]
    NotUniform {
        /// The value.
        operand: ValueId,
    },
    /// A parameter does not exist.
    #[error("expected one of the kernel's {count} parameters, found p{param}")]
    NoParam {
        /// The number of the parameter.
        param: u32,
        /// How many there are.
        count: usize,
    },
    /// An argument does not exist.
    #[error("expected one of the kernel's {count} arguments, found a{arg}")]
    NoArg {
        /// The number of the argument.
        arg: ArgId,
        /// How many there are.
        count: usize,
    },
    /// An argument is used in a way that its kind does not allow.
    #[error("expected an argument of kind {}, found a{arg} of kind {}", expected.name(), found.name())]
    ArgKind {
        /// The argument.
        arg: ArgId,
        /// The kind that the instruction takes.
        expected: ArgKind,
        /// The kind of the argument.
        found: ArgKind,
    },
    /// An argument has another type than the instruction takes.
    #[error("expected an argument of type {expected}, found a{arg} of type {found}")]
    ArgType {
        /// The argument.
        arg: ArgId,
        /// The type that the instruction takes.
        expected: DType,
        /// The type of the argument.
        found: DType,
    },
    /// A reduction over the row of a dense matrix that yields a position.
    #[error("expected a reduction that yields an element, found `{}`", op.name())]
    YieldsPosition {
        /// The reduction.
        op: ReduceOp,
    },
    /// A second reduction into an argument.
    #[error("expected at most one reduction into an argument, found a second into a{arg}")]
    SecondReduction {
        /// The argument.
        arg: ArgId,
    },
    /// The memory of a reduction is reached through another argument.
    #[error("expected nobody to reach the memory of the reduction a{reduction}, found a{arg}")]
    ReductionReached {
        /// The argument that is reduced into.
        reduction: ArgId,
        /// The other one.
        arg: ArgId,
    },
}

/// Checks the invariants of the IR.
///
/// # Errors
///
/// Returns the first instruction, in order, that breaks one.
pub fn verify(kernel: &Kernel) -> Result<(), VerifyError> {
    for (loop_number, loop_) in kernel.loops.iter().enumerate() {
        check_loop(kernel, loop_).map_err(|(instruction, kind)| VerifyError {
            loop_number,
            instruction,
            kind,
        })?;
    }
    check_reductions(kernel)
}

fn check_loop(kernel: &Kernel, loop_: &Loop) -> Result<(), (usize, VerifyErrorKind)> {
    for (i, inst) in loop_.body.iter().enumerate() {
        let mut earlier = Ok(());
        inst.for_each_operand(|operand| {
            if operand as usize >= i {
                earlier = Err((i, VerifyErrorKind::NotDefined { operand }));
            }
        });
        earlier?;
    }
    let body = Body {
        kernel,
        types: ir::value_types(kernel, &loop_.body),
        uniform: ir::uniform_values(&loop_.body),
    };
    for (i, inst) in loop_.body.iter().enumerate() {
        body.check(inst).map_err(|kind| (i, kind))?;
    }
    Ok(())
}

/// Reductions are alone with their memory, over all loops.
fn check_reductions(kernel: &Kernel) -> Result<(), VerifyError> {
    let instructions = || {
        kernel.loops.iter().enumerate().flat_map(|(l, loop_)| {
            let located = loop_.body.iter().enumerate();
            located.map(move |(i, inst)| (l, i, inst))
        })
    };
    let error = |loop_number, instruction, kind| VerifyError {
        loop_number,
        instruction,
        kind,
    };
    let memory_of = |arg: ArgId| kernel.args[arg as usize].memory;
    let mut reductions: BTreeMap<u32, ArgId> = BTreeMap::new();
    for (l, i, inst) in instructions() {
        if let Inst::Reduce(_, arg, _) = *inst {
            match reductions.insert(memory_of(arg), arg) {
                Some(earlier) if earlier == arg => {
                    return Err(error(l, i, VerifyErrorKind::SecondReduction { arg }));
                }
                Some(reduction) => {
                    let kind = VerifyErrorKind::ReductionReached { reduction, arg };
                    return Err(error(l, i, kind));
                }
                None => {}
            }
        }
    }
    for (l, i, inst) in instructions() {
        let mut reached = Ok(());
        inst.for_each_arg(|arg| {
            if let Some(&reduction) = reductions.get(&memory_of(arg))
                && reduction != arg
            {
                let kind = VerifyErrorKind::ReductionReached { reduction, arg };
                reached = Err(error(l, i, kind));
            }
        });
        reached?;
    }
    Ok(())
}

/// A body whose operands are all defined before use.
struct Body<'a> {
    kernel: &'a Kernel,
    types: Vec<Option<DType>>,
    uniform: Vec<bool>,
}

type Check<T = ()> = Result<T, VerifyErrorKind>;

impl Body<'_> {
    fn check(&self, inst: &Inst) -> Check {
        match *inst {
            Inst::Const(_) | Inst::Index => Ok(()),
            Inst::Param(param) => self.param(param),
            Inst::LoadScalar(arg) => self.arg(arg, ArgKind::Scalar).map(drop),
            Inst::Load(arg) => self.arg(arg, ArgKind::Array).map(drop),
            Inst::Unary(op, a) => {
                let dtype = self.value(a)?;
                defined(op.name(), dtype, op.output(dtype)).map(drop)
            }
            Inst::Binary(op, a, b) => {
                let dtype = self.value(a)?;
                defined(op.name(), dtype, op.output(dtype))?;
                self.value_of(b, dtype)
            }
            Inst::Select(condition, a, b) => {
                self.value_of(condition, DType::Bool)?;
                self.value_of(b, self.value(a)?)
            }
            Inst::Cast(_, a) => self.value(a).map(drop),
            Inst::Random { seed, index, .. } => {
                self.value_of(seed, DType::U64)?;
                self.value_of(index, DType::I64)
            }
            Inst::RowSum {
                structure,
                entries,
                x,
            } => self.row_sum(structure, entries, x),
            Inst::Gather { structure, x } => {
                self.arg(structure, ArgKind::Structure)?;
                self.arg(x, ArgKind::Gather).map(drop)
            }
            Inst::RowReduce { op, rows, x } => self.row_reduce(op, rows, x),
            Inst::Store(arg, value) => {
                let dtype = self.arg(arg, ArgKind::Array)?;
                self.value_of(value, dtype)
            }
            Inst::StoreScalar(arg, value) => {
                let dtype = self.arg(arg, ArgKind::Scalar)?;
                self.value_of(value, dtype)?;
                if self.uniform[value as usize] {
                    Ok(())
                } else {
                    Err(VerifyErrorKind::NotUniform { operand: value })
                }
            }
            Inst::Reduce(op, arg, value) => {
                let dtype = self.value(value)?;
                let output = defined(op.name(), dtype, op.output(dtype))?;
                self.arg_of(arg, ArgKind::Reduction, output)
            }
        }
    }

    fn row_sum(&self, structure: ArgId, entries: ArgId, x: ArgId) -> Check {
        self.arg(structure, ArgKind::Structure)?;
        let dtype = self.arg(entries, ArgKind::Entries)?;
        let sum = ReduceOp::Sum;
        defined(sum.name(), dtype, sum.output(dtype))?;
        self.arg_of(x, ArgKind::Gather, dtype)
    }

    fn row_reduce(&self, op: ReduceOp, rows: ArgId, x: Option<ArgId>) -> Check {
        let dtype = self.arg(rows, ArgKind::DenseRows)?;
        let output = defined(op.name(), dtype, op.output(dtype))?;
        if output != dtype || matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax) {
            return Err(VerifyErrorKind::YieldsPosition { op });
        }
        let Some(x) = x else { return Ok(()) };
        let product = BinaryOp::Mul;
        defined(product.name(), dtype, product.output(dtype))?;
        self.arg_of(x, ArgKind::Gather, dtype)
    }

    fn param(&self, param: u32) -> Check {
        let count = self.kernel.params.len();
        if (param as usize) < count {
            Ok(())
        } else {
            Err(VerifyErrorKind::NoParam { param, count })
        }
    }

    /// The type of an argument of this kind.
    fn arg(&self, arg: ArgId, expected: ArgKind) -> Check<DType> {
        let count = self.kernel.args.len();
        match self.kernel.args.get(arg as usize) {
            None => Err(VerifyErrorKind::NoArg { arg, count }),
            Some(found) if found.kind != expected => Err(VerifyErrorKind::ArgKind {
                arg,
                expected,
                found: found.kind,
            }),
            Some(found) => Ok(found.dtype),
        }
    }

    fn arg_of(&self, arg: ArgId, kind: ArgKind, expected: DType) -> Check {
        let found = self.arg(arg, kind)?;
        if found == expected {
            Ok(())
        } else {
            Err(VerifyErrorKind::ArgType {
                arg,
                expected,
                found,
            })
        }
    }

    /// The type of an operand.
    fn value(&self, operand: ValueId) -> Check<DType> {
        self.types[operand as usize].ok_or(VerifyErrorKind::NoValue { operand })
    }

    fn value_of(&self, operand: ValueId, expected: DType) -> Check {
        let found = self.value(operand)?;
        if found == expected {
            Ok(())
        } else {
            Err(VerifyErrorKind::OperandType {
                operand,
                expected,
                found,
            })
        }
    }
}

fn defined(op: &'static str, dtype: DType, output: Option<DType>) -> Check<DType> {
    output.ok_or(VerifyErrorKind::NotDefinedOn { op, dtype })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;

    const HEADER: &str = "kernel(
        a0: array f64 @0, a1: array f32 @1, a2: scalar f64 @2, a3: reduction f64 @3,
        a4: gather f64 @0, a5: entries f64 @5, a6: structure u32 @6, a7: dense_rows f64 @7,
        a8: gather f32 @8, a9: array bool @9, a10: reduction i64 @10, a11: dense_rows bool @11,
        a12: gather bool @12, a13: array f64 @3; p0: f64, p1: u64)";

    /// The message about a kernel with the arguments above and one loop with this body, or "".
    fn check(body: &str, expected: &str) {
        let kernel = parse(&format!("{HEADER} {{ loop d0 {{ {body} }} }}")).unwrap();
        let found = verify(&kernel).map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn valid_instructions_pass() {
        check("%0 = load a0 store a0 %0 reduce sum a3 %0", "");
        check("%0 = load a0 reduce argmin a10 %0", "");
        check(
            "%0 = load_scalar a2 %1 = param p0 %2 = add %0 %1 store_scalar a2 %2 store a0 %2",
            "",
        );
        check("%0 = row_sum a6 a5 a4 store a0 %0", "");
        check(
            "%0 = row_reduce max a7 %1 = row_reduce sum a7 a4 %2 = row_reduce any a11",
            "",
        );
        check(
            "%0 = index %1 = param p1 %2 = random normal %1 %0 store a0 %2",
            "",
        );
        check(
            "%0 = load a9 %1 = load a0 %2 = select %0 %1 %1 %3 = cast bool %2",
            "",
        );
    }

    #[test]
    fn operands_are_defined_and_typed() {
        let at = |i: usize, rest: &str| format!("loop 0, instruction {i}: expected {rest}");
        check("%0 = neg %0", &at(0, "an operand defined before, found %0"));
        check(
            "%0 = load a0 store a0 %7",
            &at(1, "an operand defined before, found %7"),
        );
        check(
            "%0 = load a0 store a0 %0 %2 = neg %1",
            &at(
                2,
                "an operand with a value, found %1, which only writes memory",
            ),
        );
        check(
            "%0 = load a0 %1 = load a1 %2 = add %0 %1",
            &at(2, "an operand of type f64, found %1 of type f32"),
        );
        check(
            "%0 = load a9 %1 = add %0 %0",
            &at(1, "operands that `add` is defined on, found bool"),
        );
        check(
            "%0 = load a0 %1 = select %0 %0 %0",
            &at(1, "an operand of type bool, found %0 of type f64"),
        );
        check(
            "%0 = index %1 = random bits %0 %0",
            &at(1, "an operand of type u64, found %0 of type i64"),
        );
        check(
            "%0 = load a0 store_scalar a2 %0",
            &at(1, "a uniform value, found %0, which depends on the row"),
        );
        check(
            "%0 = param p2",
            &at(0, "one of the kernel's 2 parameters, found p2"),
        );
    }

    #[test]
    fn arguments_are_used_as_their_kind_says() {
        let at = |i: usize, rest: &str| format!("loop 0, instruction {i}: expected {rest}");
        check(
            "%0 = load a99",
            &at(0, "one of the kernel's 14 arguments, found a99"),
        );
        check(
            "%0 = load a2",
            &at(0, "an argument of kind array, found a2 of kind scalar"),
        );
        check(
            "%0 = load_scalar a0",
            &at(0, "an argument of kind scalar, found a0 of kind array"),
        );
        check(
            "%0 = load a1 store a0 %0",
            &at(1, "an operand of type f64, found %0 of type f32"),
        );
        check(
            "%0 = row_sum a6 a5 a8",
            &at(0, "an argument of type f64, found a8 of type f32"),
        );
        check(
            "%0 = row_reduce argmax a7",
            &at(0, "a reduction that yields an element, found `argmax`"),
        );
        check(
            "%0 = row_reduce any a11 a12",
            &at(0, "operands that `mul` is defined on, found bool"),
        );
    }

    #[test]
    fn reductions_are_alone_with_their_memory() {
        let at = |i: usize, rest: &str| format!("loop 0, instruction {i}: expected {rest}");
        check(
            "%0 = load a0 reduce argmin a3 %0",
            &at(1, "an argument of type i64, found a3 of type f64"),
        );
        check(
            "%0 = load a0 reduce sum a3 %0 reduce sum a3 %0",
            &at(
                2,
                "at most one reduction into an argument, found a second into a3",
            ),
        );
        check(
            "%0 = load a13 reduce sum a3 %0",
            &at(
                0,
                "nobody to reach the memory of the reduction a3, found a13",
            ),
        );
        let two_loops = format!(
            "{HEADER} {{
                loop d0 {{ %0 = load a0 reduce sum a3 %0 }}
                loop d1 {{ %0 = load a0 store a13 %0 }}
            }}"
        );
        let error = verify(&parse(&two_loops).unwrap()).unwrap_err();
        assert_eq!((error.loop_number, error.instruction), (1, 1));
    }
}

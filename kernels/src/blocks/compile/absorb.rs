//! Which operations are carried out by the instruction that reads them.
//!
//! `x + alpha * p` and the sum of `x * y` are the work of most solvers. As two steps they write and
//! read a block that nobody else wants; so a multiplication of floating-point numbers whose only
//! reader is an addition, a subtraction or a sum is left out, and the reader multiplies. It rounds
//! twice, as the two instructions do: this saves passes over a block and changes no bit. For the
//! same reason the smaller of `max(x, low)` and `high`, which is `clamp`, takes the larger one
//! itself.

use crate::element::DType;
use crate::ir::{BinaryOp, Inst, ReduceOp, ValueId};

/// What a body's instructions absorb.
#[derive(Debug)]
pub(crate) struct Absorbed {
    /// For each instruction: the operation that it carries out.
    by_reader: Vec<Option<ValueId>>,
    /// For each instruction: whether its reader carries it out.
    is_absorbed: Vec<bool>,
}

impl Absorbed {
    /// For a body with the types of its values, and whether they are uniform.
    pub(crate) fn new(body: &[Inst], types: &[Option<DType>], uniform: &[bool]) -> Self {
        let mut reads = vec![0u32; body.len()];
        for inst in body {
            inst.for_each_operand(|value| reads[value as usize] += 1);
        }
        let is_left_out = |value: ValueId| !uniform[value as usize] && reads[value as usize] == 1;
        let may_be = |value: ValueId| {
            let at = value as usize;
            matches!(body[at], Inst::Binary(BinaryOp::Mul, ..))
                && types[at].is_some_and(|dtype| !dtype.is_integer() && dtype != DType::Bool)
                && is_left_out(value)
        };
        let is_max =
            |value: ValueId| matches!(body[value as usize], Inst::Binary(BinaryOp::Max, ..));
        let mut absorbed = Self {
            by_reader: vec![None; body.len()],
            is_absorbed: vec![false; body.len()],
        };
        for (reader, inst) in body.iter().enumerate() {
            let operation = match *inst {
                Inst::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                    [b, a].into_iter().find(|&operand| may_be(operand))
                }
                Inst::Reduce(ReduceOp::Sum, _, a) => Some(a).filter(|&operand| may_be(operand)),
                // Which of two equal numbers is taken depends on their order.
                Inst::Binary(BinaryOp::Min, a, _) => {
                    Some(a).filter(|&operand| is_max(operand) && is_left_out(operand))
                }
                _ => None,
            };
            if let Some(operation) = operation {
                absorbed.by_reader[reader] = Some(operation);
                absorbed.is_absorbed[operation as usize] = true;
            }
        }
        absorbed
    }

    /// Whether the instruction is left out.
    pub(crate) fn is_absorbed(&self, inst: usize) -> bool {
        self.is_absorbed[inst]
    }

    /// The operation that an instruction carries out, and its operands.
    pub(crate) fn by(&self, reader: usize, body: &[Inst]) -> Option<(ValueId, [ValueId; 2])> {
        let operation = self.by_reader[reader]?;
        match body[operation as usize] {
            Inst::Binary(_, a, b) => Some((operation, [a, b])),
            _ => unreachable!("only operations on two values are absorbed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::blocks::compile::{Step, compile};
    use crate::text::parse;

    /// The number of element loops and of reductions of a loop.
    fn steps(body: &str) -> (usize, usize) {
        let text = format!(
            "kernel(a0: scalar f64 @0, a1: array f64 @1, a2: array f64 @2, a3: array f64 @3, \
             a4: reduction f64 @4) {{\n\
             loop d0 {{\n%0 = load_scalar a0\n%1 = load a1\n%2 = load a2\n{body}\n}}\n}}\n"
        );
        let kernel = parse(&text).unwrap();
        let program = compile(&kernel, &kernel.loops[0]);
        let count = |is: fn(&Step) -> bool| program.steps.iter().filter(|step| is(step)).count();
        (
            count(|step| matches!(step, Step::Map { .. })),
            count(|step| matches!(step, Step::Reduce { .. } | Step::ReduceProduct { .. })),
        )
    }

    #[test]
    fn a_product_with_one_reader_is_no_step() {
        assert_eq!(steps("%3 = mul %0 %1\n%4 = add %2 %3\nstore a3 %4"), (1, 0));
        assert_eq!(steps("%3 = mul %0 %1\n%4 = sub %3 %2\nstore a3 %4"), (1, 0));
        assert_eq!(steps("%3 = mul %1 %2\nreduce sum a4 %3"), (0, 1));
    }

    #[test]
    fn to_clamp_is_one_step() {
        assert_eq!(steps("%3 = max %1 %0\n%4 = min %3 %0\nstore a3 %4"), (1, 0));
        assert_eq!(steps("%3 = max %1 %2\n%4 = min %3 %1\nstore a3 %4"), (1, 0));
        assert_eq!(steps("%3 = max %1 %0\n%4 = min %0 %3\nstore a3 %4"), (2, 0));
        assert_eq!(steps("%3 = min %1 %0\n%4 = max %3 %0\nstore a3 %4"), (2, 0));
        let read_twice = "%3 = max %1 %0\n%4 = min %3 %0\nstore a3 %4\nstore a1 %3";
        assert_eq!(steps(read_twice), (2, 0));
    }

    #[test]
    fn other_products_are_steps() {
        assert_eq!(steps("%3 = mul %0 %1\n%4 = add %3 %3\nstore a3 %4"), (2, 0));
        assert_eq!(
            steps("%3 = mul %0 %1\n%4 = add %2 %3\nstore a3 %4\nstore a1 %3"),
            (2, 0)
        );
        assert_eq!(steps("%3 = mul %1 %2\nreduce max a4 %3"), (1, 1));
        assert_eq!(steps("%3 = mul %1 %2\n%4 = div %3 %2\nstore a3 %4"), (2, 0));
    }
}

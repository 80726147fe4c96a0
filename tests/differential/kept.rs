//! Programs that failed once, each with its story.

use crate::check::Meaning;
use crate::generate::base;
use crate::program::Operand::{Number, Of};
use crate::program::Step::{
    self, Binary, Broadcast, Cast, Clone, Data, Drop, Fill, Index, MatVec, Matrix, Product, Read,
    Reduce, Reshape, Rounds, RowReduce, Several, Slice, Unary, Update, Values, Write,
};
use crate::program::{Flavour, Pattern, Program, Range};
use crate::run::Setup;
use crate::watchdog::{LIMIT, check_within};
use sparsefuse::kernels::DType::{ComplexF64, F32, F64, I64, U32};
use sparsefuse::kernels::{BinaryOp, ReduceOp, UnaryOp};
use sparsefuse::runtime::{Config, Executor};

/// Runs a program on one to five ranks, with and without fusion, in blocks
/// and element by element.
fn keep(tile_len: usize, steps: Vec<Step>) {
    let program = Program { tile_len, steps };
    let meaning = Meaning::of(&program);
    let ways = [false, true]
        .map(|fusion| [Executor::Blocks, Executor::Reference].map(|executor| (fusion, executor)));
    for ranks in 1..=5 {
        for (fusion, executor) in ways.into_iter().flatten() {
            let config = Config {
                fusion,
                executor,
                cut_threshold: 1,
                ..base(tile_len).config
            };
            let setup = Setup { ranks, config };
            if let Err(failure) = check_within(LIMIT, &meaning, &setup) {
                panic!("{setup:?}\n{program}\n{failure}");
            }
        }
    }
}

/// An output took over the memory of a dying input although its row was stored first.
#[test]
fn an_output_does_not_overwrite_what_its_row_reads_later() {
    keep(
        15,
        vec![
            Data {
                out: 1,
                dtype: F64,
                shape: vec![12],
                flavour: Flavour::Smooth,
                seed: 310,
            },
            Fill {
                out: 13,
                dtype: F64,
                shape: vec![12],
                number: 11,
            },
            Binary {
                out: 10,
                op: BinaryOp::Ge,
                a: Of(13),
                b: Of(1),
            },
            Drop { a: 1 },
        ],
    );
    keep(
        4,
        vec![
            Data {
                out: 0,
                dtype: ComplexF64,
                shape: vec![12],
                flavour: Flavour::Small,
                seed: 186,
            },
            Data {
                out: 1,
                dtype: U32,
                shape: vec![12],
                flavour: Flavour::Smooth,
                seed: 6,
            },
            Fill {
                out: 10,
                dtype: U32,
                shape: vec![12],
                number: 20,
            },
            Unary {
                out: 5,
                op: UnaryOp::Ceil,
                a: 1,
            },
            Unary {
                out: 1,
                op: UnaryOp::Cos,
                a: 0,
            },
        ],
    );
    keep(
        8,
        vec![
            Data {
                out: 1,
                dtype: F64,
                shape: vec![8],
                flavour: Flavour::Small,
                seed: 869,
            },
            Clone { out: 13, a: 1 },
            Fill {
                out: 3,
                dtype: F64,
                shape: vec![7],
                number: 12,
            },
            Several {
                out: 7,
                sums: 5,
                largest: 0,
                a: 13,
                b: 1,
            },
            Update {
                target: 13,
                op: BinaryOp::Max,
                other: Of(0),
            },
            Fill {
                out: 7,
                dtype: F64,
                shape: vec![7],
                number: 29,
            },
            Binary {
                out: 3,
                op: BinaryOp::Lt,
                a: Of(7),
                b: Of(3),
            },
        ],
    );
}

/// The values of a matrix are cut where its rows are; a task that overwrote them in place ran
/// elsewhere, and what it wrote was lost.
#[test]
fn a_store_is_overwritten_where_it_is() {
    keep(
        4,
        vec![
            Matrix {
                out: 3,
                dtype: F32,
                shape: [4, 4],
                pattern: Pattern::Banded,
                seed: 943,
            },
            Values { out: 13, matrix: 3 },
            Write {
                target: 13,
                source: Number(20),
            },
        ],
    );
}

/// The broadcast matrix and the vector are the same elements on ranks that have rows, and not on
/// the others: one exchange on some ranks was two on others.
#[test]
fn ranks_agree_on_what_is_fetched_once() {
    keep(
        1,
        vec![
            Index {
                out: 2,
                dtype: F32,
                shape: vec![4],
                factor: 23,
            },
            Broadcast {
                out: 7,
                a: 2,
                shape: vec![2, 4],
            },
            MatVec { out: 6, a: 7, x: 2 },
        ],
    );
}

/// The product is not read, but the place of its ghosts once divided the rows of the other loop.
#[test]
fn a_product_that_is_not_read_decides_nothing() {
    keep(
        3,
        vec![
            Data {
                out: 1,
                dtype: I64,
                shape: vec![12, 12],
                flavour: Flavour::Smooth,
                seed: 461,
            },
            Data {
                out: 2,
                dtype: I64,
                shape: vec![12],
                flavour: Flavour::Smooth,
                seed: 453,
            },
            Matrix {
                out: 3,
                dtype: I64,
                shape: [12, 12],
                pattern: Pattern::PowerLaw,
                seed: 170,
            },
            Product {
                out: 12,
                matrix: 3,
                x: 2,
            },
            Cast {
                out: 12,
                to: F64,
                a: 1,
            },
        ],
    );
}

/// Writing in place what could not be computed found no memory to write to.
#[test]
fn what_is_written_in_place_must_be_there() {
    let steps = vec![
        Data {
            out: 0,
            dtype: F64,
            shape: vec![35, 14],
            flavour: Flavour::Small,
            seed: 237,
        },
        Slice {
            out: 13,
            a: 0,
            range: Range {
                dim: 0,
                start: 2,
                end: 33,
                step: -2,
            },
        },
        Binary {
            out: 10,
            op: BinaryOp::Sub,
            a: Of(13),
            b: Of(13),
        },
        Write {
            target: 10,
            source: Of(13),
        },
    ];
    let program = Program { tile_len: 7, steps };
    let config = Config {
        memory_limit: 5000,
        ..base(7).config
    };
    let setup = Setup { ranks: 1, config };
    let outcome = check_within(LIMIT, &Meaning::of(&program), &setup);
    let seen = outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(seen[0].observations.iter().any(Result::is_err));
}

/// A product gathered what its group had written.
#[test]
fn a_group_sends_what_it_has_written() {
    keep(
        1,
        vec![
            Data {
                out: 2,
                dtype: ComplexF64,
                shape: vec![12],
                flavour: Flavour::Special,
                seed: 69,
            },
            Matrix {
                out: 3,
                dtype: ComplexF64,
                shape: [12, 12],
                pattern: Pattern::Scattered,
                seed: 899,
            },
            Update {
                target: 2,
                op: BinaryOp::Add,
                other: Number(16),
            },
            Product {
                out: 2,
                matrix: 3,
                x: 2,
            },
        ],
    );
}

/// The second of two products gathered what the first one had yet to write.
#[test]
fn a_product_of_a_product_waits_for_it() {
    let matrix = |out, seed| Matrix {
        out,
        dtype: F64,
        shape: [12, 12],
        pattern: Pattern::Scattered,
        seed,
    };
    keep(
        1,
        vec![
            Data {
                out: 1,
                dtype: F64,
                shape: vec![12],
                flavour: Flavour::Smooth,
                seed: 7,
            },
            matrix(2, 899),
            matrix(3, 900),
            Update {
                target: 1,
                op: BinaryOp::Add,
                other: Number(16),
            },
            Product {
                out: 4,
                matrix: 2,
                x: 1,
            },
            Product {
                out: 5,
                matrix: 3,
                x: 4,
            },
        ],
    );
}

/// The rows of a matrix without columns, sent to another rank, were looked for among its elements.
#[test]
fn products_with_matrices_without_columns() {
    keep(
        1,
        vec![
            Data {
                out: 0,
                dtype: ComplexF64,
                shape: vec![2, 0],
                flavour: Flavour::Smooth,
                seed: 856,
            },
            Matrix {
                out: 3,
                dtype: ComplexF64,
                shape: [2, 2],
                pattern: Pattern::Scattered,
                seed: 368,
            },
            Product {
                out: 6,
                matrix: 3,
                x: 0,
            },
            Product {
                out: 3,
                matrix: 3,
                x: 6,
            },
        ],
    );
}

/// The rows of a slice without elements were looked for before the memory of a rank.
#[test]
fn rows_without_elements_of_a_store_that_is_cut() {
    keep(
        1,
        vec![
            Data {
                out: 0,
                dtype: I64,
                shape: vec![2, 3, 2],
                flavour: Flavour::Smooth,
                seed: 290,
            },
            Slice {
                out: 1,
                a: 0,
                range: Range {
                    dim: 2,
                    start: 1,
                    end: 1,
                    step: 1,
                },
            },
            RowReduce {
                out: 3,
                op: ReduceOp::Sum,
                a: 1,
            },
        ],
    );
}

/// Rows that a loop had made for the sums of the next one were taken for all that there was of a
/// matrix which a third loop read.
#[test]
fn a_matrix_is_read_again_behind_the_sums_of_its_rows() {
    keep(
        15,
        vec![
            Data {
                out: 0,
                dtype: F64,
                shape: vec![5, 5],
                flavour: Flavour::Smooth,
                seed: 7,
            },
            Unary {
                out: 1,
                op: UnaryOp::Exp,
                a: 0,
            },
            RowReduce {
                out: 2,
                op: ReduceOp::Sum,
                a: 1,
            },
            Broadcast {
                out: 3,
                a: 2,
                shape: vec![5, 5],
            },
            Binary {
                out: 4,
                op: BinaryOp::Div,
                a: Of(1),
                b: Of(3),
            },
            Drop { a: 1 },
            Drop { a: 2 },
            Drop { a: 3 },
        ],
    );
}

/// A rank had no memory for a halo. Later tasks failed because it was not there, with a message
/// that did not name the reason. Seed 3186.
#[test]
fn a_halo_without_memory_fails_later_tasks_for_that_reason() {
    let data = |out, shape: &[usize], flavour, seed| Data {
        out,
        dtype: ComplexF64,
        shape: shape.to_vec(),
        flavour,
        seed,
    };
    let range = |dim, start, end, step| Range {
        dim,
        start,
        end,
        step,
    };
    let sums = [
        RowReduce {
            out: 2,
            op: ReduceOp::Sum,
            a: 13,
        },
        Slice {
            out: 9,
            a: 2,
            range: range(0, 1, 2, 1),
        },
        Reduce {
            out: 11,
            op: ReduceOp::Sum,
            a: 13,
        },
    ];
    let mut steps = vec![
        data(0, &[7, 2, 3, 12], Flavour::Small, 10),
        data(2, &[12, 12], Flavour::Smooth, 407),
        Reshape {
            out: 13,
            a: 2,
            shape: 15,
        },
        Unary {
            out: 0,
            op: UnaryOp::Sqrt,
            a: 2,
        },
        Rounds {
            count: 5,
            steps: sums.to_vec(),
        },
        Slice {
            out: 7,
            a: 13,
            range: range(0, 2, 2, 2),
        },
    ];
    for _ in 0..3 {
        let special = data(5, &[12, 12], Flavour::Special, 490);
        steps.extend([special, Read { a: 5 }, Read { a: 2 }]);
    }
    let program = Program { tile_len: 1, steps };
    let config = Config {
        cut_threshold: 1,
        block_len: 1,
        window: 2,
        memory_limit: 3538,
        ..base(1).config
    };
    let setup = Setup { ranks: 3, config };
    let outcome = check_within(LIMIT, &Meaning::of(&program), &setup);
    let seen = outcome.unwrap_or_else(|failure| panic!("{failure}"));
    let mut observations = seen.iter().flat_map(|seen| &seen.observations);
    assert!(observations.any(Result::is_err));
}

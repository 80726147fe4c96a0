//! The text form of kernels, for dumps, golden tests and bug reports.
//!
//! A kernel prints through [`Display`](std::fmt::Display) and [`parse()`] reads it back, the same
//! kernel to the bit:
//!
//! ```text
//! kernel(a0: scalar f64 @0, a1: array f64 @1, a2: array f64 @2 temporary; p0: f64) {
//!   loop d0 {
//!     %0 = load_scalar a0
//!     %1 = load a1
//!     %2 = mul %0 %1
//!     store a2 %2
//!   }
//! }
//! ```
//!
//! An argument states kind, element type, `@` its memory, and whether it is temporary; `d0` is the
//! number of the loop's domain. Every instruction has a number, its position in the body, which is
//! left out in front of those that define no value.
//! Parsing checks the grammar only; [`crate::verify`] checks what the text means.

mod parse;
mod print;

pub use parse::{ParseError, parse};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{DType, Value};
    use crate::generate;
    use crate::ir::{Inst, Kernel, Loop};

    fn check(kernel: &Kernel) {
        let text = kernel.to_string();
        match parse(&text) {
            Ok(again) => assert_eq!(&again, kernel, "{text}"),
            Err(error) => panic!("{error}\n{text}"),
        }
    }

    #[test]
    fn the_text_form_is_stable() {
        let text = "\
kernel(a0: scalar f64 @0, a1: array f64 @1, a2: array f64 @1 temporary; p0: f64, p1: u64) {
  loop d0 {
    %0 = load_scalar a0
    %1 = load a1
    %2 = mul %0 %1
    store a2 %2
    %4 = index
    %5 = param p1
    %6 = random uniform %5 %4
    %7 = lt %6 %1
    %8 = select %7 %6 %1
    %9 = cast cf32 %8
    %10 = abs %9
    %11 = const cf32 (-0.0,inf)
    %12 = const f64 nan(0xfff8000000000001)
    %13 = const bool true
  }
  loop d3 {
    %0 = const i64 -5
    store_scalar a0 %0
  }
}
";
        let kernel = parse(text).unwrap();
        assert_eq!(kernel.to_string(), text);
        assert_eq!(kernel.loops[1].domain, 3);
    }

    #[test]
    fn a_long_header_takes_a_line_for_each_argument() {
        let text = "\
kernel(
  a0: gather f64 @0,
  a1: entries f64 @1,
  a2: structure u32 @2,
  a3: dense_rows f64 @3,
  a4: reduction f64 @4;
  p0: f64,
  p1: f64
) {
  loop d0 {
    %0 = row_sum a2 a1 a0
    reduce sum a4 %0
    %2 = row_reduce max a3
    %3 = row_reduce prod a3 a0
  }
}
";
        let kernel = parse(text).unwrap();
        assert_eq!(kernel.to_string(), text);
        check(&Kernel::default());
    }

    #[test]
    fn constants_keep_their_bits() {
        let words = [
            0,
            1,
            0x7ff0_0000_0000_0000,
            0xfff0_0000_0000_0000,
            0x7ff8_0000_0000_0000,
            0xffff_ffff_ffff_ffff,
            0x8000_0000_0000_0000,
            0x3ff0_0000_0000_0001,
            0x7f80_0000,
            0xffc0_0001,
            0x8000_0000,
            0x0000_0001,
            0x7f7f_ffff,
        ];
        let mut body = Vec::new();
        for dtype in DType::ALL {
            for low in words {
                for high in words {
                    body.push(Inst::Const(Value::from_bits(dtype, [low, high])));
                }
            }
        }
        check(&Kernel {
            loops: vec![Loop { domain: 0, body }],
            ..Kernel::default()
        });
    }

    #[test]
    fn random_kernels_survive_printing_and_parsing() {
        for seed in 0..300 {
            check(&generate::case(seed, 16).kernel);
        }
    }

    #[test]
    fn errors_name_line_expected_and_found() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            message("kernel(a0: array f64 @0; ) {\n  loop d0 {\n    %0 = lod a0\n  }\n}"),
            "line 3: expected an operation, found `lod`"
        );
        assert_eq!(
            message("kernel(a0: array f46 @0; ) {}"),
            "line 1: expected an element type, found `f46`"
        );
        assert_eq!(
            message("kernel(;) {\n  loop d0 {\n%1 = index }}"),
            "line 3: expected `%0`, found `%1`"
        );
        assert_eq!(
            message("kernel(;) {\n  loop d0 {\n"),
            "line 2: expected an instruction or `}`, found the end of the text"
        );
        assert_eq!(
            message("kernel(;) { loop d0 { %0 = const i32 3000000000 } }"),
            "line 1: expected an element of type i32, found `3000000000`"
        );
        assert_eq!(
            message("kernel(;) { } loop"),
            "line 1: expected the end of the text, found `loop`"
        );
        assert_eq!(
            message("kernel(a1: array f64 @0;) { }"),
            "line 1: expected `a0`, found `a1`"
        );
    }
}

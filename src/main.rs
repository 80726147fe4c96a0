//! The program `sparsefuse`: solves and describes sparse matrices from the command line.

#![forbid(unsafe_code)]

mod program;

fn main() -> std::process::ExitCode {
    program::main()
}

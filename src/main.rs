//! The program `sparsefuse`: solves and describes sparse matrices from the command line.

mod program;
mod refusal;

fn main() -> std::process::ExitCode {
    refusal::install();
    program::main()
}

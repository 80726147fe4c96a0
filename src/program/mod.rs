//! The command line program: from arguments to an exit status.
//!
//! Nothing here computes: [`solve`], [`plan`], [`eigs`] and [`info`] call the library as any
//! program would. Results go to standard output, progress and complaints to standard error. A
//! complaint is one line that says what was expected and what was found; it ends the program with
//! status 2.

mod arguments;
mod failure;
mod help;
mod together;

mod attempts;
mod choice;
mod nearest;
mod pc;
mod rhs;

mod header;
mod source;

mod columns;
mod hash;
mod memory;
mod output;
mod plot;
mod progress;
mod ranks;
mod report;
mod solve;

mod model;
mod plan;

mod eigs;

mod facts;
mod info;
mod spy;

use arguments::{Arguments, Command};
use clap::Parser;
use clap::error::ErrorKind;
use failure::Failure;
use sparsefuse::runtime::Config;
use std::process::ExitCode;
use together::Together;

/// How a run ended that was no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// All that was asked for was done.
    Done,
    /// The solver ran, but did not converge.
    NotConverged,
}

/// The exit status of bad input and usage.
const BAD_INPUT: u8 = 2;

/// Runs the program.
pub(crate) fn main() -> ExitCode {
    let together = match Together::join() {
        Ok(together) => together,
        Err(error) => return complain(&error.to_string()),
    };
    let parsed = Arguments::try_parse();
    let understood = parsed.as_ref().map(drop);
    let understood = understood.map_err(|error| Failure::Agreed(sentence(error)));
    let understood = together.agree(together.processes.number(), understood);
    let status = match (&parsed, understood) {
        (Err(error), _) => return usage(error, together.is_first()),
        (Ok(_), Err(failure)) => Err(failure),
        (Ok(arguments), Ok(())) => {
            name_unknown_variables(&together);
            run(arguments, &together)
        }
    };
    match status {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::NotConverged) => ExitCode::FAILURE,
        Err(failure) if together.is_first() => complain(&failure.to_string()),
        Err(_) => ExitCode::from(BAD_INPUT),
    }
}

/// Names settings of the environment that do not exist, and those that they may have meant; the
/// first process does so for all.
fn name_unknown_variables(together: &Together) {
    let unknown = Config::unknown_variables();
    let own = |name: &'static str| name.trim_start_matches(Config::PREFIX);
    for name in unknown.iter().filter(|_| together.is_first()) {
        let word = name.trim_start_matches(Config::PREFIX);
        let tip = match nearest::nearest(word, Config::VARIABLES.map(own)) {
            Some(meant) => format!("did you mean `{}{meant}`?", Config::PREFIX),
            None => "`sparsefuse --help` lists them".to_owned(),
        };
        output::complain(&format!(
            "sparsefuse: there is no setting `{name}`; {tip}\n"
        ));
    }
}

/// Does what the arguments say, which are the same on all processes.
fn run(arguments: &Arguments, together: &Together) -> Result<Status, Failure> {
    together.check_alike(std::env::args_os().skip(1))?;
    match &arguments.command {
        Command::Solve(arguments) => solve::run(arguments, together),
        Command::Plan(arguments) => plan::run(arguments, together),
        Command::Eigs(arguments) => eigs::run(arguments, together),
        Command::Info(arguments) => info::run(arguments, together),
    }
}

/// Shows what the argument parser has to say: help in full, an error in one line; the first of
/// several processes says it for all.
fn usage(error: &clap::Error, is_first: bool) -> ExitCode {
    let status = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(BAD_INPUT),
    };
    if !is_first {
        return status;
    }
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match output::check_printed(error.print()) {
                Ok(()) => status,
                Err(failure) => complain(&failure.to_string()),
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // It goes to standard error, whose failure cannot be reported.
            let _ = error.print();
            status
        }
        _ => complain(&sentence(error)),
    }
}

/// What the argument parser has to say, in one line.
fn sentence(error: &clap::Error) -> String {
    one_line(&error.render().to_string())
}

/// The paragraphs of a parser's error without the ones that repeat the usage.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("Usage:"));
    let lines = lines.filter(|line| !line.starts_with("For more information"));
    let mut sentence = String::new();
    for line in lines {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if !sentence.is_empty() {
            sentence.push_str(if line.starts_with("tip:") { "; " } else { " " });
        }
        sentence.push_str(line);
    }
    sentence
}

fn complain(message: &str) -> ExitCode {
    let line: Vec<&str> = message.lines().collect();
    output::complain(&format!("sparsefuse: {}\n", line.join(" ")));
    ExitCode::from(BAD_INPUT)
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn an_error_of_the_parser_becomes_one_line() {
        let text = "error: invalid value 'cgg' for '--solver <SOLVER>'\n  [possible values: cg]\n\n  \
                    tip: a similar value exists: 'cg'\n\nFor more information, try '--help'.\n";
        let expected = "invalid value 'cgg' for '--solver <SOLVER>' [possible values: cg]; \
                        tip: a similar value exists: 'cg'";
        assert_eq!(one_line(text), expected);
    }
}

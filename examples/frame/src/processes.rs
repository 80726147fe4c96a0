//! An example on the processes that run it together: the first one prints and writes.

use crate::about::About;
use crate::failure::Failure;
use crate::options::{Options, check_writable, unwritable};
use crate::report::{Field, Report};
use crate::run::{Record, Run};
use crate::{npy, picture};
use sparsefuse_runtime::{Config, Error, Processes, Runtime};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// The exit status where a check does not hold.
const WRONG: u8 = 1;
/// The exit status of bad options.
const BAD_INPUT: u8 = 2;

/// Runs an example with the arguments of this process.
pub(crate) fn main(
    about: &About,
    program: impl Fn(&Run<'_>) -> Result<(), Error> + Sync,
) -> ExitCode {
    let joined = Processes::join().and_then(|processes| Ok((processes, Config::from_env()?)));
    let (processes, config) = match joined {
        Ok(joined) => joined,
        Err(error) => return complain(about, &error.into()),
    };
    let is_first = processes.number() == 0;
    let words = std::env::args_os().skip(1);
    let done = Options::parse(about, words).and_then(|options| {
        let report = execute(&config, &processes, about, &options, program)?;
        if is_first {
            show(&report, &options)?;
        }
        Ok(report.is_right())
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(WRONG),
        Err(Failure::Options(error)) if !error.use_stderr() => {
            if is_first {
                // A reader that has seen enough is no failure.
                let _ = error.print();
            }
            ExitCode::SUCCESS
        }
        Err(failure) if is_first || failure.is_of_one_process() => complain(about, &failure),
        Err(_) => ExitCode::from(BAD_INPUT),
    }
}

fn complain(about: &About, failure: &Failure) -> ExitCode {
    // There is no way to report that this failed.
    let _ = writeln!(io::stderr().lock(), "{}: {failure}", about.name);
    ExitCode::from(BAD_INPUT)
}

/// Runs an example on all ranks of all processes; the first process writes the files.
pub(crate) fn execute(
    config: &Config,
    processes: &Processes,
    about: &About,
    options: &Options,
    program: impl Fn(&Run<'_>) -> Result<(), Error> + Sync,
) -> Result<Report, Failure> {
    let files = [options.out.as_deref(), options.plot.as_deref()];
    check_files(processes, files.into_iter().flatten())?;
    let config = options.applied_to(config);
    let ran = processes.run_ranks(options.ranks, &config, |runtime| {
        let run = Run::new(runtime, about.name, options);
        program(&run)?;
        summed(runtime, run.into_record())
    });
    let mut of_ranks: Vec<_> = ran?.into_iter().collect::<Result<_, Error>>()?;
    let ranks = options.ranks * processes.count();
    let first = of_ranks.swap_remove(0);
    let report = Report::new(about, options, (config.threads, ranks), first);
    if let Some(field) = &report.record.field {
        write_files(field, options)?;
    }
    Ok(report)
}

/// Refuses files that the first process cannot write, on all processes alike.
fn check_files<'a>(
    processes: &Processes,
    mut files: impl Iterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let mine = match processes.number() {
        0 => files.try_for_each(check_writable),
        _ => Ok(()),
    };
    let text = mine.map_or_else(|failure: Failure| failure.to_string(), |()| String::new());
    let all = processes.all_gather(text.into_bytes())?;
    match all.iter().find(|text| !text.is_empty()) {
        None => Ok(()),
        Some(text) => Err(Failure::Input(String::from_utf8_lossy(text).into_owned())),
    }
}

/// What this rank has found, with what all ranks together have held and sent, and the hash of rank
/// 0.
fn summed(runtime: &Runtime, mut record: Record) -> Result<(Record, String), Error> {
    let of_ranks = runtime.all_gather(&[record.peak, record.messages, record.bytes_sent])?;
    let sum = |number: usize| of_ranks.iter().map(|of_rank| of_rank[number]).sum();
    (record.peak, record.messages, record.bytes_sent) = (sum(0), sum(1), sum(2));
    let hashes = runtime.all_gather_bytes(record.hash.text().into_bytes())?;
    let hash = String::from_utf8_lossy(&hashes[0]).into_owned();
    Ok((record, hash))
}

fn write_files(field: &Field, options: &Options) -> Result<(), Failure> {
    let write = |path: &Path, put: &dyn Fn(BufWriter<File>) -> io::Result<()>| {
        let written = File::create(path).and_then(|file| put(BufWriter::new(file)));
        written.map_err(|error| unwritable(path, &error))
    };
    if let Some(path) = &options.out {
        write(path, &|file| {
            npy::write(file, &field.dtype, &field.shape, &field.bytes)
        })?;
    }
    if let Some(path) = &options.plot {
        write(path, &|file| picture::write(field, file))?;
    }
    Ok(())
}

/// Prints the report. A reader that has seen enough (`| head`) is no failure.
fn show(report: &Report, options: &Options) -> Result<(), Failure> {
    if options.explain || options.profile {
        // There is no way to report that this failed.
        let _ = io::stderr()
            .lock()
            .write_all(report.record.explained.as_bytes());
    }
    let text = match options.json {
        true => format!("{}\n", report.to_json()),
        false => report.to_text(),
    };
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Input(format!(
            "standard output: cannot write: {error}"
        ))),
        _ => Ok(()),
    }
}

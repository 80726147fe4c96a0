//! The options that every example takes, and those of one alone.

use crate::about::About;
use crate::failure::Failure;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use sparsefuse_runtime::{Config, DeviceKind};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What the options say.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) size: usize,
    pub(crate) steps: usize,
    /// Of each rank.
    pub(crate) threads: Option<usize>,
    /// In each process.
    pub(crate) ranks: usize,
    pub(crate) device: Option<DeviceKind>,
    pub(crate) fusion: bool,
    pub(crate) native: bool,
    pub(crate) json: bool,
    pub(crate) explain: bool,
    pub(crate) profile: bool,
    pub(crate) out: Option<PathBuf>,
    pub(crate) plot: Option<PathBuf>,
    /// Options of this example: name and value.
    pub(crate) choices: Vec<(&'static str, String)>,
}

impl Options {
    /// The options of these words, which are those after the name of the program.
    pub(crate) fn parse(
        about: &About,
        words: impl Iterator<Item = OsString>,
    ) -> Result<Self, Failure> {
        let words = std::iter::once(OsString::from(about.name)).chain(words);
        let found = command(about).try_get_matches_from(words)?;
        let options = Self::of(about, &found);
        options.check(about)?;
        Ok(options)
    }

    fn of(about: &About, found: &ArgMatches) -> Self {
        let number = |name| found.get_one::<usize>(name).copied();
        let path = |name| found.get_one::<PathBuf>(name).cloned();
        let choice = |name| found.get_one::<String>(name).cloned().unwrap_or_default();
        let names = about.choices.iter().map(|choice| choice.name);
        Self {
            size: number("size").unwrap_or(about.size.0),
            steps: number("steps").unwrap_or(about.steps),
            threads: number("threads"),
            ranks: number("ranks").unwrap_or(1),
            device: found.get_one::<DeviceKind>("device").copied(),
            fusion: !found.get_flag("no-fusion"),
            native: !found.get_flag("no-native"),
            json: found.get_flag("json"),
            explain: found.get_flag("explain"),
            profile: found.get_flag("profile"),
            out: path("out"),
            plot: path("plot"),
            choices: names.map(|name| (name, choice(name))).collect(),
        }
    }

    /// Refuses a size that memory cannot hold, before the system ends the program without a word.
    fn check(&self, about: &About) -> Result<(), Failure> {
        let needed = (about.array_bytes)(self.size as f64) * f64::from(about.arrays);
        match available() {
            Some(available) if needed > available => Err(Failure::Input(format!(
                "--size: expected one that fits the {:.1} GB of memory that are available, found {} \
                 which needs about {:.1} GB",
                available / 1e9,
                self.size,
                needed / 1e9,
            ))),
            _ => Ok(()),
        }
    }

    /// Settings of the runtime with what the options say.
    pub(crate) fn applied_to(&self, config: &Config) -> Config {
        Config {
            threads: (self.threads).unwrap_or((config.threads / self.ranks).max(1)),
            device: self.device.unwrap_or(config.device),
            fusion: self.fusion && config.fusion,
            native: config.native.clone().filter(|_| self.native),
            profile: self.profile || config.profile,
            ..config.clone()
        }
    }
}

fn command(about: &About) -> Command {
    let (size, least, what) = about.size;
    let number = |name: &'static str, least: usize, most: usize, help: String| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .allow_hyphen_values(true)
            .value_parser(move |word: &str| whole(word, least, most))
            .help(help)
    };
    let flag = |name: &'static str, help: &'static str| {
        let flag = Arg::new(name).long(name).help(help);
        flag.action(ArgAction::SetTrue)
    };
    let file = |name: &'static str, value: &'static str, help: &'static str| {
        let file = Arg::new(name).long(name).value_name(value).help(help);
        file.value_parser(value_parser!(PathBuf))
    };
    let steps = about.steps;
    let choices = about.choices.iter().map(|choice| {
        Arg::new(choice.name)
            .long(choice.name)
            .value_parser(PossibleValuesParser::new(choice.values))
            .default_value(choice.values[0])
            .help(choice.help)
    });
    Command::new(about.name)
        .about(about.title)
        .long_about(format!("{}.\n\n{}", about.title, about.help))
        .after_help(format!(
            "Example:\n  cargo run --release --example {} -- --size {size} --steps {steps} --plot \
             {}.png",
            about.name, about.name
        ))
        .arg(number(
            "size",
            least,
            MOST,
            format!("The number of {what} [default: {size}]"),
        ))
        .arg(number(
            "steps",
            1,
            MOST,
            format!("The number of steps [default: {steps}]"),
        ))
        .args(choices)
        .arg(number(
            "threads",
            1,
            Config::MOST_THREADS,
            "Threads of each rank [default: all cores, divided among the ranks on them]".to_owned(),
        ))
        .arg(number(
            "ranks",
            1,
            Config::MOST_RANKS,
            "Ranks inside each process; the result has the same bits for every number [default: 1]"
                .to_owned(),
        ))
        .arg(
            Arg::new("device")
                .long("device")
                .value_name("DEVICE")
                .value_parser(|word: &str| {
                    let expected = || format!("expected none, cuda, cuda:1 or emulated, found {word}");
                    DeviceKind::from_name(word).ok_or_else(expected)
                })
                .help("Where kernels run besides the processors; the result has the same bits [default: none]"),
        )
        .arg(flag(
            "no-fusion",
            "Do not fuse tasks; the result has the same bits",
        ))
        .arg(flag(
            "no-native",
            "Do not compile kernels; the result has the same bits",
        ))
        .arg(flag("json", "Print one JSON object instead of the report"))
        .arg(flag(
            "explain",
            "Print the tasks of the last step to standard error, and which of them were fused",
        ))
        .arg(flag(
            "profile",
            "Print the time of each kernel and of each region of the program to standard error",
        ))
        .arg(file(
            "out",
            "FILE.npy",
            "Write the result as a file that numpy.load reads",
        ))
        .arg(file("plot", "FILE.png", "Draw the result"))
}

/// The most that an option may be: so that its cube is a number.
const MOST: usize = 1 << 31;

fn whole(word: &str, least: usize, most: usize) -> Result<usize, String> {
    let number = word.parse().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("expected a whole number from {least} to {most}, found {word}"))
}

/// The bytes that the system can still give.
fn available() -> Option<f64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

/// Refuses a file that cannot be written, before the work that it is meant for. What it held is
/// still there.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    let existed = path.exists();
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    match opened {
        Ok(_) if existed => Ok(()),
        Ok(_) => fs::remove_file(path).map_err(|error| unwritable(path, &error)),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// That a file cannot be written, and why.
pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Input(format!("{}: cannot write: {error}", path.display()))
}

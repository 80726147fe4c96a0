//! `--pc`: the preconditioners by name, with their options, and how each is made.
//!
//! A word is `NAME[:OPTION[,OPTION…]]`; an option is `KEY=VALUE`, or a value alone where the name
//! has one that is meant most.

use super::nearest;
use sparsefuse::Error;
use sparsefuse::kernels::Field;
use sparsefuse::solvers::LinearOperator;
use sparsefuse::solvers::multigrid::{
    AggregationOptions, CoarseSolver, Cycle, CycleOptions, GridOptions, Multigrid, Restriction,
    Smoother,
};
use sparsefuse::solvers::preconditioners::{
    AdditiveSchwarz, BlockJacobi, Chebyshev, ChebyshevOptions, Ic0, Ilu0, Iluk, Ilut, IlutOptions,
    Jacobi, Polynomial, PolynomialOptions, SchwarzOptions, Sor, SorOptions, SorOrder, SorSweep,
    spcholesky, splu,
};
use sparsefuse::sparse::Csr;
use std::fmt;
use std::str::FromStr;

/// A preconditioner with its options.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pc {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    None,
    /// Chosen by looking at the matrix.
    Auto,
    Jacobi,
    BlockJacobi(usize),
    Sor(SorOptions),
    Chebyshev(ChebyshevOptions),
    Polynomial(PolynomialOptions),
    Ilu(usize),
    Ilut(IlutOptions),
    Ic,
    Schwarz(SchwarzOptions),
    Lu,
    Cholesky,
    Gmg(CycleOptions, Restriction),
    Amg(CycleOptions, Option<f64>),
}

/// The names; `--help` has their options and what they are.
const NAMES: [&str; 17] = [
    "none",
    "auto",
    "jacobi",
    "bjacobi",
    "sor",
    "ssor",
    "chebyshev",
    "polynomial",
    "ilu",
    "ilut",
    "ic",
    "schwarz",
    "asm",
    "lu",
    "cholesky",
    "gmg",
    "amg",
];

/// Whether a cycle is not its own transpose.
fn is_one_sided(options: &CycleOptions) -> bool {
    options.pre != options.post || options.cycle == Cycle::F
}

impl Pc {
    /// What it is, if it is not symmetric where the matrix is, and what to try instead.
    pub(super) fn symmetric_instead(&self, ranks: usize) -> Option<(&'static str, &'static str)> {
        match &self.kind {
            Kind::Sor(options) if options.sweep != SorSweep::Symmetric => {
                Some(("sor", "--pc ssor"))
            }
            Kind::Schwarz(options)
                if options.restricted
                    && options.overlap > 0
                    && options.blocks.unwrap_or(ranks) > 1 =>
            {
                Some(("restricted schwarz", "--solver gmres"))
            }
            Kind::Gmg(options, restriction)
                if is_one_sided(options) || *restriction == Restriction::Injection =>
            {
                Some(("such a multigrid cycle", "--solver gmres"))
            }
            Kind::Amg(options, _) if is_one_sided(options) => {
                Some(("such a multigrid cycle", "--solver gmres"))
            }
            _ => None,
        }
    }

    /// What a word of the command line means.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        if text.ends_with(':') {
            return Err("expected options after the colon, found none".to_owned());
        }
        let mut options = Words::new(options)?;
        let kind = match name {
            "none" => Kind::None,
            "auto" => Kind::Auto,
            "jacobi" => Kind::Jacobi,
            "bjacobi" => Kind::BlockJacobi(options.first("size", at_least(1))?.unwrap_or(32)),
            "sor" => Kind::Sor(sor(SorSweep::Forward, &mut options)?),
            "ssor" => Kind::Sor(sor(SorSweep::Symmetric, &mut options)?),
            "chebyshev" => Kind::Chebyshev(ChebyshevOptions {
                degree: options.first("degree", at_least(1))?.unwrap_or(4),
                ..ChebyshevOptions::default()
            }),
            "polynomial" => Kind::Polynomial(PolynomialOptions {
                degree: options.first("degree", at_least(0))?.unwrap_or(2),
                ..PolynomialOptions::default()
            }),
            "ilu" => Kind::Ilu(options.first("k", at_least(0))?.unwrap_or(0)),
            "ilut" => Kind::Ilut(ilut(&mut options)?),
            "ic" => Kind::Ic,
            "schwarz" | "asm" => Kind::Schwarz(schwarz(&mut options)?),
            "lu" => Kind::Lu,
            "cholesky" => Kind::Cholesky,
            "gmg" => {
                let restriction = options.choice("restriction", &RESTRICTIONS)?;
                Kind::Gmg(
                    cycle(&mut options, CycleOptions::default())?,
                    restriction.unwrap_or_default(),
                )
            }
            "amg" => {
                let theta = options.number("theta", below_one)?;
                let cycle = cycle(&mut options, AggregationOptions::default().cycle)?;
                if cycle.smoother == Smoother::GaussSeidel {
                    return Err("the smoother gs is one for grids, so of gmg".to_owned());
                }
                Kind::Amg(cycle, theta)
            }
            _ => {
                return Err(nearest::refuse("preconditioner", name, &NAMES));
            }
        };
        options.finish(name)?;
        let text = text.to_owned();
        Ok(Self { text, kind })
    }

    pub(super) fn is_none(&self) -> bool {
        self.kind == Kind::None
    }

    pub(super) fn is_auto(&self) -> bool {
        self.kind == Kind::Auto
    }

    /// Whether it needs the grid that the matrix stems from.
    pub(super) fn needs_grid(&self) -> bool {
        matches!(self.kind, Kind::Gmg(..))
    }

    /// Whether its adjoint can be applied.
    pub(super) fn has_adjoint(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Sor(_) | Kind::Schwarz(_) | Kind::Gmg(..) | Kind::Amg(..)
        )
    }

    /// The preconditioner of a matrix; none where none was asked for. Every rank must ask.
    pub(super) fn make<T: Field>(
        &self,
        a: &Csr<T>,
        grid: Option<&[usize]>,
    ) -> Result<Option<Box<dyn LinearOperator<T>>>, Error> {
        Ok(Some(match &self.kind {
            Kind::None | Kind::Auto => return Ok(None),
            Kind::Jacobi => Box::new(Jacobi::new(a)?),
            Kind::BlockJacobi(size) => Box::new(BlockJacobi::new(a, *size)?),
            Kind::Sor(options) => Box::new(Sor::new(a, *options)?),
            Kind::Chebyshev(options) => Box::new(Chebyshev::new(a, *options)?),
            Kind::Polynomial(options) => Box::new(Polynomial::new(a, *options)?),
            Kind::Ilu(0) => Box::new(Ilu0::new(a)?),
            Kind::Ilu(k) => Box::new(Iluk::new(a, *k)?),
            Kind::Ilut(options) => Box::new(Ilut::new(a, *options)?),
            Kind::Ic => Box::new(Ic0::new(a)?),
            Kind::Schwarz(options) => Box::new(AdditiveSchwarz::new(a, *options)?),
            Kind::Lu => Box::new(splu(a)?),
            Kind::Cholesky => Box::new(spcholesky(a)?),
            Kind::Gmg(cycle, restriction) => {
                let options = GridOptions {
                    restriction: *restriction,
                    cycle: cycle.clone(),
                    ..GridOptions::default()
                };
                let sides = grid.unwrap_or_default();
                Box::new(Multigrid::on_grid_with(a, sides, &options)?)
            }
            Kind::Amg(cycle, theta) => {
                let defaults = AggregationOptions::default();
                let options = AggregationOptions {
                    cycle: cycle.clone(),
                    theta: theta.unwrap_or(defaults.theta),
                    ..defaults
                };
                Box::new(Multigrid::aggregated_with(a, &[], &options)?)
            }
        }))
    }
}

impl FromStr for Pc {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl fmt::Display for Pc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

const RESTRICTIONS: [(&str, Restriction); 2] = [
    ("full", Restriction::FullWeighting),
    ("injection", Restriction::Injection),
];

fn sor(sweep: SorSweep, options: &mut Words<'_>) -> Result<SorOptions, String> {
    let is_factor = |omega: f64| {
        let fits = omega > 0.0 && omega < 2.0;
        fits.then_some(omega)
            .ok_or("a number between 0 and 2".to_owned())
    };
    let omega = options.first("omega", is_factor)?;
    let order = match options.flag("colors") {
        true => SorOrder::Multicolor,
        false => SorOrder::Sequential,
    };
    Ok(SorOptions {
        omega: omega.unwrap_or(1.0),
        sweep,
        order,
        ..SorOptions::default()
    })
}

fn ilut(options: &mut Words<'_>) -> Result<IlutOptions, String> {
    let defaults = IlutOptions::default();
    let drop = options.first("drop", not_negative)?;
    let fill = options.second("fill", at_least(0))?;
    Ok(IlutOptions {
        drop_tolerance: drop.unwrap_or(defaults.drop_tolerance),
        fill: fill.unwrap_or(defaults.fill),
    })
}

fn schwarz(options: &mut Words<'_>) -> Result<SchwarzOptions, String> {
    let defaults = SchwarzOptions::default();
    let overlap = options.first("overlap", at_least(0))?;
    Ok(SchwarzOptions {
        overlap: overlap.unwrap_or(defaults.overlap),
        blocks: options.number("blocks", at_least(1))?,
        ..defaults
    })
}

/// The options of both kinds of multigrid; those that are not given are the defaults.
fn cycle(options: &mut Words<'_>, defaults: CycleOptions) -> Result<CycleOptions, String> {
    const CYCLES: [(&str, Cycle); 4] = [
        ("v", Cycle::V),
        ("w", Cycle::W),
        ("vw", Cycle::VW),
        ("f", Cycle::F),
    ];
    let smoothers = [
        ("jacobi", Smoother::Jacobi { omega: None }),
        ("chebyshev", Smoother::chebyshev()),
        ("gs", Smoother::GaussSeidel),
    ];
    let coarse_solvers = [
        ("inverse", CoarseSolver::Inverse),
        ("direct", CoarseSolver::Direct),
        ("smoother", CoarseSolver::Smoother),
    ];
    Ok(CycleOptions {
        cycle: options.choice("cycle", &CYCLES)?.unwrap_or(defaults.cycle),
        smoother: options
            .choice("smoother", &smoothers)?
            .unwrap_or(defaults.smoother),
        pre: options.number("pre", at_least(1))?.unwrap_or(defaults.pre),
        post: options
            .number("post", at_least(0))?
            .unwrap_or(defaults.post),
        coarsest: options
            .number("coarsest", at_least(0))?
            .unwrap_or(defaults.coarsest),
        coarse_solver: options
            .choice("coarse", &coarse_solvers)?
            .unwrap_or(defaults.coarse_solver),
        max_levels: options
            .number("levels", at_least(1))?
            .unwrap_or(defaults.max_levels),
    })
}

/// Numbers of steps, powers and rows, each of which costs time and memory.
fn at_least(least: usize) -> impl Fn(usize) -> Result<usize, String> {
    const MOST: usize = 100_000;
    move |value| match (least..=MOST).contains(&value) {
        true => Ok(value),
        false => Err(format!("a whole number from {least} to {MOST}")),
    }
}

fn below_one(value: f64) -> Result<f64, String> {
    let fits = (0.0..1.0).contains(&value);
    fits.then_some(value)
        .ok_or("a number from 0 to below 1".to_owned())
}

fn not_negative(value: f64) -> Result<f64, String> {
    let fits = value.is_finite() && value >= 0.0;
    fits.then_some(value)
        .ok_or("a number that is 0 or more".to_owned())
}

/// The options of a word, of which each is taken once.
struct Words<'a> {
    /// With their keys, or without.
    given: Vec<(Option<&'a str>, &'a str)>,
    /// The keys that have been looked up.
    known: Vec<&'static str>,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Result<Self, String> {
        let mut given = Vec::new();
        for word in text.split(',').filter(|_| !text.is_empty()) {
            if word.is_empty() {
                return Err("expected options between the commas, found none".to_owned());
            }
            given.push(match word.split_once('=') {
                Some((key, value)) => (Some(key), value),
                None => (None, word),
            });
        }
        let known = Vec::new();
        Ok(Self { given, known })
    }

    /// The value of a key, or the first value without one.
    fn first<N: FromStr>(
        &mut self,
        key: &'static str,
        check: impl Fn(N) -> Result<N, String>,
    ) -> Result<Option<N>, String> {
        let bare = |given: &(Option<&str>, &str)| given.0.is_none() && is_number(given.1);
        let place = self.given.iter().position(bare);
        let keyed = self.number(key, &check)?;
        match (keyed, place) {
            (Some(value), _) => Ok(Some(value)),
            (None, Some(place)) => number(key, self.given.remove(place).1, check).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The same, of what an earlier [`Words::first`] has left.
    fn second<N: FromStr>(
        &mut self,
        key: &'static str,
        check: impl Fn(N) -> Result<N, String>,
    ) -> Result<Option<N>, String> {
        self.first(key, check)
    }

    /// The value of a key.
    fn number<N: FromStr>(
        &mut self,
        key: &'static str,
        check: impl Fn(N) -> Result<N, String>,
    ) -> Result<Option<N>, String> {
        self.take(key)
            .map(|text| number(key, text, check))
            .transpose()
    }

    /// The value of a key that is a name.
    fn choice<C: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&str, C)],
    ) -> Result<Option<C>, String> {
        let Some(word) = self.take(key) else {
            return Ok(None);
        };
        let found = choices.iter().find(|(name, _)| *name == word);
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        found
            .map(|&(_, choice)| Some(choice))
            .ok_or_else(|| nearest::refuse(key, word, &names))
    }

    /// Whether a word without a value is there.
    fn flag(&mut self, word: &'static str) -> bool {
        self.known.push(word);
        let place = self.given.iter().position(|&given| given == (None, word));
        place.map(|place| self.given.remove(place)).is_some()
    }

    fn take(&mut self, key: &'static str) -> Option<&'a str> {
        self.known.push(key);
        let place = self.given.iter().position(|given| given.0 == Some(key))?;
        Some(self.given.remove(place).1)
    }

    /// Refuses keys that have not been looked up.
    fn finish(self, name: &str) -> Result<(), String> {
        let Some(&(key, value)) = self.given.first() else {
            return Ok(());
        };
        if self.known.is_empty() {
            return Err(format!("{name} has no options, found `{value}`"));
        }
        let word = key.unwrap_or(value);
        if self.known.contains(&word) {
            return Err(match key {
                Some(_) => format!("expected {word} once, found it again: {word}={value}"),
                None => format!("expected a value of {word}, as in {word}=VALUE, found none"),
            });
        }
        if key.is_none() && is_number(word) {
            return Err(format!("expected no more numbers for {name}, found {word}"));
        }
        Err(nearest::refuse(
            &format!("option of {name}"),
            word,
            &self.known,
        ))
    }
}

fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
}

fn number<N: FromStr>(
    key: &str,
    text: &str,
    check: impl Fn(N) -> Result<N, String>,
) -> Result<N, String> {
    let expected = |what: String| format!("expected {key} to be {what}, found {text}");
    let value = text.parse().map_err(|_| {
        // So it is a number, but not one of the kind.
        let is_real = text.parse::<f64>().is_ok();
        let kind = if is_real {
            "a whole number, 0 or more"
        } else {
            "a number"
        };
        expected(kind.to_owned())
    })?;
    check(value).map_err(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_they_say() {
        let kind = |text: &str| Pc::parse(text).unwrap().kind;
        assert_eq!(kind("ilu:2"), Kind::Ilu(2));
        assert_eq!(kind("ilu:k=2"), Kind::Ilu(2));
        let Kind::Sor(sor) = kind("ssor:1.5,colors") else {
            panic!("ssor is one of them");
        };
        assert_eq!((sor.omega, sor.order), (1.5, SorOrder::Multicolor));
        let Kind::Ilut(ilut) = kind("ilut:1e-4,20") else {
            panic!("ilut is another");
        };
        assert_eq!((ilut.drop_tolerance, ilut.fill), (1e-4, 20));
        let Kind::Gmg(cycle, restriction) =
            kind("gmg:cycle=w,smoother=gs,pre=2,restriction=injection")
        else {
            panic!("gmg is one too");
        };
        assert_eq!((cycle.cycle, cycle.pre), (Cycle::W, 2));
        assert_eq!(restriction, Restriction::Injection);
        for name in NAMES {
            assert_eq!(Pc::parse(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn other_words_are_refused_with_the_nearest_name() {
        for (text, expected) in [
            (
                "jakobi",
                "there is no preconditioner `jakobi`; did you mean `jacobi`?",
            ),
            (
                "gmg:smother=gs",
                "there is no option of gmg `smother`; did you mean `smoother`?",
            ),
            (
                "gmg:cycle=x",
                "there is no cycle `x`; there are v, w, vw, f",
            ),
            (
                "gmg:smoother=chebychev",
                "there is no smoother `chebychev`; did you mean `chebyshev`?",
            ),
            ("ilu:x", "there is no option of ilu `x`; there are k"),
            (
                "ilu:1.5",
                "expected k to be a whole number, 0 or more, found 1.5",
            ),
            (
                "gmg:pre=-1",
                "expected pre to be a whole number, 0 or more, found -1",
            ),
            (
                "gmg:pre=0",
                "expected pre to be a whole number from 1 to 100000, found 0",
            ),
            (
                "gmg:cycle=v,cycle=w",
                "expected cycle once, found it again: cycle=w",
            ),
            (
                "amg:post",
                "expected a value of post, as in post=VALUE, found none",
            ),
            ("ilu:1,2", "expected no more numbers for ilu, found 2"),
            (
                "sor:2",
                "expected omega to be a number between 0 and 2, found 2",
            ),
            ("jacobi:3", "jacobi has no options, found `3`"),
            ("ilu:", "expected options after the colon, found none"),
        ] {
            assert_eq!(Pc::parse(text).unwrap_err(), expected, "{text}");
        }
    }
}

//! The name that a misspelt one is most like.

/// Among some names the one that is most like a word, if any is like it.
pub(super) fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const ALIKE: f64 = 0.75;
    let word = word.to_lowercase();
    let likeness = |name: &str| strsim::jaro_winkler(&word, &name.to_lowercase());
    let mut best: Option<(f64, &str)> = None;
    for name in names {
        let found = likeness(name);
        if found >= ALIKE && best.is_none_or(|(most, _)| found > most) {
            best = Some((found, name));
        }
    }
    best.map(|(_, name)| name)
}

/// What to say of a word that is none of the names.
pub(super) fn refuse(what: &str, word: &str, names: &[&str]) -> String {
    match nearest(word, names.iter().copied()) {
        Some(name) => format!("there is no {what} `{word}`; did you mean `{name}`?"),
        None => format!(
            "there is no {what} `{word}`; there are {}",
            names.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name() {
        let names = ["jacobi", "ilu", "ilut", "amg", "gmg", "chebyshev"];
        for (word, name) in [
            ("jakobi", "jacobi"),
            ("chebychev", "chebyshev"),
            ("AMG", "amg"),
        ] {
            assert_eq!(nearest(word, names), Some(name));
        }
        assert_eq!(nearest("quux", names), None);
    }
}

//! Whether modules import each other in circles.
//!
//! The rule: a file and its own folder may know each other, modules beside each other may not form
//! a circle. A folder counts as one module there, with all that is below it; so the modules of each
//! folder have an order in which they can be read. Imports are `use` lines and paths that begin
//! with `crate`, `super` or `self`; a name that a file passes on with `pub use` counts as imported
//! from where it is defined. Test modules are left out, they may use what they like.

use super::{expect_none, files};
use std::collections::{BTreeMap, BTreeSet};

/// The crates whose modules form no circle, by their folders; that of the program is "".
const CRATES: [&str; 6] = [
    "kernels", "runtime", "dense", "sparse", "solvers", "testing",
];
/// Those whose folders stand in `lib.rs` in the order of the data: each imports those before it
/// only.
const ORDERED: [&str; 2] = ["runtime", "sparse"];

#[test]
fn modules_import_without_circles() {
    let files = files();
    let complaints: Vec<String> = CRATES
        .iter()
        .flat_map(|folder| {
            let prefix = match *folder {
                "" => "src/".to_owned(),
                folder => format!("{folder}/src/"),
            };
            let sources = files.iter().filter_map(|file| {
                let path = file.path.strip_prefix(&prefix)?;
                Some((path, file.text.as_str()))
            });
            circles(sources)
                .into_iter()
                .map(move |circle| format!("{prefix}{circle}"))
        })
        .collect();
    expect_none(
        &complaints,
        "modules beside each other form no circle: move what both need to a module below them, or \
         the function to where it is used",
    );
}

#[test]
fn folders_import_downwards() {
    let files = files();
    let complaints: Vec<String> = ORDERED
        .iter()
        .flat_map(|folder| {
            let prefix = format!("{folder}/src/");
            let sources = files.iter().filter_map(|file| {
                let path = file.path.strip_prefix(&prefix)?;
                Some((path, file.text.as_str()))
            });
            let found = upwards(sources).into_iter();
            found.map(move |import| format!("{prefix}{import}"))
        })
        .collect();
    expect_none(
        &complaints,
        "the modules of these crates stand in `lib.rs` in the order of the data, and import those \
         before them only",
    );
}

#[test]
fn imports_upwards_are_found() {
    let sources = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B;"),
        ("b/mod.rs", "mod d;"),
        ("b/d.rs", "use crate::a::A;"),
        ("c.rs", "use crate::{a::A, b::B};"),
    ];
    assert_eq!(upwards(sources.into_iter()), ["a -> b"]);
}

#[test]
fn circles_are_found() {
    let find = |sources: &[(&'static str, &'static str)]| circles(sources.iter().copied());
    // A parent and its folder may know each other, and so may tests and what they test.
    let fine = [
        ("lib.rs", "pub use a::{A, b::B as C}; mod a;"),
        ("a/mod.rs", "mod b; use b::B; pub struct A;"),
        ("a/b.rs", "use super::A; use crate::c::{self, D};"),
        (
            "c.rs",
            "// crate::a\n#[cfg(test)]\nmod tests {\nuse crate::a::A; }",
        ),
        ("c/tests.rs", "use crate::a::A;"),
    ];
    assert_eq!(find(&fine), [""; 0]);
    // Through an inline path, a name that is passed on, and a folder.
    let circle = [
        ("lib.rs", "pub use a::{A, b::B as C}; mod a;"),
        ("a/mod.rs", "mod b; pub struct A;"),
        ("a/b.rs", "fn f() { crate::c::d() }"),
        ("c.rs", "use crate::{C, e::E};"),
        ("e.rs", "use crate::c;"),
    ];
    let expected = "a, c, e:\n    a/b.rs -> c.rs (d)\n    c.rs -> a/b.rs (B)\n    \
                    c.rs -> e.rs (E)\n    e.rs -> c.rs (*)";
    assert_eq!(find(&circle), [expected]);
    let in_folder = [
        ("a/mod.rs", "mod b; mod c;"),
        ("a/b.rs", "use super::c::C;"),
        ("a/c.rs", "use super::b::{B};"),
    ];
    let expected = "a/b, a/c:\n    a/b.rs -> a/c.rs (C)\n    a/c.rs -> a/b.rs (B)";
    assert_eq!(find(&in_folder), [expected]);
}

/// The path of a module from the root of its crate.
type Module = Vec<String>;

/// What a file imports, and what it passes on.
#[derive(Default)]
struct Imports {
    paths: Vec<Vec<String>>,
    /// By the name under which it is passed on.
    passed_on: BTreeMap<String, Vec<String>>,
}

/// The circles of a crate, given its files by their paths below `src/`: the modules of each, and
/// the imports that tie them.
fn circles<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let files = modules(sources);
    let ties = ties(&files);
    let of_folder = |(folder, ties): (&&[String], &Ties<'_>)| {
        let folder: String = folder.iter().map(|part| format!("{part}/")).collect();
        let components = components(ties);
        let texts = components
            .iter()
            .map(|modules| text(&folder, modules, ties));
        texts.collect::<Vec<_>>()
    };
    ties.iter().flat_map(of_folder).collect()
}

/// The imports of a crate, given its files as for [`circles`], from modules that stand before what
/// they import in its `lib.rs`.
fn upwards<'a>(sources: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Vec<String> {
    let lib = sources.clone().find(|(path, _)| *path == "lib.rs");
    let tokens = lib.map(|(_, text)| tokens(text)).unwrap_or_default();
    let place = |module: &str| {
        let is_it = |pair: &[String]| pair[0] == "mod" && pair[1] == module;
        tokens.windows(2).position(is_it)
    };
    let files = modules(sources);
    let ties = ties(&files);
    let top = ties.get(&[][..]).into_iter().flatten();
    let up = top.filter(|((from, to), _)| place(from) < place(to));
    up.map(|((from, to), _)| format!("{from} -> {to}"))
        .collect()
}

/// The files of a crate with their imports, without tests.
fn modules<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<Module, (&'a str, Imports)> {
    let is_test = |path: &str| path.split(['/', '.']).any(|part| part == "tests");
    sources
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| (module(path), (path, imports(text))))
        .collect()
}

/// The imports between the modules of each folder.
fn ties<'a>(files: &'a BTreeMap<Module, (&'a str, Imports)>) -> BTreeMap<&'a [String], Ties<'a>> {
    // By folder: from which of its modules to which, and the imports that say so.
    let mut ties: BTreeMap<&[String], Ties<'_>> = BTreeMap::new();
    for (from, (path, imports)) in files {
        for (to, name) in imports
            .paths
            .iter()
            .filter_map(|path| resolve(files, from, path))
        {
            let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            if common == from.len() || common == to.len() {
                continue;
            }
            let tie = (from[common].as_str(), to[common].as_str());
            let names = ties
                .entry(&from[..common])
                .or_default()
                .entry(tie)
                .or_default();
            names.entry((path, files[to].0)).or_default().insert(name);
        }
    }
    ties
}

/// For each pair of modules of a folder, the files that tie them and the names that are imported.
type Ties<'a> = BTreeMap<(&'a str, &'a str), BTreeMap<(&'a str, &'a str), BTreeSet<String>>>;

/// The groups of modules that all reach each other.
fn components<'a>(ties: &Ties<'a>) -> BTreeSet<BTreeSet<&'a str>> {
    let reached = |from: &'a str| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(module) = open.pop() {
            let next = ties.keys().filter(|(tied, _)| *tied == module);
            open.extend(next.map(|&(_, to)| to).filter(|&to| reached.insert(to)));
        }
        reached
    };
    let all: BTreeMap<&str, BTreeSet<&str>> = ties
        .keys()
        .map(|&(from, _)| (from, reached(from)))
        .collect();
    let in_circles = all
        .iter()
        .filter(|(module, reached)| reached.contains(**module));
    in_circles
        .map(|(module, reached)| {
            let both = reached
                .iter()
                .filter(|other| all.get(**other).is_some_and(|back| back.contains(module)));
            both.copied().collect()
        })
        .collect()
}

fn text(folder: &str, modules: &BTreeSet<&str>, ties: &Ties<'_>) -> String {
    let names: Vec<String> = modules
        .iter()
        .map(|module| format!("{folder}{module}"))
        .collect();
    let tied = ties
        .iter()
        .filter(|((from, to), _)| modules.contains(from) && modules.contains(to));
    let imports: Vec<String> = tied
        .flat_map(|(_, files)| files)
        .map(|((from, to), names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("\n    {from} -> {to} ({})", names.join(", "))
        })
        .collect();
    format!("{}:{}", names.join(", "), imports.concat())
}

fn module(path: &str) -> Module {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Module = stem.split('/').map(str::to_owned).collect();
    if matches!(
        parts.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        parts.pop();
    }
    parts
}

/// The module of this crate in which a path of a file ends, and the name of what it names there.
fn resolve<'a>(
    files: &'a BTreeMap<Module, (&str, Imports)>,
    from: &[String],
    path: &[String],
) -> Option<(&'a Module, String)> {
    let mut module: Module = from.to_vec();
    let mut rest = path.iter().peekable();
    match rest.peek()?.as_str() {
        "crate" => {
            module.clear();
            rest.next();
        }
        "self" => {
            rest.next();
        }
        "super" => {
            while rest.next_if(|part| *part == "super").is_some() {
                module.pop();
            }
        }
        child => {
            module.push(child.to_owned());
            if !files.contains_key(&module) {
                return None;
            }
            rest.next();
        }
    }
    while let Some(part) = rest.peek() {
        module.push((*part).clone());
        if !files.contains_key(&module) {
            module.pop();
            break;
        }
        rest.next();
    }
    let (module, (_, imports)) = files.get_key_value(&module)?;
    let Some(name) = rest.next() else {
        return Some((module, "*".to_owned()));
    };
    let origin = imports
        .passed_on
        .get(name)
        .filter(|origin| *origin != path || module != from);
    let defined = origin.and_then(|origin| resolve(files, module, origin));
    Some(defined.unwrap_or_else(|| (module, name.clone())))
}

/// The imports of a file, without those of its test module.
fn imports(text: &str) -> Imports {
    let tokens = tokens(text);
    let mut imports = Imports::default();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "use" => {
                let end = tokens[at..].iter().position(|token| token == ";");
                let end = end.map_or(tokens.len(), |end| at + end);
                let mut tree = tokens[at + 1..end].iter().map(String::as_str).peekable();
                let is_public = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
                leaves(&mut tree, &[], &mut |path, name| {
                    if is_public {
                        imports.passed_on.insert(name.to_owned(), path.clone());
                    }
                    imports.paths.push(path);
                });
                at = end;
            }
            "crate" | "super" | "self" => {
                let mut path = vec![tokens[at].clone()];
                while tokens.get(at + 1).is_some_and(|token| token == "::") {
                    at += 2;
                    path.extend(tokens.get(at).filter(|token| is_name(token)).cloned());
                }
                if path.len() > 1 {
                    imports.paths.push(path);
                }
            }
            _ => {}
        }
        at += 1;
    }
    imports
}

/// Calls `visit` with each path of a tree of imports, and the name under which it is known then.
fn leaves<'a>(
    tree: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    before: &[String],
    visit: &mut impl FnMut(Vec<String>, &str),
) {
    let mut path = before.to_vec();
    let mut is_group = false;
    while let Some(token) = tree.next() {
        match token {
            "{" => {
                is_group = true;
                leaves(tree, &path, visit);
            }
            "as" => {
                let name = tree.next().unwrap_or_default();
                visit(std::mem::replace(&mut path, before.to_vec()), name);
                is_group = true;
            }
            "," | "}" => {
                if !is_group && path.len() > before.len() {
                    let name = path.last().cloned().unwrap_or_default();
                    visit(std::mem::replace(&mut path, before.to_vec()), &name);
                }
                is_group = false;
                path.truncate(before.len());
                if token == "}" {
                    return;
                }
            }
            // `{self, ...}` names the module itself.
            "self" if !path.is_empty() => {
                visit(path.clone(), before.last().map_or("", String::as_str));
                is_group = true;
            }
            name if is_name(name) => path.push(name.to_owned()),
            _ => {}
        }
    }
    if !is_group && path.len() > before.len() {
        let name = path.last().cloned().unwrap_or_default();
        visit(path, &name);
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names, `::` and single characters, without comments, texts and the test module at the end.
fn tokens(text: &str) -> Vec<String> {
    let is_tests = |line: &str| line.starts_with("#[cfg(") && line.contains("test");
    let lines: Vec<&str> = text.lines().collect();
    let end = (1..lines.len()).find(|&at| {
        let opens = lines[at].starts_with("mod ") && lines[at].ends_with('{');
        opens && is_tests(lines[at - 1])
    });
    let mut tokens = Vec::new();
    for line in &lines[..end.unwrap_or(lines.len())] {
        let code = line.split("//").next().unwrap_or(line);
        // What stands between quotes is every second part.
        for code in code.split('"').step_by(2) {
            let mut rest = code.trim_start();
            while let Some(first) = rest.chars().next() {
                let len = match first {
                    _ if is_name(rest) => rest
                        .find(|c: char| !c.is_alphanumeric() && c != '_')
                        .unwrap_or(rest.len()),
                    ':' if rest.starts_with("::") => 2,
                    _ => first.len_utf8(),
                };
                tokens.push(rest[..len].to_owned());
                rest = rest[len..].trim_start();
            }
        }
    }
    tokens
}

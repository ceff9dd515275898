//! Every package we build with may be used by anybody. `cargo deny` checks the same with more care; this runs
//! where it is not installed, for the platform it runs on.

use crate::metadata::{packages, text};

const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Packages whose own files stay under MPL-2.0. Each is added by hand.
const MPL: &[&str] = &[];

#[test]
fn every_package_has_a_permissive_licence() {
    let host = host().unwrap();
    let packages = packages(&["--locked", "--filter-platform", &host]).unwrap();
    let refused = packages
        .iter()
        .map(|package| (text(package, "name"), text(package, "license")))
        .filter(|(name, licence)| !may_be_used(name, licence))
        .map(|(name, licence)| format!("{name}: {licence:?}"))
        .collect::<Vec<_>>();
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn a_licence_is_a_choice_or_a_sum() {
    assert!(is_permissive("MIT"));
    assert!(is_permissive("MIT OR GPL-3.0"));
    assert!(is_permissive("GPL-3.0 OR (MIT AND Zlib)"));
    assert!(is_permissive("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(is_permissive("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT"));
    assert!(is_permissive("MIT/Apache-2.0"), "the older way to write a choice");
    assert!(!is_permissive("MIT AND GPL-3.0"));
    assert!(!is_permissive("(MIT OR Apache-2.0) AND GPL-3.0"));
    assert!(!is_permissive("GPL-3.0 WITH Classpath-exception-2.0"));
    assert!(!is_permissive(""));
    assert!(!is_permissive("(MIT"));
}

#[test]
fn mpl_is_for_named_packages_only() {
    assert!(!may_be_used("somebody", "MPL-2.0"));
}

fn may_be_used(name: &str, licence: &str) -> bool {
    is_permissive(licence) || (licence == "MPL-2.0" && MPL.contains(&name))
}

/// Whether some choice that the expression leaves uses permissive licences alone.
fn is_permissive(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    matches!(any_of(&words), Some((true, [])))
}

/// Whether the expression at the front is permissive, and what stands behind it; `None` where it is not one.
type Judged<'w, 's> = Option<(bool, &'w [&'s str])>;

fn any_of<'w, 's>(words: &'w [&'s str]) -> Judged<'w, 's> {
    let (mut permissive, mut rest) = all_of(words)?;
    while let Some((&"OR", behind)) = rest.split_first() {
        let (next, behind) = all_of(behind)?;
        permissive |= next;
        rest = behind;
    }
    Some((permissive, rest))
}

fn all_of<'w, 's>(words: &'w [&'s str]) -> Judged<'w, 's> {
    let (mut permissive, mut rest) = licence(words)?;
    while let Some((&"AND", behind)) = rest.split_first() {
        let (next, behind) = licence(behind)?;
        permissive &= next;
        rest = behind;
    }
    Some((permissive, rest))
}

fn licence<'w, 's>(words: &'w [&'s str]) -> Judged<'w, 's> {
    match words {
        ["(", inside @ ..] => match any_of(inside)? {
            (permissive, [")", rest @ ..]) => Some((permissive, rest)),
            _ => None,
        },
        // An exception only adds permissions.
        [name, "WITH", _, rest @ ..] | [name, rest @ ..] => Some((PERMISSIVE.contains(name), rest)),
        [] => None,
    }
}

fn host() -> anyhow::Result<String> {
    let output = std::process::Command::new("rustc").arg("-vV").output()?;
    let said = String::from_utf8(output.stdout)?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| anyhow::anyhow!("rustc does not say its host"))
}

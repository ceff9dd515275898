//! A catalog that is lost or damaged.

use offshoot_store::catalog::{Catalog, CatalogError, Rebuilt, Within};

use crate::machine::{Machine, pi_session};

fn filled() -> Machine {
    let machine = Machine::new();
    for n in 0..8 {
        let answer = format!("answer {n} of the quokka");
        machine
            .write(&format!("pi/{n}.jsonl"), &pi_session(&format!("s{n}"), &[("ask the quokka", &answer)]));
    }
    machine.sync();
    machine
}

/// Invariant 6: catalog and search are derived; deleting them loses nothing.
#[test]
fn a_deleted_catalog_is_made_again_and_answers_the_same() {
    let machine = filled();
    let before = machine.answers(&["quokka", "answer", "7"]);
    std::fs::remove_file(machine.catalog_path()).expect("a catalog");
    machine.sync();
    assert_eq!(machine.answers(&["quokka", "answer", "7"]), before);
    assert_eq!(before.0.len(), 8);
}

#[test]
fn what_is_no_catalog_is_thrown_away_and_that_is_said() {
    let machine = filled();
    let before = machine.answers(&["quokka"]);
    std::fs::write(machine.catalog_path(), "this is not a catalog, and it is longer than a page".repeat(200))
        .expect("own file");
    let mut catalog = machine.catalog();
    assert_eq!(catalog.rebuilt(), Some(Rebuilt::Damaged));
    machine.sync_into(&mut catalog);
    assert_eq!(machine.answers_of(&catalog, &["quokka"]), before);
}

#[test]
fn damage_anywhere_leads_to_a_new_catalog_and_never_to_a_panic() {
    let machine = filled();
    let before = machine.answers(&["quokka"]);
    let whole = std::fs::read(machine.catalog_path()).expect("a catalog");
    let mut rebuilt = 0;
    for page in 0..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xa5);
        std::fs::write(machine.catalog_path(), &damaged).expect("own file");
        for beside in ["home/catalog.db-wal", "home/catalog.db-shm"] {
            let _ = std::fs::remove_file(machine.path(beside));
        }
        let mut catalog = machine.catalog();
        let is_usable = |catalog: &Catalog| {
            let query =
                offshoot_store::catalog::Query::read("quokka", offshoot_store::catalog::query::Bounds::Words)
                    .expect("a query");
            let searched = catalog.search(&query, Within::Said, &Default::default(), 1, &machine.sources());
            !matches!(searched, Err(CatalogError::Damaged { .. }))
        };
        let synced = catalog.sync(&machine.sources(), jiff::Timestamp::now(), &mut |_, _| {});
        if matches!(synced, Err(CatalogError::Damaged { .. })) || !is_usable(&catalog) {
            catalog = catalog.rebuild().expect("a new catalog");
        }
        if catalog.rebuilt() == Some(Rebuilt::Damaged) {
            rebuilt += 1;
            machine.sync_into(&mut catalog);
            assert_eq!(machine.answers_of(&catalog, &["quokka"]), before, "page {page}");
        }
    }
    assert!(rebuilt > 2, "some damage is seen: {rebuilt}");
}

/// What was read of it before it was cut may still be right; what is asked of it is right in the end.
#[test]
fn a_catalog_that_was_cut_or_overwritten_is_made_anew() {
    let machine = filled();
    let words = ["quokka", "answer", "7"];
    let before = machine.answers(&words);
    machine.catalog().index_parts(&machine.sources(), &mut || true).expect("an index");
    let whole = std::fs::read(machine.catalog_path()).expect("a catalog");
    let mut seed = 7_u64;
    let mut chance = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let cuts = (0..30).map(|_| chance(whole.len())).collect::<Vec<_>>();
    let mut damaged: Vec<Vec<u8>> = cuts.iter().map(|cut| whole[..*cut].to_vec()).collect();
    for _ in 0..30 {
        let mut bytes = whole.clone();
        let (from, length) = (chance(whole.len()), 1 + chance(40_000));
        bytes.iter_mut().skip(from).take(length).for_each(|byte| *byte = chance(256) as u8);
        damaged.push(bytes);
    }
    for (at, bytes) in damaged.into_iter().enumerate() {
        for beside in ["home/catalog.db-wal", "home/catalog.db-shm"] {
            let _ = std::fs::remove_file(machine.path(beside));
        }
        std::fs::write(machine.catalog_path(), &bytes).expect("own file");
        let mut catalog = machine.catalog();
        let synced = catalog.sync(&machine.sources(), jiff::Timestamp::now(), &mut |_, _| {});
        let is_seen = matches!(synced, Err(CatalogError::Damaged { .. })) || catalog.rebuilt().is_some();
        assert!(is_seen || synced.is_ok(), "{at}: {synced:?}");
        if at < cuts.len() {
            assert!(
                is_seen || bytes.len() + 4096 > whole.len(),
                "{at}: {} of {} bytes",
                bytes.len(),
                whole.len()
            );
        }
        let mut catalog = if synced.is_ok() { catalog } else { catalog.rebuild().expect("a new catalog") };
        if is_seen {
            machine.sync_into(&mut catalog);
            assert_eq!(machine.answers_of(&catalog, &words), before, "{at}");
        }
    }
}

#[test]
fn a_catalog_of_another_version_is_read_anew() {
    let machine = filled();
    let before = machine.answers(&["quokka"]);
    let connection = rusqlite::Connection::open(machine.catalog_path()).expect("a database");
    connection.execute("UPDATE fact SET value = 99 WHERE name = 'version'", []).expect("a change");
    drop(connection);
    let mut catalog = machine.catalog();
    assert_eq!(catalog.rebuilt(), Some(Rebuilt::OtherVersion));
    machine.sync_into(&mut catalog);
    assert_eq!(machine.answers_of(&catalog, &["quokka"]), before);
}

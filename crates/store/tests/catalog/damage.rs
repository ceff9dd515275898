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

//! A single bit flips, anywhere in a journal with every kind of record. It is noticed, and costs at most the
//! line it hit.

use crate::support::{Dice, SimDisk, assert_clean, every_kind, rounds, store_on, vote};
use offshoot_session::SessionId;
use offshoot_session::format::{BlobName, BlobTrouble, Blobs, Position, encode_batch, scan};
use offshoot_store::{SessionStore, fsck};

struct Kept(Vec<(BlobName, Vec<u8>)>);

impl Blobs for Kept {
    fn blob(&self, name: &BlobName) -> Result<Vec<u8>, BlobTrouble> {
        let found = self.0.iter().find(|(kept, _)| kept == name);
        found.map(|(_, bytes)| bytes.clone()).ok_or(BlobTrouble::Missing)
    }
}

#[test]
fn every_flip_is_noticed_and_costs_one_line() {
    let mut steps = every_kind("s");
    steps.push(vec![vote(), vote()]);
    let mut bytes = Vec::new();
    let mut kept = Kept(Vec::new());
    for step in &steps {
        let encoded = encode_batch(step).unwrap();
        bytes.extend(encoded.bytes);
        kept.0.extend(encoded.blobs.into_iter().map(|blob| (blob.name, blob.bytes)));
    }
    let records = steps.concat();
    let sound = scan(&bytes, Position::default(), &kept).unwrap();
    assert_eq!(sound.records, records);
    assert_eq!(sound.found.len(), 2, "the two lines of a later version");

    let mut dice = Dice::seeded(7);
    for _ in 0..rounds(2_500, 10_000) {
        let (at, bit) = (dice.roll(bytes.len()), dice.roll(8));
        let hit = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << bit;
        let when = format!("bit {bit} of byte {at}, in line {}", hit + 1);
        let read = scan(&flipped, Position::default(), &kept).unwrap();
        let noticed = read.found.iter().filter(|found| !sound.found.contains(found)).count();
        assert!(noticed > 0, "{when}: nobody noticed");
        assert_eq!(read.tail, None, "{when}: this would be cut away");
        let mut rest = read.records.iter();
        for (line, record) in records.iter().enumerate().filter(|(line, _)| *line != hit) {
            assert!(rest.any(|read| read == record), "{when}: line {} is gone", line + 1);
        }
    }
}

/// The same through the store: what is wrong is told by loading and by fsck, and writing goes on behind it.
#[test]
fn a_store_lives_on_with_a_flipped_bit() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let session = SessionId::from("s");
    let steps = every_kind("s");
    store.create(&steps[0]).unwrap();
    for step in &steps[1..] {
        store.append(&session, &mut |_| Some(step.clone())).unwrap();
    }
    assert_clean(&store, "before");
    let path = store.home().journal(&session);
    let sound = disk.read(&path);
    let mut dice = Dice::seeded(11);
    for round in 0..rounds(50, 500) {
        let mut flipped = sound.clone();
        let at = dice.roll(flipped.len());
        flipped[at] ^= 1 << dice.roll(8);
        disk.overwrite(&path, flipped.clone());
        assert!(!store.read(&session).unwrap().unwrap().findings.is_empty());
        assert!(!fsck(&store, &mut |_| {}).unwrap().is_clean());
        let id = format!("after-{round}");
        let next = crate::support::prompt(&id, None);
        store.append(&session, &mut |_| Some(vec![next.clone()])).unwrap();
        assert!(disk.read(&path).starts_with(&flipped), "byte {at}");
        assert!(store.read(&session).unwrap().unwrap().tree.contains(&id.into()));
    }
}

//! The hash tags of the shards: all keys of a shard lie in one Redis Cluster slot, and the slots are evenly spaced, so
//! that any even split of the slots over nodes splits the shards evenly too.

/// How many slots a Redis Cluster has.
pub const SLOTS: u16 = 16_384;

/// CRC-16 as Redis Cluster uses it (XMODEM: polynomial 0x1021, start 0).
#[must_use]
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 {
                shifted
            } else {
                shifted ^ 0x1021
            }
        })
    })
}

/// The Redis Cluster slot of a hash tag.
#[must_use]
pub fn slot(tag: &[u8]) -> u16 {
    crc16(tag) % SLOTS
}

/// The hash tags of `shards` shards, three characters each. Shard i of n gets the first word that falls exactly into
/// the middle of the i-th of n equal ranges of slots. The same for ever: keys are made of them.
#[must_use]
pub fn hash_tags(shards: u16) -> Vec<[u8; 3]> {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut by_slot: Vec<Option<[u8; 3]>> = vec![None; usize::from(SLOTS)];
    for a in LETTERS {
        for b in LETTERS {
            for c in LETTERS {
                let word = [*a, *b, *c];
                by_slot[usize::from(slot(&word))].get_or_insert(word);
            }
        }
    }
    let width = usize::from(SLOTS) / usize::from(shards.max(1));
    (0..usize::from(shards))
        .map(|shard| {
            let start = shard * usize::from(SLOTS) / usize::from(shards);
            let middle = start + width / 2;
            // Words hit most slots; where none does, the nearest hit above, then below, still in the shard's range.
            let above = middle..start + width;
            let found = above.chain((start..middle).rev()).find_map(|slot| by_slot[slot]);
            found.unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc16_is_the_one_of_redis_cluster() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot(b"user1000"), 3_443);
    }

    #[test]
    fn shards_are_evenly_spaced_over_the_slots() {
        for shards in [1, 2, 3, 64, 100, crate::deployment::SHARDS_MAX] {
            let tags = hash_tags(shards);
            let width = SLOTS / shards;
            let mut slots: Vec<u16> = tags.iter().map(|tag| slot(tag)).collect();
            for (shard, slot) in slots.iter().enumerate() {
                let start = shard as u32 * u32::from(SLOTS) / u32::from(shards);
                assert!(
                    (start..start + u32::from(width)).contains(&u32::from(*slot)),
                    "{shards}: {shard}"
                );
            }
            slots.dedup();
            assert_eq!(slots.len(), usize::from(shards));
        }
        // The default's slots are near the middle of their ranges, so that 2 to 32 nodes get equal shares.
        for (shard, tag) in hash_tags(64).iter().enumerate() {
            let slot = usize::from(slot(tag));
            assert!(
                (shard * 256 + 96..shard * 256 + 160).contains(&slot),
                "{shard}: {slot}"
            );
        }
    }

    #[test]
    fn the_table_never_changes() {
        let table: Vec<u8> = hash_tags(64).concat();
        assert_eq!(&table[..9], b"ht4jwbif5");
        assert_eq!(blake3::hash(&table).to_hex()[..16], *"52a778de797ac1e8");
    }
}

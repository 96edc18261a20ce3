//! Looks for what should not be: sessions that no index knows, and outboxes that grow.

use tablemate_store::session_store::PageToken;
use tablemate_store::{Cursor, Read, Result};
use tracing::warn;

use super::trouble::Trouble;
use super::{Ownership, Tools};

/// How many keys are looked at in one call.
const PAGE: usize = 512;

/// Tidies up until the loops stop.
pub(super) async fn run(tools: Tools, ownership: Ownership) {
    let mut trimming = Trouble::with("trimming of outboxes");
    let mut searching = Trouble::with("search for lost sessions");
    while tools.sleep(tools.config.janitor_poll).await {
        trimming.note(trim(&tools, &ownership).await);
        if ownership.owns(0) {
            searching.note(find_orphans(&tools).await);
        }
    }
}

async fn trim(tools: &Tools, ownership: &Ownership) -> Result<()> {
    for shard in 0..tools.stores.sessions.deployment().shards {
        if ownership.owns(shard) && !tools.stop.is_cancelled() {
            tools
                .stores
                .sessions
                .outbox_trim(shard, tools.config.outbox_kept)
                .await?;
        }
    }
    Ok(())
}

/// Sessions with a log that no index knows get an entry that is due at once: whoever fires it finds the right one.
async fn find_orphans(tools: &Tools) -> Result<()> {
    let sessions = &tools.stores.sessions;
    let mut page: Option<PageToken> = None;
    loop {
        let found = sessions.orphans(page, PAGE).await?;
        for session in found.sessions {
            let Read::Found(tail) = sessions.read(session, Cursor::START, 0).await? else {
                continue;
            };
            warn!(%session, "a session without an entry in the index of deadlines gets one");
            let end = Cursor::START.after(&tail.entries);
            // Who is faster than we are has put a right one there.
            sessions.repair_index(session, end, tail.now).await?;
        }
        page = found.next;
        if page.is_none() || tools.stop.is_cancelled() {
            return Ok(());
        }
    }
}

//! Looks after the hall: unfinished matches, tickets that waited too long, pairs that nobody made on arrival.

use futures::{StreamExt as _, stream};
use tablemate_session::Millis;
use tablemate_store::Result;
use tablemate_store::hall_store::{PairAnswer, TICKETS_VISITED_MAX};
use tracing::debug;

use super::trouble::Trouble;
use super::{Ownership, Tools};
use crate::matches::Unfinished;

/// How many matches are finished at once.
const PARALLEL: usize = 16;
/// How much older than for the hall's owner a match is before anybody else finishes it.
const GRACE: Millis = Millis(750);

/// Looks after the hall until the loops stop.
pub(super) async fn run(tools: Tools, ownership: Ownership) {
    let mut finishing = Trouble::with("finishing of matches");
    let mut expiring = Trouble::with("expiry of tickets");
    let mut pairing = Trouble::with("pairing of waiting tickets");
    while tools.sleep(tools.config.hall_poll).await {
        let owned = ownership.owns_hall();
        finishing.note(finish(&tools, owned).await);
        if owned {
            expiring.note(expire(&tools).await);
            pairing.note(pair(&tools).await);
        }
    }
}

async fn finish(tools: &Tools, owned: bool) -> std::result::Result<(), Unfinished> {
    let age = tools.config.match_age;
    let age = if owned { age } else { age.plus(GRACE) };
    let (now, found) = tools.matches.unfinished(age, TICKETS_VISITED_MAX).await?;
    let mut results = stream::iter(found)
        .map(|record| {
            let matches = tools.matches.clone();
            async move {
                let result = matches.finish(&record).await;
                (record, result)
            }
        })
        .buffer_unordered(PARALLEL);
    let mut worst = Ok(());
    while let Some((record, result)) = results.next().await {
        let Err(why) = result else { continue };
        debug!(session = %record.id.session(), age = %now.since(record.created_at), %why, "a match stays unfinished");
        // A match that is not ours to finish is no trouble of ours.
        if !matches!(why, Unfinished::NotOurs | Unfinished::NotYet | Unfinished::Gone) {
            worst = Err(why);
        }
    }
    worst
}

async fn expire(tools: &Tools) -> Result<()> {
    loop {
        let expired = tools
            .stores
            .halls
            .expire_tickets(&tools.hall, TICKETS_VISITED_MAX)
            .await?;
        tools.metrics.ticket("expired", expired.len());
        if expired.len() < TICKETS_VISITED_MAX {
            return Ok(());
        }
    }
}

/// Two tickets that wait in one pool: arrival pairs all but those whose partner came and went at the same time.
async fn pair(tools: &Tools) -> Result<()> {
    let halls = &tools.stores.halls;
    for pool in halls.pools(&tools.hall).await? {
        let waiting = halls.waiting(&tools.hall, pool, TICKETS_VISITED_MAX).await?;
        for tickets in waiting.as_chunks::<2>().0 {
            let session = tools
                .stores
                .sessions
                .deployment()
                .session_id_of_ticket(tickets[1]);
            let answer = halls.pair(&tools.hall, pool, *tickets, session).await?;
            if let PairAnswer::Paired(record) = answer
                && let Err(why) = tools.matches.finish(&record).await
            {
                debug!(%session, %why, "a match stays unfinished");
            }
        }
    }
    Ok(())
}

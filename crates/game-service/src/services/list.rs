//! Lists of sessions: shard after shard, page by page.

use futures::StreamExt;
use tablemate_protocol::convert::{Faults, Reason, Refusal, session as wire_session};
use tablemate_protocol::v1;
use tablemate_session::SessionId;
use tablemate_store::session_store::PageToken;
use tonic::Status;

use super::token;
use crate::core::{Core, errors};

const PURPOSE: &str = "page of sessions";
const PAGE_DEFAULT: u32 = 20;
const PAGE_MAX: u32 = 100;
/// How many shards one call looks through before it gives an empty page with a token: calls stay short.
const SHARDS_A_CALL: usize = 64;
const READS_AT_ONCE: usize = 16;

/// Checks a page size; 0 is the default.
pub(super) fn page_size(given: u32) -> Result<usize, Faults> {
    match given {
        0 => Ok(PAGE_DEFAULT as usize),
        1..=PAGE_MAX => Ok(given as usize),
        _ => Err(Faults::one(
            "page_size",
            Reason::BadValue,
            format!("is {given}, allowed is 1 to {PAGE_MAX}"),
        )),
    }
}

/// Where a list goes on.
struct Place {
    shard: u16,
    page: Option<PageToken>,
}

/// One page.
pub(super) async fn sessions(
    core: &Core,
    wire: &v1::ListSessionsRequest,
) -> Result<v1::ListSessionsResponse, Status> {
    let size = page_size(wire.page_size)?;
    let deployment = core.stores.sessions.deployment();
    let mut place = if wire.page_token.is_empty() {
        Place { shard: 0, page: None }
    } else {
        token::open(deployment, PURPOSE, &wire.page_token)
            .and_then(|bytes| read_place(&bytes))
            .filter(|place| place.shard < deployment.shards)
            .ok_or_else(|| Faults::one("page_token", Reason::BadPageToken, "is not a token of this list"))?
    };
    let mut found = Vec::new();
    let mut next_page_token = String::new();
    for looked_through in 0.. {
        if place.shard >= deployment.shards {
            break;
        }
        if found.len() >= size || looked_through >= SHARDS_A_CALL {
            next_page_token = token::seal(deployment, PURPOSE, &write_place(&place));
            break;
        }
        let wanted = size - found.len();
        let page = core
            .stores
            .sessions
            .list(place.shard, place.page.take(), wanted)
            .await
            .map_err(errors::store)?;
        found.extend(summaries(core, page.sessions, wire.unfinished_only).await?);
        place = match page.next {
            Some(next) => Place {
                shard: place.shard,
                page: Some(next),
            },
            None => Place {
                shard: place.shard.saturating_add(1),
                page: None,
            },
        };
    }
    Ok(v1::ListSessionsResponse {
        sessions: found,
        next_page_token,
    })
}

async fn summaries(
    core: &Core,
    ids: Vec<SessionId>,
    unfinished_only: bool,
) -> Result<Vec<v1::SessionSummary>, Refusal> {
    let looks: Vec<_> = futures::stream::iter(ids)
        .map(|id| core.show(id, None))
        .buffered(READS_AT_ONCE)
        .collect()
        .await;
    let mut summaries = Vec::new();
    for look in looks {
        let session = match look {
            Ok(shown) => shown.session,
            // Not for everybody, deleted between the list and the look, or a record that cannot be read: one must not
            // hide the others.
            Err(refusal)
                if matches!(
                    refusal.reason,
                    Reason::WatchNotAllowed | Reason::SessionNotFound | Reason::Corrupt
                ) =>
            {
                continue;
            }
            Err(refusal) => return Err(refusal),
        };
        if !(unfinished_only && session.ended().is_some()) {
            summaries.push(wire_session::summary_to_wire(&session));
        }
    }
    Ok(summaries)
}

fn write_place(place: &Place) -> Vec<u8> {
    let mut bytes = place.shard.to_be_bytes().to_vec();
    if let Some(PageToken(page)) = &place.page {
        bytes.push(1);
        bytes.extend_from_slice(page);
    }
    bytes
}

fn read_place(bytes: &[u8]) -> Option<Place> {
    let (shard, rest) = bytes.split_first_chunk::<2>()?;
    Some(Place {
        shard: u16::from_be_bytes(*shard),
        page: rest.split_first().map(|(_, page)| PageToken(page.to_vec())),
    })
}

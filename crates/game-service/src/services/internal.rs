//! `tablemate.v1.InternalService`: what the matchmaker's loops ask. Not for outsiders.

use std::sync::Arc;

use tablemate_protocol::convert::{Faults, Reason, ids, time};
use tablemate_protocol::v1;
use tablemate_protocol::v1::internal_service_server::InternalService;
use tonic::{Request, Response, Status};

use crate::core::{Agreed, Core, Wanted, parse_creation};

const BATCH_MAX: u32 = 1_000;

/// The service.
#[derive(Clone)]
pub(crate) struct InternalServer {
    pub core: Arc<Core>,
}

#[tonic::async_trait]
impl InternalService for InternalServer {
    async fn fire_due(
        &self,
        request: Request<v1::FireDueRequest>,
    ) -> Result<Response<v1::FireDueResponse>, Status> {
        let wire = request.into_inner();
        let shards = self.core.stores.sessions.deployment().shards;
        let mut faults = Faults::none();
        let shard = u16::try_from(wire.shard).ok().filter(|shard| *shard < shards);
        if shard.is_none() {
            let why = format!("is {}, there are {shards}, from 0", wire.shard);
            faults.add("shard", Reason::BadValue, why);
        }
        if !(1..=BATCH_MAX).contains(&wire.limit) {
            let why = format!("is {}, allowed is 1 to {BATCH_MAX}", wire.limit);
            faults.add("limit", Reason::BadValue, why);
        }
        let (Some(shard), true) = (shard, faults.is_empty()) else {
            return Err(faults.into());
        };
        let report = self.core.fire_due(shard, wire.limit as usize).await?;
        Ok(Response::new(v1::FireDueResponse {
            sessions_fired: report.sessions_fired,
            facts_fired: report.facts_fired,
            sessions_deleted: report.sessions_deleted,
            sessions_failed: report.sessions_failed,
            more_due: report.more_due,
            next_deadline: report.next_deadline.map(time::timestamp),
            lateness_ms: report.lateness_ms,
        }))
    }

    async fn create_matched_session(
        &self,
        request: Request<v1::CreateMatchedSessionRequest>,
    ) -> Result<Response<v1::CreateMatchedSessionResponse>, Status> {
        let wire = request.into_inner();
        let mut wanted = parse(&wire.session_id, wire.creation.as_ref())?;
        let mut wanted_void = false;
        if !wire.previous_session_id.is_empty() {
            let previous = ids::session_id("previous_session_id", &wire.previous_session_id)?;
            match self.core.agreed(previous, wanted.id).await? {
                Agreed::Yes(previous) => wanted.previous = Some(previous),
                Agreed::NotYet => {
                    return Ok(Response::new(v1::CreateMatchedSessionResponse {
                        exists: false,
                        voided: false,
                    }));
                }
                Agreed::Never(previous) => {
                    wanted.previous = Some(previous);
                    wanted_void = true;
                }
            }
        }
        if wanted_void {
            let voided = self.core.void(&wanted).await?;
            return Ok(Response::new(v1::CreateMatchedSessionResponse {
                exists: !voided,
                voided,
            }));
        }
        let voided = match self.core.create_claimed(&wanted).await {
            Ok(_) => false,
            Err(refusal) if refusal.reason == Reason::SessionVoid => true,
            // A session is there under the id, if not by these very arguments: that is all a match asks for.
            Err(refusal) if refusal.reason == Reason::RequestIdReused => false,
            Err(refusal) => return Err(refusal.into()),
        };
        Ok(Response::new(v1::CreateMatchedSessionResponse {
            exists: !voided,
            voided,
        }))
    }

    async fn void_session(
        &self,
        request: Request<v1::VoidSessionRequest>,
    ) -> Result<Response<v1::VoidSessionResponse>, Status> {
        let wire = request.into_inner();
        let wanted = parse(&wire.session_id, wire.creation.as_ref())?;
        let voided = self.core.void(&wanted).await?;
        Ok(Response::new(v1::VoidSessionResponse { voided }))
    }
}

/// The session of a match. Its creation's `request_id` is not looked at: the id is given.
fn parse(session_id: &str, creation: Option<&v1::CreateSessionRequest>) -> Result<Wanted, Status> {
    let mut faults = Faults::none();
    let id = faults.take(ids::session_id("session_id", session_id));
    let Some(creation) = creation else {
        faults.add("creation", Reason::Required, "is not given");
        return Err(faults.into());
    };
    let wanted = faults.take(parse_creation(creation));
    match (id, wanted) {
        (Some(id), Some(wanted)) => Ok(wanted(id)),
        _ => Err(faults.into()),
    }
}

//! Creations: idempotent by the session's id, which is a keyed hash of who creates and the request's id (S-25).

use std::sync::Arc;

use prost::Message;
use tablemate_protocol::convert::{Faults, Reason, Refusal, ids, settings};
use tablemate_protocol::v1;
use tablemate_session::fact::{Creation, InvitationHash, Previous, SessionEnding};
use tablemate_session::player::Player;
use tablemate_session::seat::PerSeat;
use tablemate_session::secret::Secret;
use tablemate_session::session::{CreateError, Session};
use tablemate_session::settings::Settings;
use tablemate_session::{Instant, PlayerId, SessionId};
use tablemate_store::Cursor;
use tablemate_store::hall_store::{MatchId, NewMatch};

use super::judge::Done;
use super::look::Log;
use super::players::store_kind;
use super::write::Begun;
use super::{Core, errors};

/// A session that somebody wants to exist.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Its id.
    pub id: SessionId,
    /// Its settings, valid.
    pub settings: Settings,
    /// The player of seat 1.
    pub one: PlayerId,
    /// The player of seat 2; `None`: the seat is open.
    pub two: Option<PlayerId>,
    /// Who is ready from the start.
    pub ready: PerSeat<bool>,
    /// The session that it is the rematch of.
    pub previous: Option<Previous>,
}

/// The arguments of a creation from the wire, the id aside.
pub(crate) fn parse(wire: &v1::CreateSessionRequest) -> Result<impl Fn(SessionId) -> Wanted + use<>, Faults> {
    let mut faults = Faults::none();
    let one = faults.take(ids::player_id("seat_1_player_id", &wire.seat_1_player_id));
    let two = faults.take(ids::player_id_or_none("seat_2_player_id", &wire.seat_2_player_id));
    let settings = faults.take(settings::settings(wire.settings.as_ref()));
    if let (Some(one), Some(Some(two))) = (&one, &two)
        && one == two
    {
        faults.add(
            "seat_2_player_id",
            Reason::SamePlayer,
            "is the player of seat 1 too",
        );
    }
    if wire.seat_2_ready && wire.seat_2_player_id.is_empty() {
        faults.add(
            "seat_2_ready",
            Reason::BadValue,
            "is set, but nobody has the seat",
        );
    }
    let ready = PerSeat::new(wire.seat_1_ready, wire.seat_2_ready);
    match (one, two, settings) {
        (Some(one), Some(two), Some(settings)) if faults.is_empty() => Ok(move |id| Wanted {
            id,
            settings: settings.clone(),
            one: one.clone(),
            two: two.clone(),
            ready,
            previous: None,
        }),
        _ => Err(faults),
    }
}

impl Wanted {
    /// The creation, with these players as they are now.
    fn creation(
        &self,
        core: &Core,
        one: Player,
        two: Option<Player>,
        secret: Secret,
        outages_known: u64,
    ) -> Creation {
        Creation {
            id: self.id,
            secret,
            settings: self.settings.clone(),
            player_one: one,
            invitation: two
                .is_none()
                .then(|| InvitationHash::of(&core.invitation_token(self.id))),
            player_two: two,
            ready: self.ready,
            previous: self.previous,
            outages_known,
        }
    }

    /// Whether a session is the one that is wanted.
    fn is(&self, core: &Core, session: &Session) -> bool {
        let two = self.two.clone().map(Player::new);
        let secret = Secret::new([0; 32]);
        session.same_creation(&self.creation(core, Player::new(self.one.clone()), two, secret, 0))
    }

    /// As the call that finishes it: what the match record keeps.
    pub fn to_wire(&self) -> v1::CreateMatchedSessionRequest {
        v1::CreateMatchedSessionRequest {
            session_id: self.id.to_string(),
            creation: Some(v1::CreateSessionRequest {
                request_id: String::new(),
                seat_1_player_id: self.one.as_str().to_owned(),
                seat_2_player_id: self
                    .two
                    .as_ref()
                    .map(|two| two.as_str().to_owned())
                    .unwrap_or_default(),
                settings: Some(settings::to_wire(&self.settings)),
                seat_1_ready: self.ready.0[0],
                seat_2_ready: self.ready.0[1],
            }),
            previous_session_id: self
                .previous
                .map(|previous| previous.session.to_string())
                .unwrap_or_default(),
        }
    }

    /// The match record that claims the players for it.
    pub fn to_match(&self) -> NewMatch {
        NewMatch {
            id: MatchId::Creation(self.id),
            kind: store_kind(self.settings.game.kind()),
            players: std::iter::once(self.one.clone())
                .chain(self.two.clone())
                .collect(),
            payload: self.to_wire().encode_to_vec().into(),
        }
    }
}

/// Whether a session was voided before it could be played.
pub(crate) fn is_tombstone(session: &Session) -> bool {
    session
        .ended()
        .is_some_and(|ended| ended.ending == SessionEnding::Aborted)
        && session.sequence() == 2
}

impl Core {
    /// What a player shows to join a session with an open seat (S-27). Rebuilt from the id, so nothing keeps it.
    pub fn invitation_token(&self, id: SessionId) -> String {
        let hash = self
            .stores
            .sessions
            .deployment()
            .keyed("invitation token", &[id.as_bytes()]);
        data_encoding::BASE32HEX_NOPAD
            .encode(&hash[..15])
            .to_ascii_lowercase()
    }

    /// Creates a session, claiming its players first (S-28). A repeated creation finds the first one.
    pub async fn create(&self, wanted: &Wanted) -> Result<Done, Refusal> {
        if let Some(done) = self.created_before(wanted).await? {
            return Ok(done);
        }
        self.claim(&wanted.to_match()).await?;
        let done = self.create_claimed(wanted).await?;
        self.finish_match(&MatchId::Creation(wanted.id)).await;
        Ok(done)
    }

    /// Creates a session whose players are claimed.
    pub async fn create_claimed(&self, wanted: &Wanted) -> Result<Done, Refusal> {
        let kind = wanted.settings.game.kind();
        let one = self.frozen(wanted.one.clone(), kind).await?;
        let two = match &wanted.two {
            Some(two) => Some(self.frozen(two.clone(), kind).await?),
            None => None,
        };
        let secret = secret()?;
        let make = |now: Instant, outages: u64| {
            let creation = wanted.creation(self, one.clone(), two.clone(), secret.clone(), outages);
            Session::create(creation, now).map_err(refused)
        };
        match self.begin(wanted.id, make).await? {
            Begun::Created {
                session,
                facts,
                entries,
                now,
            } => Ok(Done {
                before: None,
                before_cursor: Cursor::START,
                facts,
                entries,
                now_session: session,
                now,
            }),
            Begun::Exists => self.created_before(wanted).await?.ok_or_else(errors::contended),
        }
    }

    /// Makes a session id unusable: `true` when it is now, `false` when a real session exists under it.
    pub async fn void(&self, wanted: &Wanted) -> Result<bool, Refusal> {
        let secret = secret()?;
        let make = |now: Instant, outages: u64| {
            let two = wanted.two.clone().map(Player::new);
            let one = Player::new(wanted.one.clone());
            let creation = wanted.creation(self, one, two, secret.clone(), outages);
            Session::tombstone(creation, now).map_err(refused)
        };
        match self.begin(wanted.id, make).await? {
            Begun::Created { .. } => Ok(true),
            Begun::Exists => Ok(is_tombstone(&self.fresh(wanted.id).await?.session)),
        }
    }

    /// The answer of the same creation made before; `None` when there is no session under the id.
    async fn created_before(&self, wanted: &Wanted) -> Result<Option<Done>, Refusal> {
        let log = match self.log(wanted.id).await {
            Ok(log) => log,
            Err(refusal) if refusal.reason == Reason::SessionNotFound => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let session = Session::fold(&log.facts).map_err(errors::fold)?;
        if is_tombstone(&session) {
            return Err(Refusal::new(
                Reason::SessionVoid,
                "the session was voided before it could be played",
            ));
        }
        if !wanted.is(self, &session) {
            return Err(Refusal::new(
                Reason::RequestIdReused,
                "the request id was used to create another session",
            )
            .with("session_id", wanted.id));
        }
        let Log {
            mut facts,
            mut entries,
            now,
        } = log;
        let count = facts.first().map_or(1, |first| usize::from(first.count)).max(1);
        facts.truncate(count);
        entries.truncate(count);
        Ok(Some(Done {
            before: None,
            before_cursor: Cursor::START,
            facts,
            entries,
            now_session: Arc::new(session),
            now,
        }))
    }
}

/// 32 bytes of the operating system's.
fn secret() -> Result<Secret, Refusal> {
    let mut bytes = [0; 32];
    tablemate_store::entropy::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the operating system gives no random bytes");
        Refusal::new(Reason::Internal, "internal error")
    })?;
    Ok(Secret::new(bytes))
}

/// A creation that the session refuses; the arguments were checked before, so callers rarely see this.
fn refused(error: CreateError) -> Refusal {
    let reason = match error {
        CreateError::Settings(_) => Reason::BadSettings,
        CreateError::SamePlayer => Reason::SamePlayer,
        CreateError::OpenSeatReady => Reason::BadValue,
    };
    Refusal::new(reason, error.to_string())
}

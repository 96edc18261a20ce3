//! Every `reason` of the public API and its status code: one table.

use tonic::Code;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $code:ident;)*) => {
        /// Why a call was refused: the stable `reason` of `google.rpc.ErrorInfo`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])* $variant,)*
        }

        impl Reason {
            /// Every reason there is.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)*];

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Reason::$variant => $name,)* }
            }

            /// The status code that goes with it.
            #[must_use]
            pub const fn code(self) -> Code {
                match self { $(Reason::$variant => Code::$code,)* }
            }
        }
    };
}

reasons! {
    /// The request is no message of this RPC: truncated, or a string is not UTF-8.
    MalformedMessage = "MALFORMED_MESSAGE", InvalidArgument;
    /// The request is larger than the server reads.
    MessageTooLarge = "MESSAGE_TOO_LARGE", InvalidArgument;
    /// A required field is empty.
    Required = "REQUIRED", InvalidArgument;
    /// An id is not in the form that this server gives its ids.
    MalformedId = "MALFORMED_ID", InvalidArgument;
    /// A text has more bytes than allowed.
    TextTooLong = "TEXT_TOO_LONG", InvalidArgument;
    /// A text holds a control character.
    ControlCharacter = "CONTROL_CHARACTER", InvalidArgument;
    /// A setting is out of its bounds.
    BadSettings = "BAD_SETTINGS", InvalidArgument;
    /// A field holds a value that it cannot have.
    BadValue = "BAD_VALUE", InvalidArgument;
    /// A cursor is not one that this server gave for this session or stream.
    BadCursor = "BAD_CURSOR", InvalidArgument;
    /// A page token is not one that this server gave.
    BadPageToken = "BAD_PAGE_TOKEN", InvalidArgument;
    /// The text is not a move of this game at all.
    NotAMove = "NOT_A_MOVE", InvalidArgument;
    /// The rules of the game forbid the move; metadata `why` says which.
    IllegalMove = "ILLEGAL_MOVE", InvalidArgument;


    /// No session has this id (any more).
    SessionNotFound = "SESSION_NOT_FOUND", NotFound;
    /// The session has no game of this number.
    GameNotFound = "GAME_NOT_FOUND", NotFound;
    /// No ticket has this id (any more), or it is another player's.
    TicketNotFound = "TICKET_NOT_FOUND", NotFound;

    /// The acting player has no seat in the session.
    NotSeated = "NOT_SEATED", PermissionDenied;
    /// The invitation token is not this session's.
    BadInvitation = "BAD_INVITATION", PermissionDenied;
    /// The viewer may not watch this session.
    WatchNotAllowed = "WATCH_NOT_ALLOWED", PermissionDenied;

    /// The command would change nothing.
    NoChange = "NO_CHANGE", FailedPrecondition;
    /// The ready flag was taken back as often as allowed.
    ReadyLimit = "READY_LIMIT", FailedPrecondition;
    /// Refused while a game is on.
    GameOn = "GAME_ON", FailedPrecondition;
    /// No game is on.
    GameNotOn = "GAME_NOT_ON", FailedPrecondition;
    /// The session has ended.
    SessionEnded = "SESSION_ENDED", FailedPrecondition;
    /// Seat 2 is still open.
    SeatOpen = "SEAT_OPEN", FailedPrecondition;
    /// Seat 2 is taken already.
    SeatTaken = "SEAT_TAKEN", FailedPrecondition;
    /// A player cannot take both seats. At creation the status is INVALID_ARGUMENT.
    SamePlayer = "SAME_PLAYER", FailedPrecondition;
    /// The other seat is to act.
    NotYourTurn = "NOT_YOUR_TURN", FailedPrecondition;
    /// A deadline took the turn before the command came.
    MoveTooLate = "MOVE_TOO_LATE", FailedPrecondition;
    /// Resigning is not allowed yet; metadata `allowed_from_ms`.
    ResignTooEarly = "RESIGN_TOO_EARLY", FailedPrecondition;
    /// This kind of offer is not possible here or now.
    OfferNotAllowed = "OFFER_NOT_ALLOWED", FailedPrecondition;
    /// The next offer of this kind has to wait; metadata `allowed_from_ms`.
    OfferTooSoon = "OFFER_TOO_SOON", FailedPrecondition;
    /// As many offers of this kind as allowed were made in this game.
    OfferLimit = "OFFER_LIMIT", FailedPrecondition;
    /// The offer is not open (any more).
    OfferGone = "OFFER_GONE", FailedPrecondition;
    /// A player is in an unfinished session or holds a ticket; metadata `player_id`, and `session_id` or `ticket_id`.
    PlayerBusy = "PLAYER_BUSY", FailedPrecondition;
    /// The ticket is matched; metadata `session_id`.
    AlreadyMatched = "ALREADY_MATCHED", FailedPrecondition;
    /// The session was voided before it could be played.
    SessionVoid = "SESSION_VOID", FailedPrecondition;

    /// The ply or sequence that the command is for is not the current one; metadata `ply`, `sequence`.
    Stale = "STALE", Aborted;
    /// The request id was used for another command.
    RequestIdReused = "REQUEST_ID_REUSED", AlreadyExists;

    /// Too much work at once; try again after the given delay.
    Overloaded = "OVERLOADED", ResourceExhausted;
    /// The time that the caller gave ran out. The outcome of a mutation is unknown: repeat it with its request id.
    DeadlineExceeded = "DEADLINE_EXCEEDED", DeadlineExceeded;
    /// The store cannot be reached; nothing was changed.
    StoreUnavailable = "STORE_UNAVAILABLE", Unavailable;
    /// The store's answer was lost: the command may or may not be in force. Repeat it with its request id.
    OutcomeUnknown = "OUTCOME_UNKNOWN", Unavailable;
    /// Others changed the session each time; nothing was changed by this call.
    Contended = "CONTENDED", Unavailable;
    /// This replica is going away; another one answers.
    ShuttingDown = "SHUTTING_DOWN", Unavailable;
    /// A defect of the server; nothing about it is told here.
    Internal = "INTERNAL", Internal;
    /// What is stored cannot be read.
    Corrupt = "CORRUPT", DataLoss;
}

impl Reason {
    /// The reason with this name on the wire.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Reason> {
        Reason::ALL.iter().copied().find(|reason| reason.as_str() == name)
    }

    /// The reason that a status carries.
    #[must_use]
    pub fn of(status: &tonic::Status) -> Option<Reason> {
        use tonic_types::StatusExt as _;
        let info = status.get_details_error_info()?;
        if info.domain == super::status::DOMAIN {
            Reason::from_name(&info.reason)
        } else {
            None
        }
    }
}

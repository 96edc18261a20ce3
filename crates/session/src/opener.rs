//! Who opens a game (S-29, S-5).

use crate::fact::OpenerFound;
use crate::limits;
use crate::seat::{PerSeat, Seat};
use crate::secret::Purpose;
use crate::session::Session;
use crate::settings::OpenerRule;

/// Who opens the game that starts now, and how that was found. Every draw is keyed by the sequence of the `Started` fact.
pub(crate) fn find(session: &Session) -> (Seat, OpenerFound) {
    if let Some(game) = session.game() {
        return (game.opener().other(), OpenerFound::Alternated);
    }
    if let Some(previous) = &session.creation.previous {
        return (previous.opener, OpenerFound::Alternated);
    }
    match session.settings().opener_rule() {
        OpenerRule::AsSeated => (Seat::One, OpenerFound::AsSeated),
        OpenerRule::Draw => (draw(session), OpenerFound::Drawn),
        OpenerRule::Guess => guess(session),
        OpenerRule::Balanced => balanced(session),
    }
}

fn draw(session: &Session) -> Seat {
    let drawn = session
        .creation
        .secret
        .draw_below(2, Purpose::Opener, 1, session.sequence + 1);
    if drawn == 0 { Seat::One } else { Seat::Two }
}

fn guess(session: &Session) -> (Seat, OpenerFound) {
    let drawn = PerSeat::from_fn(|seat| session.ready[seat].number.0.is_none());
    let numbers = PerSeat::from_fn(|seat| {
        session.ready[seat].number.0.unwrap_or_else(|| {
            let numbers = u64::from(limits::NUMBER_MAX) + 1;
            let sequence = session.sequence + 1;
            let secret = &session.creation.secret;
            let number = secret.draw_below(numbers, Purpose::Number(seat), 1, sequence);
            u8::try_from(number).unwrap_or_default()
        })
    });
    let odd = !numbers[Seat::One].abs_diff(numbers[Seat::Two]).is_multiple_of(2);
    let opener = if odd { Seat::Two } else { Seat::One };
    (opener, OpenerFound::Guess { numbers, drawn })
}

fn balanced(session: &Session) -> (Seat, OpenerFound) {
    let balances =
        PerSeat::from_fn(|seat| session.player(seat).map_or(0, |player| player.openings.balance()));
    let [one, two] = balances.0;
    let (opener, drawn) = match one.cmp(&two) {
        std::cmp::Ordering::Less => (Seat::One, false),
        std::cmp::Ordering::Greater => (Seat::Two, false),
        std::cmp::Ordering::Equal => (draw(session), true),
    };
    (opener, OpenerFound::Balanced { balances, drawn })
}

//! Notices: words for the players, by message key and as text in `zh-CN` and `en` (S-23).

use std::borrow::Cow;

use tablemate_engine::game::EndReason;

use crate::event::{EventKind, OfferFate};
use crate::fact::{GameEndReason, GameResult, OfferKind, Outcome, SessionEnding};
use crate::seat::Seat;
use crate::session::Session;

/// A word for a player to show in a bubble or a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The stable key of the message.
    pub key: &'static str,
    /// Whom it is meant for; `None`: everybody.
    pub to: Option<Seat>,
    /// The text in Simplified Chinese.
    pub zh_cn: Cow<'static, str>,
    /// The text in English.
    pub en: Cow<'static, str>,
}

impl Notice {
    const fn new(key: &'static str, to: Option<Seat>, zh_cn: &'static str, en: &'static str) -> Self {
        Self {
            key,
            to,
            zh_cn: Cow::Borrowed(zh_cn),
            en: Cow::Borrowed(en),
        }
    }
}

/// The notices of an event, for both players.
pub(crate) fn of(after: &Session, kind: &EventKind) -> Vec<Notice> {
    let all = |key, zh_cn, en| vec![Notice::new(key, None, zh_cn, en)];
    let to = |seat: Seat, key, zh_cn, en| vec![Notice::new(key, Some(seat), zh_cn, en)];
    let both = |seat: Seat, own: [&'static str; 3], others: [&'static str; 3]| {
        vec![
            Notice::new(own[0], Some(seat), own[1], own[2]),
            Notice::new(others[0], Some(seat.other()), others[1], others[2]),
        ]
    };
    match kind {
        EventKind::Created { .. } | EventKind::Unreadied { .. } => Vec::new(),
        EventKind::Joined { .. } => to(
            Seat::One,
            "joined.to_other",
            "对方已加入",
            "Your opponent has joined",
        ),
        EventKind::Readied { seat, auto: true, .. } => both(
            *seat,
            [
                "auto_ready.to_readied",
                "准备时间已到，系统已为您自动准备",
                "Time to get ready is over; you were made ready",
            ],
            [
                "auto_ready.to_other",
                "准备时间已到，系统已为对方自动准备",
                "Time to get ready is over; your opponent was made ready",
            ],
        ),
        EventKind::Readied {
            seat,
            countdown_deadline: Some(_),
            ..
        } => {
            let seconds = after.settings().ready_time.0.div_ceil(1_000);
            vec![Notice {
                key: "ready.to_other",
                to: Some(seat.other()),
                zh_cn: format!("对方已准备，请在 {seconds} 秒内准备").into(),
                en: format!("Your opponent is ready; please get ready within {seconds} s").into(),
            }]
        }
        EventKind::Readied { .. } => Vec::new(),
        EventKind::Started { opener, .. } => both(
            *opener,
            [
                "started.to_opener",
                "对局开始，您先行",
                "The game starts; you move first",
            ],
            [
                "started.to_other",
                "对局开始，对方先行",
                "The game starts; your opponent moves first",
            ],
        ),
        EventKind::Moved {
            seat, auto: Some(_), ..
        } => both(
            *seat,
            [
                "auto_move.to_mover",
                "您已超时，系统已为您自动下子",
                "Your time for this move ran out; the server moved for you",
            ],
            [
                "auto_move.to_other",
                "对方已超时，系统已为对方自动下子",
                "Your opponent's time for this move ran out; the server moved",
            ],
        ),
        EventKind::Moved { .. } => Vec::new(),
        // The two texts exactly as S-23 gives them.
        EventKind::Passed { seat, .. } => both(
            *seat,
            [
                "pass.to_passer",
                "您无子可下由对方继续下子",
                "You have no legal move; your opponent moves again",
            ],
            [
                "pass.to_other",
                "由于对方无子可下，您可继续下子",
                "Your opponent has no legal move; you move again",
            ],
        ),
        EventKind::Offered(offer) => {
            let other = offer.seat.other();
            match offer.kind {
                OfferKind::Exit => to(
                    other,
                    "offer.exit.to_other",
                    "对方提出协议退出，不计胜负",
                    "Your opponent offers to stop without a result",
                ),
                OfferKind::Draw => to(
                    other,
                    "offer.draw.to_other",
                    "对方提和",
                    "Your opponent offers a draw",
                ),
                OfferKind::Rematch => to(
                    other,
                    "offer.rematch.to_other",
                    "对方邀请您再来一局",
                    "Your opponent offers a rematch",
                ),
            }
        }
        EventKind::OfferClosed { offer, fate } => match fate {
            OfferFate::Accepted => to(
                offer.seat,
                "offer.accepted.to_maker",
                "对方已同意",
                "Your opponent accepts",
            ),
            OfferFate::Declined => to(
                offer.seat,
                "offer.declined.to_maker",
                "对方已拒绝",
                "Your opponent declines",
            ),
            OfferFate::Withdrawn => to(
                offer.seat.other(),
                "offer.withdrawn.to_other",
                "对方已撤回提议",
                "Your opponent takes the offer back",
            ),
            OfferFate::Lapsed => to(
                offer.seat,
                "offer.lapsed.to_maker",
                "您的提议已失效",
                "Your offer has lapsed",
            ),
        },
        EventKind::GameEnded(result) => Seat::ALL
            .into_iter()
            .map(|seat| game_ended(result, seat))
            .collect(),
        EventKind::Left { seat, .. } => to(
            seat.other(),
            "left.to_other",
            "对方已离开",
            "Your opponent has left",
        ),
        EventKind::SessionEnded { ending, .. } => match ending {
            SessionEnding::SeriesComplete => all(
                "session_ended.series_complete",
                "全部对局已结束",
                "All games have been played",
            ),
            SessionEnding::Idle => all(
                "session_ended.idle",
                "长时间无人准备，房间已关闭",
                "Nobody got ready for long; the session is closed",
            ),
            SessionEnding::Left => all(
                "session_ended.left",
                "有玩家离开，房间已关闭",
                "A player has left; the session is closed",
            ),
            SessionEnding::AgreedExit => all(
                "session_ended.agreed_exit",
                "双方协议退出，房间已关闭",
                "Both agreed to stop; the session is closed",
            ),
            SessionEnding::Cancelled => all(
                "session_ended.cancelled",
                "有玩家未准备，房间已关闭",
                "A player did not get ready; the session is closed",
            ),
            SessionEnding::Aborted => all(
                "session_ended.aborted",
                "房间已由管理员关闭",
                "An operator has closed the session",
            ),
        },
        EventKind::ClockCompensated { .. } => all(
            "clock_compensated",
            "服务曾中断，计时已相应顺延",
            "The service was interrupted; the clocks were moved by as much",
        ),
        EventKind::AbsenceBegun { seat, .. } => to(
            seat.other(),
            "absence_begun.to_other",
            "对方已断线",
            "Your opponent has lost the connection",
        ),
        EventKind::AbsenceEnded { seat } => to(
            seat.other(),
            "absence_ended.to_other",
            "对方已重新连接",
            "Your opponent is back",
        ),
        EventKind::Rematched { .. } => all("rematched", "双方同意再来一局", "A rematch was agreed on"),
    }
}

/// Why a game ended, as the beginning of a sentence, from the side of the loser where there is one.
fn reason_texts(reason: GameEndReason, own: bool) -> [&'static str; 2] {
    match (reason, own) {
        (GameEndReason::Board(EndReason::NoMoves), _) => ["双方均无子可下", "Neither player can move"],
        (GameEndReason::Board(EndReason::WipeOut), _) => {
            ["一方棋子已全部被翻转", "One colour has no disc left"]
        }
        (GameEndReason::Board(EndReason::BoardFull), _) => ["棋盘已下满", "The board is full"],
        (GameEndReason::Resignation, true) => ["您已认输", "You resigned"],
        (GameEndReason::Resignation, false) => ["对方认输", "Your opponent resigned"],
        (GameEndReason::AgreedDraw, _) => ["双方同意和棋", "Both agreed to a draw"],
        (GameEndReason::AgreedExit, _) => ["双方协议退出", "Both agreed to stop"],
        (GameEndReason::ForcedExit, true) => ["您已强行退出", "You left the game"],
        (GameEndReason::ForcedExit, false) => ["对方强行退出", "Your opponent left the game"],
        (GameEndReason::TotalTime, true) => ["您的总用时已耗尽", "Your total time ran out"],
        (GameEndReason::TotalTime, false) => ["对方的总用时已耗尽", "Your opponent's total time ran out"],
        (GameEndReason::TimeoutCount, true) => ["您已超时", "You let the time run out"],
        (GameEndReason::TimeoutCount, false) => ["对方已超时", "Your opponent let the time run out"],
        (GameEndReason::Aborted, _) => ["对局已被管理员终止", "An operator ended the game"],
    }
}

fn game_ended(result: &GameResult, seat: Seat) -> Notice {
    let won = result.outcome == Outcome::Wins(seat);
    let lost = result.outcome == Outcome::Wins(seat.other());
    let (key, zh_cn, en) = match result.outcome {
        Outcome::Wins(_) if won => ("game_ended.won", "您获胜", "you win"),
        Outcome::Wins(_) => ("game_ended.lost", "您落败", "you lose"),
        Outcome::Draw => ("game_ended.draw", "平局", "a draw"),
        Outcome::NotSettled => ("game_ended.not_settled", "不计胜负", "there is no result"),
    };
    let [why_zh_cn, why_en] = reason_texts(result.reason, lost);
    Notice {
        key,
        to: Some(seat),
        zh_cn: format!("{why_zh_cn}，{zh_cn}").into(),
        en: format!("{why_en}: {en}").into(),
    }
}

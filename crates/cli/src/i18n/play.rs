//! Words of `tablemate play` and `tablemate watch` beside the story of the game.

use tablemate_client::{Error, Refusal};

use super::Lang;
use crate::board::clock::{hours_minutes_seconds, seconds};

impl Lang {
    /// What can be typed, a line each: the command, what it does.
    #[must_use]
    pub fn help(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Lang::En => vec![
                ("d3", "place a disc on d3 (column a-h, row 1-8)"),
                ("moves / hint", "your legal moves / what the engine would play"),
                ("ready / unready", "get ready for the game / take that back"),
                ("exit", "offer to stop without a result (also: offer exit)"),
                ("accept / decline", "answer the opponent's offer"),
                ("withdraw", "take your own offer back"),
                ("resign", "give the game up (not in its first minute)"),
                ("leave", "leave for good: a game that is on is lost"),
                ("rematch", "offer another game after the end"),
                ("board", "show the board again"),
                ("quit", "end this program; a game that is on goes on without you"),
            ],
            Lang::Zh => vec![
                ("d3", "在 d3 落子（列 a-h，行 1-8）"),
                ("moves / hint", "列出可下之处 / 引擎的建议"),
                ("ready / unready", "准备 / 取消准备"),
                ("exit", "提议协议退出，不计胜负（也可用 offer exit）"),
                ("accept / decline", "接受 / 拒绝对方的提议"),
                ("withdraw", "收回自己的提议"),
                ("resign", "认输（开局第一分钟内不可）"),
                ("leave", "强行退出：进行中的对局判负"),
                ("rematch", "终局后邀请再来一局"),
                ("board", "重新显示棋盘"),
                ("quit", "结束本程序；进行中的对局会继续，超时由系统代下"),
            ],
        }
    }

    /// The line under the input line.
    #[must_use]
    pub fn input_hint(self) -> &'static str {
        self.pick(
            "d3 · moves · hint · ready · exit · accept · resign · rematch · help · quit",
            "d3 落子 · moves 可下处 · hint 提示 · ready 准备 · exit 求退 · accept 同意 · resign 认输 · help · quit",
        )
    }

    /// Why the service said no, in words for a player.
    #[must_use]
    pub fn refused(self, error: &Error, now_ms: u64) -> String {
        match error {
            Error::Refused(refusal) => self.refusal(refusal, now_ms),
            Error::Unavailable {
                outcome_unknown: true,
                ..
            } => self
                .pick(
                    "No answer from the server: what you did may or may not be in force. Watch the board.",
                    "服务器没有回应：刚才的操作可能已生效，也可能没有，请看棋盘。",
                )
                .to_owned(),
            Error::Unavailable { .. } => self
                .pick(
                    "No answer from the server: nothing was done. Try again.",
                    "服务器没有回应：操作未执行，请重试。",
                )
                .to_owned(),
            other => other.to_string(),
        }
    }

    fn refusal(self, refusal: &Refusal, now_ms: u64) -> String {
        // Reasons with an instant that they are refused until.
        if let Some(from_ms) = refusal.number("allowed_from_ms") {
            let at = hours_minutes_seconds(from_ms);
            let left = seconds(from_ms.saturating_sub(now_ms));
            match (refusal.reason.as_str(), self) {
                ("RESIGN_TOO_EARLY", Lang::En) => {
                    return format!("Too early to resign: possible from {at} UTC (in {left} s).");
                }
                ("RESIGN_TOO_EARLY", Lang::Zh) => {
                    return format!("现在还不能认输：UTC {at} 起可以（还有 {left} 秒）。");
                }
                ("OFFER_TOO_SOON", Lang::En) => {
                    return format!("The next offer is possible from {at} UTC (in {left} s).");
                }
                ("OFFER_TOO_SOON", Lang::Zh) => {
                    return format!("UTC {at} 起才能再次提议（还有 {left} 秒）。");
                }
                _ => {}
            }
        }
        let (en, zh) = match refusal.reason.as_str() {
            "ILLEGAL_MOVE" => match refusal.metadata.get("why").map(String::as_str) {
                Some("OCCUPIED" | "occupied") => ("That square is taken.", "该处已有棋子。"),
                Some("TURNS_NOTHING" | "turns_nothing") => {
                    ("A disc there turns nothing.", "该处不能翻转任何棋子，不可落子。")
                }
                _ => (
                    "Not a legal move: it must turn at least one disc.",
                    "不可落子：必须翻转至少一枚对方棋子。",
                ),
            },
            "NOT_YOUR_TURN" => ("It is not your turn.", "还没轮到您。"),
            "GAME_NOT_ON" => ("No game is on.", "现在没有进行中的对局。"),
            "GAME_ON" => ("Not while a game is on.", "对局进行中，不能这样做。"),
            "MOVE_TOO_LATE" => (
                "Too late: your time ran out before the move arrived.",
                "太迟了：落子到达前您已超时。",
            ),
            "STALE" => (
                "The game has moved on meanwhile; look at the board again.",
                "局面已变化，请再看一下棋盘。",
            ),
            "RESIGN_TOO_EARLY" => ("Too early to resign.", "现在还不能认输。"),
            "OFFER_TOO_SOON" => ("Too soon after your last offer.", "距离上次提议太近。"),
            "OFFER_LIMIT" => ("You have no more offers in this game.", "本局的提议次数已用完。"),
            "OFFER_GONE" => ("That offer is not open any more.", "该提议已失效。"),
            "OFFER_NOT_ALLOWED" => ("That cannot be offered here and now.", "此时不能这样提议。"),
            "NO_CHANGE" => ("That is so already.", "已经是这样了。"),
            "READY_LIMIT" => (
                "You cannot take it back any more in this game.",
                "本局取消准备的次数已用完。",
            ),
            "SEAT_OPEN" => ("The other seat is still open.", "对面还没有人。"),
            "SEAT_TAKEN" => ("The seat is taken already.", "该座位已有人。"),
            "SAME_PLAYER" => (
                "You cannot play against yourself: take another name (--player).",
                "不能和自己对局：请换一个名字（--player）。",
            ),
            "BAD_INVITATION" => ("That invitation is not for this session.", "邀请码不符。"),
            "SESSION_ENDED" => ("The session has ended.", "房间已关闭。"),
            "SESSION_NOT_FOUND" => (
                "There is no such session (any more).",
                "没有这个房间（或已过期）。",
            ),
            "GAME_NOT_FOUND" => ("The session has no such game.", "该房间没有这一局。"),
            "WATCH_NOT_ALLOWED" => ("You may not watch this session.", "您无权观看此房间。"),
            "PLAYER_BUSY" => {
                let player = refusal.metadata.get("player_id").cloned().unwrap_or_default();
                let session = refusal.metadata.get("session_id").cloned().unwrap_or_default();
                return match (self, session.is_empty()) {
                    (Lang::En, true) => format!("{player} is busy with another game."),
                    (Lang::Zh, true) => format!("{player} 正在另一局中。"),
                    (Lang::En, false) => {
                        format!(
                            "{player} is in session {session} already; go on there with --resume {session}."
                        )
                    }
                    (Lang::Zh, false) => {
                        format!("{player} 已在房间 {session} 中；用 --resume {session} 回到那里。")
                    }
                };
            }
            _ => return refusal.to_string(),
        };
        self.pick(en, zh).to_owned()
    }
}

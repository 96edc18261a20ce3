//! Words of `tablemate play` and `tablemate watch` beside the story of the game.

use tablemate_client::{Error, Reason, Refusal, v1};
use tablemate_engine::reversi::SquareSet;

use super::Lang;
use crate::board::clock::{hours_minutes_seconds, seconds};
use crate::board::table::Table;

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
            "d3 落子 · ready 准备 · hint 提示 · exit 求退 · resign 认输 · help · quit 退出",
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

    /// Nobody listens at the addresses.
    #[must_use]
    pub fn nobody_listens(self, addresses: &str) -> String {
        match self {
            Lang::En => format!(
                "no service listens on {addresses}.\nStart one in another terminal with `tablemate dev`, or name one with \
                 --server HOST:PORT."
            ),
            Lang::Zh => format!(
                "{addresses} 上没有服务。\n请在另一个终端运行 `tablemate dev` 启动服务，或用 --server HOST:PORT 指定。"
            ),
        }
    }

    /// The session and who plays.
    #[must_use]
    pub fn session_line(self, table: &Table) -> String {
        let [one, two] = &table.seats;
        let id = &table.session_id;
        match (self, two.player_id.is_empty()) {
            (Lang::En, false) => format!("Session {id}: {} against {}", one.player_id, two.player_id),
            (Lang::Zh, false) => format!("房间 {id}：{} 对 {}", one.player_id, two.player_id),
            (Lang::En, true) => format!("Session {id}: {}, the other seat is open", one.player_id),
            (Lang::Zh, true) => format!("房间 {id}：{}，另一座位空着", one.player_id),
        }
    }

    /// The store lost its tail (S-22).
    #[must_use]
    pub fn resynchronised(self) -> &'static str {
        self.pick(
            "The server lost the last moments; this is how the game stands now.",
            "服务器丢失了最后片刻的记录；以下为当前局面。",
        )
    }

    /// How long the player has, and where to place.
    #[must_use]
    pub fn time_and_moves(self, whole_ms: u64, legal: SquareSet) -> String {
        let list = squares(legal);
        let time = seconds(whole_ms);
        match self {
            Lang::En => format!(", {time} s. Moves: {list}"),
            Lang::Zh => format!("，{time} 秒。可下：{list}"),
        }
    }

    /// Where the player to act may place.
    #[must_use]
    pub fn legal_moves(self, legal: SquareSet, game_on: bool) -> String {
        if !game_on {
            return self.no_game().to_owned();
        }
        let list = squares(legal);
        match self {
            Lang::En => format!("Legal moves: {list}"),
            Lang::Zh => format!("可下：{list}"),
        }
    }

    /// A countdown goes on.
    #[must_use]
    pub fn seconds_left(self, seconds: u64) -> String {
        match self {
            Lang::En => format!("{seconds} s left"),
            Lang::Zh => format!("还有 {seconds} 秒"),
        }
    }

    /// The ticket searches.
    #[must_use]
    pub fn searching(self, player_id: &str) -> String {
        match self {
            Lang::En => format!("Looking for an opponent for {player_id} … (Ctrl-C stops)"),
            Lang::Zh => format!("正在为 {player_id} 寻找对手 …（Ctrl-C 停止）"),
        }
    }

    /// The ticket is over without a session.
    #[must_use]
    pub fn not_matched(self, state: v1::TicketState) -> &'static str {
        match state {
            v1::TicketState::Expired => self.pick("nobody was found in time", "未能及时找到对手"),
            _ => self.pick(
                "the search was cancelled, or replaced by a newer one of the same player",
                "寻找已取消，或被同一玩家的新请求取代",
            ),
        }
    }

    /// The ticket was cancelled.
    #[must_use]
    pub fn cancelled(self) -> &'static str {
        self.pick("The search was cancelled.", "已停止寻找。")
    }

    /// Too late to cancel.
    #[must_use]
    pub fn matched_meanwhile(self) -> &'static str {
        self.pick(
            "An opponent was found just now; the session goes on without you.",
            "刚刚已找到对手；房间将在您不在时继续。",
        )
    }

    /// Above the command that invites.
    #[must_use]
    pub fn invite(self) -> &'static str {
        self.pick("The other player joins with:", "请对方用以下命令加入：")
    }

    /// The first `quit` during a game.
    #[must_use]
    pub fn really_quit(self) -> &'static str {
        self.pick(
            "The game goes on without you, and your time runs. Type quit again to go, or resign or leave to end it.",
            "您离开后对局仍会继续并计时。再输入一次 quit 退出；或用 resign 认输、leave 离开。",
        )
    }

    /// The first `leave` during a game.
    #[must_use]
    pub fn really_leave(self) -> &'static str {
        self.pick(
            "Leaving loses this game and counts as an escape. Type leave again to do so.",
            "强行退出将判负并记一次逃跑。再输入一次 leave 确认。",
        )
    }

    /// No game is on.
    #[must_use]
    pub fn no_game(self) -> &'static str {
        self.pick("No game is on.", "现在没有进行中的对局。")
    }

    /// The other is to act.
    #[must_use]
    pub fn not_your_turn(self) -> &'static str {
        self.pick("It is not your turn.", "还没轮到您。")
    }

    /// A spectator cannot act.
    #[must_use]
    pub fn only_look(self) -> &'static str {
        self.pick(
            "You are only looking on; quit ends it.",
            "您在旁观；输入 quit 退出。",
        )
    }

    /// There is nothing to answer or take back.
    #[must_use]
    pub fn no_open_offer(self) -> &'static str {
        self.pick("There is no such offer.", "没有这样的提议。")
    }

    /// A square is taken.
    #[must_use]
    pub fn occupied(self, square: &str) -> String {
        match self {
            Lang::En => format!("{square} is taken."),
            Lang::Zh => format!("{square} 已有棋子。"),
        }
    }

    /// A disc would turn nothing.
    #[must_use]
    pub fn turns_nothing(self, square: &str) -> String {
        match self {
            Lang::En => format!("A disc on {square} turns nothing. The squares marked + do."),
            Lang::Zh => format!("下在 {square} 不能翻转任何棋子。标有 + 的位置可以。"),
        }
    }

    /// What the engine would play.
    #[must_use]
    pub fn hint(self, mv: &str) -> String {
        match self {
            Lang::En => format!("The engine would play {mv}."),
            Lang::Zh => format!("引擎建议下 {mv}。"),
        }
    }

    /// Where a watcher can go on.
    #[must_use]
    pub fn resume_at(self, cursor: &str) -> String {
        match self {
            Lang::En => format!("To go on from here: --cursor {cursor}"),
            Lang::Zh => format!("从此处继续：--cursor {cursor}"),
        }
    }

    /// The line under a screen that one only looks at.
    #[must_use]
    pub fn watch_hint(self) -> &'static str {
        self.pick("q or Ctrl-C ends it", "按 q 或 Ctrl-C 结束")
    }

    fn refusal(self, refusal: &Refusal, now_ms: u64) -> String {
        // Reasons with an instant that they are refused until.
        if let Some(from_ms) = refusal.number("allowed_from_ms") {
            let at = hours_minutes_seconds(from_ms);
            let left = seconds(from_ms.saturating_sub(now_ms));
            match (Reason::from_name(&refusal.reason), self) {
                (Some(Reason::ResignTooEarly), Lang::En) => {
                    return format!("Too early to resign: possible from {at} UTC (in {left} s).");
                }
                (Some(Reason::ResignTooEarly), Lang::Zh) => {
                    return format!("现在还不能认输：UTC {at} 起可以（还有 {left} 秒）。");
                }
                (Some(Reason::OfferTooSoon), Lang::En) => {
                    return format!("The next offer is possible from {at} UTC (in {left} s).");
                }
                (Some(Reason::OfferTooSoon), Lang::Zh) => {
                    return format!("UTC {at} 起才能再次提议（还有 {left} 秒）。");
                }
                _ => {}
            }
        }
        let Some(reason) = Reason::from_name(&refusal.reason) else {
            return refusal.to_string();
        };
        let (en, zh) = match reason {
            Reason::IllegalMove => match refusal.metadata.get("why").map(String::as_str) {
                Some("OCCUPIED" | "occupied") => ("That square is taken.", "该处已有棋子。"),
                Some("TURNS_NOTHING" | "turns_nothing") => {
                    ("A disc there turns nothing.", "该处不能翻转任何棋子，不可落子。")
                }
                _ => (
                    "Not a legal move: it must turn at least one disc.",
                    "不可落子：必须翻转至少一枚对方棋子。",
                ),
            },
            Reason::NotYourTurn => ("It is not your turn.", "还没轮到您。"),
            Reason::GameNotOn => ("No game is on.", "现在没有进行中的对局。"),
            Reason::GameOn => ("Not while a game is on.", "对局进行中，不能这样做。"),
            Reason::MoveTooLate => (
                "Too late: your time ran out before the move arrived.",
                "太迟了：落子到达前您已超时。",
            ),
            Reason::Stale => (
                "The game has moved on meanwhile; look at the board again.",
                "局面已变化，请再看一下棋盘。",
            ),
            Reason::ResignTooEarly => ("Too early to resign.", "现在还不能认输。"),
            Reason::OfferTooSoon => ("Too soon after your last offer.", "距离上次提议太近。"),
            Reason::OfferLimit => ("You have no more offers in this game.", "本局的提议次数已用完。"),
            Reason::OfferGone => ("That offer is not open any more.", "该提议已失效。"),
            Reason::OfferNotAllowed => ("That cannot be offered here and now.", "此时不能这样提议。"),
            Reason::NoChange => ("That is so already.", "已经是这样了。"),
            Reason::ReadyLimit => (
                "You cannot take it back any more in this game.",
                "本局取消准备的次数已用完。",
            ),
            Reason::SeatOpen => ("The other seat is still open.", "对面还没有人。"),
            Reason::SeatTaken => ("The seat is taken already.", "该座位已有人。"),
            Reason::SamePlayer => (
                "You cannot play against yourself: take another name (--player).",
                "不能和自己对局：请换一个名字（--player）。",
            ),
            Reason::BadInvitation => ("That invitation is not for this session.", "邀请码不符。"),
            Reason::SessionEnded => ("The session has ended.", "房间已关闭。"),
            Reason::SessionNotFound => (
                "There is no such session (any more).",
                "没有这个房间（或已过期）。",
            ),
            Reason::GameNotFound => ("The session has no such game.", "该房间没有这一局。"),
            Reason::WatchNotAllowed => ("You may not watch this session.", "您无权观看此房间。"),
            Reason::PlayerBusy => {
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

/// The squares of a set by name.
fn squares(set: SquareSet) -> String {
    let names: Vec<&str> = set.map(|square| square.as_str()).collect();
    names.join(" ")
}

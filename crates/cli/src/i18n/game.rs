//! Words about what happens at a table: shared by `play` and `watch`.

use tablemate_engine::Colour;
use tablemate_protocol::v1;
use tablemate_protocol::v1::event::Kind;

use super::Lang;
use crate::board::picture::Glyphs;
use crate::board::table::{Table, colour, other};

/// How a sentence is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A line among others.
    Story,
    /// A word to this player, to be shown in a bubble (S-23).
    Bubble,
    /// A result.
    Result,
}

/// A sentence about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// How it is meant.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
}

/// Who tells: the language and the discs.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    /// The language.
    pub lang: Lang,
    /// The discs.
    pub glyphs: Glyphs,
}

impl Voice {
    /// `● black` in the reader's language.
    #[must_use]
    pub fn colour(self, colour: Colour) -> String {
        let name = match colour {
            Colour::Black => self.lang.pick("black", "黑"),
            Colour::White => self.lang.pick("white", "白"),
        };
        format!("{} {name}", self.glyphs.disc(colour))
    }

    /// The player of a seat.
    #[must_use]
    pub fn player(self, table: &Table, seat: u32) -> String {
        match table.seat(seat) {
            Some(seat) if !seat.player_id.is_empty() => seat.player_id.clone(),
            _ => match self.lang {
                Lang::En => format!("seat {seat}"),
                Lang::Zh => format!("{seat} 号座"),
            },
        }
    }

    /// What an event means to the viewer of the table, which has it folded in already. To a player the server's own
    /// notices are told; what it has none for, and what a spectator sees, is told in words of ours.
    #[must_use]
    pub fn tell(self, table: &Table, event: &v1::Event) -> Vec<Said> {
        let mut said = Vec::new();
        let notices: Vec<&v1::Notice> = event
            .notices
            .iter()
            .filter(|notice| notice.seat == 0 || Some(notice.seat) == table.me)
            .collect();
        // Moves and results are always told; of the rest the notice is enough.
        let always = matches!(event.kind, Some(Kind::Moved(_) | Kind::GameEnded(_)));
        if always || notices.is_empty() {
            said.extend(self.own_words(table, event));
        }
        said.extend(notices.into_iter().map(|notice| Said {
            tone: if notice.seat == 0 {
                Tone::Story
            } else {
                Tone::Bubble
            },
            text: self.lang.pick(&notice.en, &notice.zh_cn).clone(),
        }));
        said
    }

    fn own_words(self, table: &Table, event: &v1::Event) -> Option<Said> {
        let text = match event.kind.as_ref()? {
            Kind::Created(_) => self
                .lang
                .pick("The session was created.", "房间已创建。")
                .to_owned(),
            Kind::Joined(joined) => match self.lang {
                Lang::En => format!("{} has joined.", joined.player_id),
                Lang::Zh => format!("{} 已加入。", joined.player_id),
            },
            Kind::Readied(readied) => self.readied(table, event, readied),
            Kind::Unreadied(unreadied) => {
                let player = self.player(table, unreadied.seat);
                match self.lang {
                    Lang::En => format!("{player} is not ready any more."),
                    Lang::Zh => format!("{player} 取消了准备。"),
                }
            }
            Kind::Started(started) => self.started(table, event, started),
            Kind::Moved(moved) => self.moved(table, moved),
            Kind::Passed(passed) => {
                let passer = self.player(table, passed.seat);
                let next = self.player(table, other(passed.seat));
                let colour = colour(passed.colour()).map_or(String::new(), |colour| self.colour(colour));
                match self.lang {
                    Lang::En => {
                        format!(
                            "{:>2}. {colour} {passer} has no legal move; {next} moves again.",
                            passed.ply
                        )
                    }
                    Lang::Zh => format!(
                        "{:>2}. {colour} {passer} 无子可下，由 {next} 继续下子。",
                        passed.ply
                    ),
                }
            }
            Kind::Offered(offered) => self.offered(table, offered.offer.as_ref()?),
            Kind::OfferClosed(closed) => self.offer_closed(table, closed.offer.as_ref()?, closed.fate()),
            Kind::GameEnded(ended) => {
                return Some(Said {
                    tone: Tone::Result,
                    text: self.result(table, ended.result.as_ref()?),
                });
            }
            Kind::Left(left) => {
                let player = self.player(table, left.seat);
                match self.lang {
                    Lang::En => format!("{player} has left."),
                    Lang::Zh => format!("{player} 已离开。"),
                }
            }
            Kind::SessionEnded(ended) => self.ending(ended.ending()).to_owned(),
            Kind::ClockCompensated(_) => self
                .lang
                .pick(
                    "The service was interrupted; the clocks were moved by as much.",
                    "服务曾中断，计时已相应顺延。",
                )
                .to_owned(),
            Kind::AbsenceBegun(absence) => {
                let player = self.player(table, absence.seat);
                match self.lang {
                    Lang::En => format!("{player} has lost the connection."),
                    Lang::Zh => format!("{player} 已断线。"),
                }
            }
            Kind::AbsenceEnded(absence) => {
                let player = self.player(table, absence.seat);
                match self.lang {
                    Lang::En => format!("{player} is back."),
                    Lang::Zh => format!("{player} 已重新连接。"),
                }
            }
            Kind::RematchAgreed(rematch) => match self.lang {
                Lang::En => format!("A rematch was agreed on: session {}.", rematch.next_session_id),
                Lang::Zh => format!("双方同意再来一局：房间 {}。", rematch.next_session_id),
            },
        };
        Some(Said {
            tone: Tone::Story,
            text,
        })
    }

    fn readied(self, table: &Table, event: &v1::Event, readied: &v1::PlayerReadied) -> String {
        let player = self.player(table, readied.seat);
        let automatic = event.actor.is_some_and(|actor| actor.automatic);
        match (self.lang, automatic) {
            (Lang::En, true) => format!("{player} was made ready: the time for it was over."),
            (Lang::Zh, true) => format!("准备时间已到，系统已为 {player} 自动准备。"),
            (Lang::En, false) => format!("{player} is ready."),
            (Lang::Zh, false) => format!("{player} 已准备。"),
        }
    }

    fn started(self, table: &Table, event: &v1::Event, started: &v1::GameStarted) -> String {
        let opener = self.player(table, started.opener_seat);
        match self.lang {
            Lang::En => format!("Game {} starts; {opener} moves first.", event.game_number),
            Lang::Zh => format!("第 {} 局开始，{opener} 先行。", event.game_number),
        }
    }

    fn moved(self, table: &Table, moved: &v1::MoveMade) -> String {
        let player = self.player(table, moved.seat);
        let disc = colour(moved.colour()).map_or(' ', |colour| self.glyphs.disc(colour));
        let automatic = moved.auto_policy() != v1::MovePolicy::Unspecified;
        let turned = moved.turned.len();
        let mut text = match self.lang {
            Lang::En => format!(
                "{:>2}. {disc} {player} {}, turns {turned}",
                moved.ply, moved.r#move
            ),
            Lang::Zh => format!(
                "{:>2}. {disc} {player} {}，翻转 {turned} 子",
                moved.ply, moved.r#move
            ),
        };
        if automatic {
            text.push_str(self.lang.pick(" (automatic)", "（自动下子）"));
        }
        text
    }

    fn offered(self, table: &Table, offer: &v1::Offer) -> String {
        let player = self.player(table, offer.seat);
        let what = self.offer_kind(offer.kind());
        match self.lang {
            Lang::En => format!("{player} offers {what}."),
            Lang::Zh => format!("{player} 提议{what}。"),
        }
    }

    fn offer_closed(self, table: &Table, offer: &v1::Offer, fate: v1::OfferFate) -> String {
        let maker = self.player(table, offer.seat);
        let answerer = self.player(table, other(offer.seat));
        match (self.lang, fate) {
            (Lang::En, v1::OfferFate::Accepted) => format!("{answerer} accepts."),
            (Lang::Zh, v1::OfferFate::Accepted) => format!("{answerer} 同意。"),
            (Lang::En, v1::OfferFate::Declined) => format!("{answerer} declines."),
            (Lang::Zh, v1::OfferFate::Declined) => format!("{answerer} 拒绝。"),
            (Lang::En, v1::OfferFate::Withdrawn) => format!("{maker} takes the offer back."),
            (Lang::Zh, v1::OfferFate::Withdrawn) => format!("{maker} 撤回了提议。"),
            (Lang::En, v1::OfferFate::Lapsed | v1::OfferFate::Unspecified) => {
                format!("The offer of {maker} has lapsed.")
            }
            (Lang::Zh, v1::OfferFate::Lapsed | v1::OfferFate::Unspecified) => {
                format!("{maker} 的提议已失效。")
            }
        }
    }

    /// What is offered, to follow "offers".
    #[must_use]
    pub fn offer_kind(self, kind: v1::OfferKind) -> &'static str {
        match kind {
            v1::OfferKind::Exit | v1::OfferKind::Unspecified => {
                self.lang.pick("to stop without a result", "协议退出，不计胜负")
            }
            v1::OfferKind::Draw => self.lang.pick("a draw", "和棋"),
            v1::OfferKind::Rematch => self.lang.pick("a rematch", "再来一局"),
        }
    }

    /// How a session ended.
    #[must_use]
    pub fn ending(self, ending: v1::SessionEnding) -> &'static str {
        let (en, zh) = match ending {
            v1::SessionEnding::Unspecified => ("The session has ended.", "房间已关闭。"),
            v1::SessionEnding::SeriesComplete => ("All games have been played.", "全部对局已结束。"),
            v1::SessionEnding::Idle => (
                "Nobody got ready for long; the session is closed.",
                "长时间无人准备，房间已关闭。",
            ),
            v1::SessionEnding::Left => (
                "A player has left; the session is closed.",
                "有玩家离开，房间已关闭。",
            ),
            v1::SessionEnding::AgreedExit => (
                "Both agreed to stop; the session is closed.",
                "双方协议退出，房间已关闭。",
            ),
            v1::SessionEnding::Cancelled => (
                "A player did not get ready; the session is closed.",
                "有玩家未准备，房间已关闭。",
            ),
            v1::SessionEnding::Aborted => ("An operator has closed the session.", "房间已由管理员关闭。"),
        };
        self.lang.pick(en, zh)
    }

    fn end_reason(self, reason: v1::GameEndReason) -> &'static str {
        use v1::GameEndReason as Why;
        let (en, zh) = match reason {
            Why::Unspecified => ("the game is over", "对局结束"),
            Why::NoMoves => ("neither player can move", "双方均无子可下"),
            Why::WipeOut => ("one colour has no disc left", "一方棋子已全部被翻转"),
            Why::BoardFull => ("the board is full", "棋盘已下满"),
            Why::Resignation => ("resignation", "认输"),
            Why::AgreedDraw => ("both agreed to a draw", "双方同意和棋"),
            Why::AgreedExit => ("both agreed to stop", "双方协议退出"),
            Why::ForcedExit => ("a player left the game", "强行退出"),
            Why::TotalTime => ("total time ran out", "总用时耗尽"),
            Why::TimeoutCount => ("time ran out too often", "超时次数过多"),
            Why::Aborted => ("an operator ended it", "被管理员终止"),
        };
        self.lang.pick(en, zh)
    }

    /// A result in one sentence, points included.
    #[must_use]
    pub fn result(self, table: &Table, result: &v1::GameResult) -> String {
        let why = self.end_reason(result.reason());
        let counts = result.counts.unwrap_or_default();
        let seat_1_is_white = result.seat_1_colour() == v1::Colour::White;
        let (black_seat, white_seat) = if seat_1_is_white { (2, 1) } else { (1, 2) };
        let [black, white] = [black_seat, white_seat].map(|seat| self.player(table, seat));
        let [black_disc, white_disc] = Colour::ALL.map(|colour| self.glyphs.disc(colour));
        let score = format!(
            "{black_disc} {black} {} - {} {white} {white_disc}",
            counts.black, counts.white
        );
        let outcome = match result.outcome() {
            v1::Outcome::Seat1Wins => self.win(table, result, 1),
            v1::Outcome::Seat2Wins => self.win(table, result, 2),
            v1::Outcome::Draw => self.lang.pick("a draw", "平局").to_owned(),
            v1::Outcome::NotSettled | v1::Outcome::Unspecified => {
                self.lang.pick("no result", "不计胜负").to_owned()
            }
        };
        let number = result.game_number;
        let mut text = match self.lang {
            Lang::En => format!("Game {number}: {score}; {outcome} ({why})."),
            Lang::Zh => format!("第 {number} 局：{score}，{outcome}（{why}）。"),
        };
        let settled = !matches!(
            result.outcome(),
            v1::Outcome::NotSettled | v1::Outcome::Unspecified
        );
        if settled && table.settings.unrated {
            text.push_str(self.lang.pick(" Unrated.", "不计分。"));
        } else if settled {
            let [one, two] = [1, 2].map(|seat| self.player(table, seat));
            let points = (result.seat_1_points, result.seat_2_points);
            text.push_str(&match self.lang {
                Lang::En => format!(" Points: {one} {:+}, {two} {:+}.", points.0, points.1),
                Lang::Zh => format!("得分：{one} {:+}，{two} {:+}。", points.0, points.1),
            });
        }
        if result.touched_by_outage {
            text.push_str(
                self.lang
                    .pick(" An outage fell into this game.", "对局期间服务曾中断。"),
            );
        }
        text
    }

    fn win(self, table: &Table, result: &v1::GameResult, seat: u32) -> String {
        use v1::GameEndReason as Why;
        let winner = self.player(table, seat);
        let on_board = matches!(result.reason(), Why::NoMoves | Why::WipeOut | Why::BoardFull);
        let margin = half_discs(result.margin_half_discs);
        match (self.lang, on_board) {
            (Lang::En, true) => format!("{winner} wins by {margin}"),
            (Lang::Zh, true) => format!("{winner} 胜 {margin} 子"),
            (Lang::En, false) => format!("{winner} wins"),
            (Lang::Zh, false) => format!("{winner} 胜"),
        }
    }
}

/// A number of half discs as discs: `7`, `3.5`.
#[must_use]
pub fn half_discs(half_discs: u32) -> String {
    let half = if half_discs % 2 == 1 { ".5" } else { "" };
    format!("{}{half}", half_discs / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::fixtures::{ANN, BAI, Game, table};
    use tablemate_engine::reversi::Position;

    const EN: Voice = Voice {
        lang: Lang::En,
        glyphs: Glyphs::UNICODE,
    };
    const ZH: Voice = Voice {
        lang: Lang::Zh,
        glyphs: Glyphs::UNICODE,
    };

    fn texts(voice: Voice, viewer: &str, game: &Game) -> Vec<String> {
        let table = table(viewer, &game.events);
        let told = game.events.iter().flat_map(|event| voice.tell(&table, event));
        told.map(|said| said.text).collect()
    }

    /// Black plays b1 and turns nothing but one disc; white has no move, black has.
    fn passing() -> Game {
        let mut squares = "X-OX".to_owned() + &"-".repeat(28) + "XO--" + &"-".repeat(28);
        squares.push_str(" X");
        let position: Position = squares.parse().unwrap();
        let mut game = Game::from(position);
        game.play("b1", 2_000);
        game
    }

    #[test]
    fn s23_each_player_reads_the_pass_in_the_own_words_a_spectator_in_ours() {
        let game = passing();
        assert!(
            matches!(game.events.last().unwrap().kind, Some(Kind::Passed(_))),
            "a pass"
        );
        let last = |voice, viewer| texts(voice, viewer, &game).pop().unwrap();
        assert_eq!(last(ZH, ANN), "由于对方无子可下，您可继续下子");
        assert_eq!(last(ZH, BAI), "您无子可下由对方继续下子");
        assert_eq!(last(EN, ANN), "Your opponent has no legal move; you move again");
        assert_eq!(last(EN, BAI), "You have no legal move; your opponent moves again");
        assert_eq!(
            last(EN, ""),
            " 2. ○ white 白棋手 has no legal move; ann moves again."
        );
        assert_eq!(last(ZH, ""), " 2. ○ 白 白棋手 无子可下，由 ann 继续下子。");
        let said = ZH.tell(&table(ANN, &game.events), game.events.last().unwrap());
        assert!(said.iter().all(|said| said.tone == Tone::Bubble));
    }

    #[test]
    fn moves_are_told_in_both_languages() {
        let mut game = Game::new();
        game.play("d3", 4_000);
        assert_eq!(
            texts(EN, ANN, &game),
            ["Game 1 starts; ann moves first.", " 1. ● ann d3, turns 1"]
        );
        assert_eq!(
            texts(ZH, ANN, &game),
            ["第 1 局开始，ann 先行。", " 1. ● ann d3，翻转 1 子"]
        );
    }

    fn result(outcome: v1::Outcome, reason: v1::GameEndReason) -> v1::GameResult {
        v1::GameResult {
            game_number: 1,
            reason: reason.into(),
            outcome: outcome.into(),
            seat_1_colour: v1::Colour::White.into(),
            counts: Some(v1::DiscCounts { black: 34, white: 27 }),
            margin_half_discs: 7,
            seat_1_points: -2,
            seat_2_points: 2,
            touched_by_outage: false,
        }
    }

    #[test]
    fn r8_to_r10_a_result_names_discs_winner_margin_and_points() {
        let seen = table(ANN, &[]);
        let on_board = result(v1::Outcome::Seat2Wins, v1::GameEndReason::NoMoves);
        assert_eq!(
            EN.result(&seen, &on_board),
            "Game 1: ● 白棋手 34 - 27 ann ○; 白棋手 wins by 3.5 (neither player can move). Points: ann -2, 白棋手 +2."
        );
        assert_eq!(
            ZH.result(&seen, &on_board),
            "第 1 局：● 白棋手 34 - 27 ann ○，白棋手 胜 3.5 子（双方均无子可下）。得分：ann -2，白棋手 +2。"
        );
        let resigned = result(v1::Outcome::Seat1Wins, v1::GameEndReason::Resignation);
        assert!(EN.result(&seen, &resigned).contains("; ann wins (resignation)."));
        let stopped = result(v1::Outcome::NotSettled, v1::GameEndReason::AgreedExit);
        assert!(
            EN.result(&seen, &stopped)
                .ends_with("; no result (both agreed to stop).")
        );
        let mut unrated = seen.clone();
        unrated.settings.unrated = true;
        assert!(EN.result(&unrated, &on_board).ends_with("Unrated."));
    }
}

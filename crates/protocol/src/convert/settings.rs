//! Settings of a session: from the wire with defaults filled in and every bound checked, and back.

use prost_types::Duration;
use tablemate_engine::policy::Policy;
use tablemate_engine::reversi::{self, MarginMethod};
use tablemate_engine::search::Level;
use tablemate_session::settings::{
    GameSettings, NotReadyAction, OpenerRule, ReversiSettings, Settings, TimeoutRule, Watch,
};
use tablemate_session::{Millis, PlayerId};

use super::{Faults, Reason, time};
use crate::v1;

/// The settings that a caller asks for, defaults filled in.
///
/// # Errors
/// Everything that is wrong with them, fields named from `settings.` on.
pub fn settings(wire: Option<&v1::SessionSettings>) -> Result<Settings, Faults> {
    let Some(wire) = wire else {
        return Err(Faults::one("settings", Reason::Required, "is not given"));
    };
    let mut faults = Faults::none();
    let game = match &wire.game {
        None => {
            faults.add(
                "settings.game",
                Reason::Required,
                "is not given: choose the game to play",
            );
            return Err(faults);
        }
        Some(v1::session_settings::Game::Reversi(reversi)) => {
            faults.take(reversi_settings(reversi)).map(GameSettings::Reversi)
        }
    };
    // With the game's own settings wrong, the rest is still checked, against that game's defaults.
    let mut settings =
        Settings::of(game.unwrap_or_else(|| GameSettings::Reversi(ReversiSettings::default())));
    if wire.games != 0 {
        settings.games = wire.games;
    }
    if let Some(opener) = faults.take(opener_rule(wire.opener_rule)) {
        settings.opener = opener;
    }
    match v1::NotReadyAction::try_from(wire.not_ready_action) {
        Ok(v1::NotReadyAction::Unspecified) => {}
        Ok(v1::NotReadyAction::AutoReady) => settings.not_ready = NotReadyAction::AutoReady,
        Ok(v1::NotReadyAction::Cancel) => settings.not_ready = NotReadyAction::Cancel,
        Err(_) => unknown(&mut faults, "settings.not_ready_action"),
    }
    let mut length = |field: &'static str, given: &Option<Duration>| {
        let given = given.as_ref()?;
        match time::millis(given) {
            Ok(length) => Some(length),
            Err(why) => {
                faults.add(format!("settings.{field}"), Reason::BadSettings, why);
                None
            }
        }
    };
    let set = |setting: &mut Millis, given: Option<Millis>| {
        if let Some(given) = given {
            *setting = given;
        }
    };
    set(&mut settings.ready_time, length("ready_time", &wire.ready_time));
    set(&mut settings.idle_time, length("idle_time", &wire.idle_time));
    set(&mut settings.move_time, length("move_time", &wire.move_time));
    if let Some(total_time) = length("total_time", &wire.total_time) {
        settings.total_time = Some(total_time);
    }
    set(&mut settings.animation, length("animation", &wire.animation));
    set(
        &mut settings.resign_guard,
        length("resign_guard", &wire.resign_guard),
    );
    set(
        &mut settings.spectator_delay,
        length("spectator_delay", &wire.spectator_delay),
    );
    settings.absence = length("absence_limit", &wire.absence_limit);
    if let Some(timeout) = faults.take(timeout_rule(wire.timeout.as_ref())) {
        settings.timeout = timeout;
    }
    settings.rated = !wire.unrated;
    if let Some(watch) = faults.take(watch_rule(wire.watch.as_ref())) {
        settings.watch = watch;
    }
    if let Err(violations) = settings.validate() {
        for violation in violations {
            faults.add(
                format!("settings.{}", violation.field),
                Reason::BadSettings,
                format!("is {}, allowed is {}", violation.given, violation.allowed),
            );
        }
    }
    faults.into_result()?;
    Ok(settings)
}

fn unknown(faults: &mut Faults, field: &'static str) {
    faults.add(
        field,
        Reason::BadSettings,
        "is not a value that this server knows",
    );
}

fn reversi_settings(wire: &v1::ReversiSettings) -> Result<ReversiSettings, Faults> {
    use v1::reversi_start::Start;
    let mut faults = Faults::none();
    let start = match wire.start.as_ref().and_then(|start| start.start.as_ref()) {
        None => reversi::Start::Crossed,
        Some(Start::Name(name)) => match v1::ReversiStartName::try_from(*name) {
            Ok(v1::ReversiStartName::Unspecified | v1::ReversiStartName::Crossed) => reversi::Start::Crossed,
            Ok(v1::ReversiStartName::Parallel) => reversi::Start::Parallel,
            Err(_) => {
                unknown(&mut faults, "settings.reversi.start.name");
                reversi::Start::Crossed
            }
        },
        Some(Start::Position(text)) => {
            let position = text
                .parse::<reversi::Position>()
                .map_err(|error| error.to_string());
            match position.and_then(|position| {
                reversi::Start::from_position(position).map_err(|error| error.to_string())
            }) {
                Ok(start) => start,
                Err(why) => {
                    faults.add(
                        "settings.reversi.start.position",
                        Reason::BadSettings,
                        format!("is no position to start from: {why}"),
                    );
                    reversi::Start::Crossed
                }
            }
        }
    };
    let margin = match v1::MarginMethod::try_from(wire.margin_method) {
        Ok(v1::MarginMethod::Unspecified | v1::MarginMethod::Raw) => MarginMethod::Raw,
        Ok(v1::MarginMethod::EmptiesToWinner) => MarginMethod::EmptiesToWinner,
        Ok(v1::MarginMethod::EmptiesSplit) => MarginMethod::EmptiesSplit,
        Err(_) => {
            unknown(&mut faults, "settings.reversi.margin_method");
            MarginMethod::Raw
        }
    };
    faults.into_result()?;
    Ok(ReversiSettings {
        start,
        margin,
        scored_series: wire.scored_series,
    })
}

fn opener_rule(wire: i32) -> Result<Option<OpenerRule>, Faults> {
    Ok(match v1::OpenerRule::try_from(wire) {
        Ok(v1::OpenerRule::Unspecified) => None,
        Ok(v1::OpenerRule::AsSeated) => Some(OpenerRule::AsSeated),
        Ok(v1::OpenerRule::Draw) => Some(OpenerRule::Draw),
        Ok(v1::OpenerRule::Guess) => Some(OpenerRule::Guess),
        Ok(v1::OpenerRule::Balanced) => Some(OpenerRule::Balanced),
        Ok(v1::OpenerRule::Alternated) | Err(_) => {
            let mut faults = Faults::none();
            unknown(&mut faults, "settings.opener_rule");
            return Err(faults);
        }
    })
}

fn timeout_rule(wire: Option<&v1::TimeoutRule>) -> Result<TimeoutRule, Faults> {
    let Some(wire) = wire else {
        return Ok(TimeoutRule::default());
    };
    let mut faults = Faults::none();
    let number = if wire.engine_level == 0 {
        1
    } else {
        wire.engine_level
    };
    let level = u8::try_from(number).ok().and_then(Level::new).unwrap_or_else(|| {
        faults.add(
            "settings.timeout.engine_level",
            Reason::BadSettings,
            format!("is {number}, allowed is 1 to {}", Level::HIGHEST),
        );
        Level::LOWEST
    });
    let policy = match v1::MovePolicy::try_from(wire.policy) {
        Ok(v1::MovePolicy::Unspecified | v1::MovePolicy::Engine) => Policy::Engine { level },
        Ok(v1::MovePolicy::Random) => Policy::Random,
        Ok(v1::MovePolicy::Greedy) => Policy::Greedy,
        Err(_) => {
            unknown(&mut faults, "settings.timeout.policy");
            Policy::Random
        }
    };
    faults.into_result()?;
    Ok(match wire.lose_after {
        0 => TimeoutRule::Move(policy),
        1 => TimeoutRule::Lose,
        n => TimeoutRule::LoseAfter { n, policy },
    })
}

fn watch_rule(wire: Option<&v1::WatchRule>) -> Result<Watch, Faults> {
    let Some(wire) = wire else {
        return Ok(Watch::Anyone);
    };
    let mut faults = Faults::none();
    let watch = match v1::WatchAudience::try_from(wire.audience) {
        Ok(v1::WatchAudience::Unspecified | v1::WatchAudience::Anyone) => Watch::Anyone,
        Ok(v1::WatchAudience::Players) => Watch::Players,
        Ok(v1::WatchAudience::List) => {
            let mut viewers: Vec<PlayerId> = Vec::new();
            for viewer in &wire.viewers {
                viewers.extend(faults.take(super::ids::player_id("settings.watch.viewers", viewer)));
            }
            Watch::List(viewers)
        }
        Err(_) => {
            unknown(&mut faults, "settings.watch.audience");
            Watch::Players
        }
    };
    if !wire.viewers.is_empty() && wire.audience != i32::from(v1::WatchAudience::List) {
        faults.add(
            "settings.watch.viewers",
            Reason::BadSettings,
            "are only allowed with WATCH_AUDIENCE_LIST",
        );
    }
    faults.into_result()?;
    Ok(watch)
}

/// Settings on the wire, nothing left out.
#[must_use]
pub fn to_wire(settings: &Settings) -> v1::SessionSettings {
    v1::SessionSettings {
        game: Some(match &settings.game {
            GameSettings::Reversi(reversi) => v1::session_settings::Game::Reversi(reversi_to_wire(reversi)),
        }),
        games: settings.games,
        opener_rule: opener_rule_to_wire(settings.opener_rule()).into(),
        ready_time: Some(time::duration(settings.ready_time)),
        not_ready_action: match settings.not_ready {
            NotReadyAction::AutoReady => v1::NotReadyAction::AutoReady,
            NotReadyAction::Cancel => v1::NotReadyAction::Cancel,
        }
        .into(),
        idle_time: Some(time::duration(settings.idle_time)),
        move_time: Some(time::duration(settings.move_time)),
        total_time: settings.total_time.map(time::duration),
        animation: Some(time::duration(settings.animation)),
        resign_guard: Some(time::duration(settings.resign_guard)),
        timeout: Some(timeout_to_wire(&settings.timeout)),
        unrated: !settings.rated,
        watch: Some(watch_to_wire(&settings.watch)),
        absence_limit: settings.absence.map(time::duration),
        spectator_delay: Some(time::duration(settings.spectator_delay)),
    }
}

fn reversi_to_wire(reversi: &ReversiSettings) -> v1::ReversiSettings {
    use v1::reversi_start::Start;
    let start = match reversi.start {
        reversi::Start::Crossed => Start::Name(v1::ReversiStartName::Crossed.into()),
        reversi::Start::Parallel => Start::Name(v1::ReversiStartName::Parallel.into()),
        reversi::Start::Position(position) => Start::Position(position.to_string()),
    };
    v1::ReversiSettings {
        start: Some(v1::ReversiStart { start: Some(start) }),
        margin_method: match reversi.margin {
            MarginMethod::Raw => v1::MarginMethod::Raw,
            MarginMethod::EmptiesToWinner => v1::MarginMethod::EmptiesToWinner,
            MarginMethod::EmptiesSplit => v1::MarginMethod::EmptiesSplit,
        }
        .into(),
        scored_series: reversi.scored_series,
    }
}

/// A rule for the opener on the wire.
#[must_use]
pub const fn opener_rule_to_wire(rule: OpenerRule) -> v1::OpenerRule {
    match rule {
        OpenerRule::AsSeated => v1::OpenerRule::AsSeated,
        OpenerRule::Draw => v1::OpenerRule::Draw,
        OpenerRule::Guess => v1::OpenerRule::Guess,
        OpenerRule::Balanced => v1::OpenerRule::Balanced,
    }
}

/// A policy on the wire.
#[must_use]
pub const fn policy_to_wire(policy: Policy) -> v1::MovePolicy {
    match policy {
        Policy::Random => v1::MovePolicy::Random,
        Policy::Greedy => v1::MovePolicy::Greedy,
        Policy::Engine { .. } => v1::MovePolicy::Engine,
    }
}

fn timeout_to_wire(rule: &TimeoutRule) -> v1::TimeoutRule {
    let policy = rule.policy();
    v1::TimeoutRule {
        policy: policy.map_or(v1::MovePolicy::Unspecified, policy_to_wire).into(),
        engine_level: match policy {
            Some(Policy::Engine { level }) => u32::from(level.number()),
            _ => 0,
        },
        lose_after: rule.loses_at().unwrap_or(0),
    }
}

fn watch_to_wire(watch: &Watch) -> v1::WatchRule {
    let (audience, viewers) = match watch {
        Watch::Anyone => (v1::WatchAudience::Anyone, Vec::new()),
        Watch::Players => (v1::WatchAudience::Players, Vec::new()),
        Watch::List(viewers) => (
            v1::WatchAudience::List,
            viewers.iter().map(|viewer| viewer.as_str().to_owned()).collect(),
        ),
    };
    v1::WatchRule {
        audience: audience.into(),
        viewers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reversi_default() -> v1::SessionSettings {
        v1::SessionSettings {
            game: Some(v1::session_settings::Game::Reversi(v1::ReversiSettings::default())),
            ..Default::default()
        }
    }

    #[test]
    fn nothing_said_means_the_defaults_and_they_survive_the_wire() {
        let settings = settings(Some(&reversi_default())).unwrap();
        assert_eq!(
            settings,
            Settings::of(GameSettings::Reversi(ReversiSettings::default()))
        );
        let mut shown = settings.clone();
        shown.opener = Some(OpenerRule::Draw);
        assert_eq!(super::settings(Some(&to_wire(&settings))).unwrap(), shown);
    }

    #[test]
    fn every_bad_setting_is_named() {
        let mut wire = reversi_default();
        wire.games = 33;
        wire.move_time = Some(Duration {
            seconds: 0,
            nanos: 999_000_000,
        });
        wire.total_time = Some(Duration {
            seconds: 86_401,
            nanos: 0,
        });
        wire.animation = Some(Duration {
            seconds: -1,
            nanos: 0,
        });
        wire.opener_rule = 99;
        wire.timeout = Some(v1::TimeoutRule {
            engine_level: 9,
            ..Default::default()
        });
        wire.watch = Some(v1::WatchRule {
            audience: 1,
            viewers: vec!["ann".into()],
        });
        let faults = settings(Some(&wire)).unwrap_err();
        let mut fields: Vec<_> = faults
            .as_slice()
            .iter()
            .map(|fault| fault.field.as_str())
            .collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            [
                "settings.animation",
                "settings.games",
                "settings.move_time",
                "settings.opener_rule",
                "settings.timeout.engine_level",
                "settings.total_time",
                "settings.watch.viewers",
            ]
        );
    }

    #[test]
    fn no_game_is_refused() {
        assert!(settings(None).is_err());
        assert!(settings(Some(&v1::SessionSettings::default())).is_err());
    }

    #[test]
    fn r1_any_position_can_be_a_start_and_one_without_moves_cannot() {
        let with = |text: &str| {
            let mut wire = reversi_default();
            let start = v1::reversi_start::Start::Position(text.into());
            wire.game = Some(v1::session_settings::Game::Reversi(v1::ReversiSettings {
                start: Some(v1::ReversiStart { start: Some(start) }),
                ..Default::default()
            }));
            settings(Some(&wire))
        };
        let start = format!("{}OX------XO{} X", "-".repeat(27), "-".repeat(27));
        assert!(with(&start).is_ok());
        let full = format!("{} X", "X".repeat(64));
        for bad in ["", "XO", full.as_str()] {
            let faults = with(bad).unwrap_err();
            assert_eq!(
                faults.as_slice()[0].field,
                "settings.reversi.start.position",
                "{bad}"
            );
        }
    }
}

//! `tablemate load` against separate processes: simulated players check all that a client can see.

use std::process::Command;

use anyhow::Result;
use tablemate_tests::{Deployment, Shape, binary};

/// Queueing, playing, disconnecting and resuming on two replicas of each: no gap, no lost move, one result a game.
#[test]
fn s22_simulated_players_see_no_violation_on_several_replicas() -> Result<()> {
    let deployment = Deployment::start(Shape::of(2, 2))?;
    let mut load = Command::new(binary("tablemate")?);
    load.env("LANG", "en_US.UTF-8");
    load.args(["load", "--players", "60", "--games", "60", "--duration", "60s"]);
    for game in &deployment.game_services {
        load.arg(format!("--server={}", game.address));
    }
    for matchmaker in &deployment.matchmakers {
        load.arg(format!("--matchmaker={}", matchmaker.address));
    }
    let output = load.output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{printed}");
    assert!(
        output.status.success(),
        "{}\n{printed}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

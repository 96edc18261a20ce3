//! The report, for machines and developers: in English only.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table, presets};
use serde_json::json;

use crate::commands::load::stats::{Stats, Timed};
use crate::i18n::grouped;

/// What the whole load came to.
#[derive(Debug)]
pub struct Summary {
    /// In a few words, what was done.
    pub mode: String,
    /// How long the load was on, ramps and the check of records aside.
    pub elapsed: Duration,
    /// How many players' records were compared.
    pub records: Option<usize>,
    /// The seed of all choices.
    pub seed: u64,
}

/// Writes the report.
pub fn report(stats: &Stats, summary: &Summary) -> String {
    let counters = &stats.counters;
    let seconds = summary.elapsed.as_secs_f64().max(0.001);
    let rate = |count: u64| format!("{}/s", grouped((count as f64 / seconds).round() as u64));
    let games = counters.games.load(Relaxed);
    let moves = counters.moves.load(Relaxed);
    let events = counters.events.load(Relaxed);
    let auto_moves = counters.auto_moves.load(Relaxed);

    let mut text = format!("{} (seed {}), {seconds:.1} s\n\n", summary.mode, summary.seed);
    let mut table = crate::i18n::plain_table();
    let mut row = |name: &str, value: String, rate: String| {
        table.add_row(vec![Cell::new(name), right(value), right(rate)]);
    };
    row("games finished", grouped(games), rate(games));
    row("moves acknowledged", grouped(moves), rate(moves));
    row("events watched", grouped(events), rate(events));
    row("automatic moves seen", grouped(auto_moves), rate(auto_moves));
    for (name, counter) in [
        ("streams dropped on purpose", &counters.disconnects),
        ("streams resumed", &counters.reconnects),
        ("resynchronisations", &counters.resynchronised),
        ("commands repeated on purpose", &counters.repeats),
    ] {
        row(name, grouped(counter.load(Relaxed)), String::new());
    }
    row(
        "longest silence, ms",
        grouped(u64::try_from(stats.longest_silence().as_millis()).unwrap_or(u64::MAX)),
        String::new(),
    );
    if let Some(records) = summary.records {
        row("player records compared", grouped(records as u64), String::new());
    }
    text.push_str(&format!("{table}\n\n"));

    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(vec!["ms", "count", "per s", "p50", "p90", "p99", "p99.9", "max"]);
    for timed in Timed::ALL {
        let Some(histogram) = stats.histogram(timed).filter(|it| !it.is_empty()) else {
            continue;
        };
        let mut cells = vec![
            Cell::new(timed.name()),
            right(grouped(histogram.len())),
            right(grouped((histogram.len() as f64 / seconds).round() as u64)),
        ];
        for quantile in [0.5, 0.9, 0.99, 0.999, 1.0] {
            let millis = histogram.value_at_quantile(quantile) as f64 / 1000.0;
            cells.push(right(format!("{millis:.2}")));
        }
        table.add_row(cells);
    }
    text.push_str(&format!("{table}\n"));

    let refusals = stats.refusals();
    if !refusals.is_empty() {
        text.push_str("\nrefused or failed:\n");
        for ((call, reason), count) in refusals {
            text.push_str(&format!("  {call} {reason}: {}\n", grouped(count)));
        }
    }

    let violations = counters.violations.load(Relaxed);
    text.push_str(&format!("\nviolations: {}\n", grouped(violations)));
    for violation in stats.violations() {
        text.push_str(&format!("  {}: {}\n", violation.broken.name(), violation.text));
    }
    text
}

/// The same as one JSON object, times in milliseconds.
pub fn json(stats: &Stats, summary: &Summary) -> serde_json::Value {
    let counters = &stats.counters;
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed);
    let calls: serde_json::Map<String, serde_json::Value> = Timed::ALL
        .into_iter()
        .filter_map(|timed| {
            let histogram = stats.histogram(timed).filter(|it| !it.is_empty())?;
            let millis = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
            let figures = json!({
                "count": histogram.len(),
                "p50": millis(0.5), "p90": millis(0.9), "p99": millis(0.99), "max": millis(1.0),
            });
            Some((timed.name().to_owned(), figures))
        })
        .collect();
    let broken: serde_json::Map<String, serde_json::Value> = stats
        .broken()
        .into_iter()
        .map(|(broken, count)| (broken.name().to_owned(), count.into()))
        .collect();
    let refused: Vec<_> = stats
        .refusals()
        .into_iter()
        .map(|((call, reason), count)| json!({"call": call, "reason": reason, "count": count}))
        .collect();
    let violations: Vec<_> = stats
        .violations()
        .into_iter()
        .map(|violation| json!({"broken": violation.broken.name(), "text": violation.text}))
        .collect();
    json!({
        "mode": summary.mode,
        "seed": summary.seed,
        "seconds": summary.elapsed.as_secs_f64(),
        "games": count(&counters.games),
        "moves": count(&counters.moves),
        "auto_moves": count(&counters.auto_moves),
        "events": count(&counters.events),
        "reconnects": count(&counters.reconnects),
        "resynchronised": count(&counters.resynchronised),
        "repeats": count(&counters.repeats),
        "records": summary.records,
        "longest_silence_ms": stats.longest_silence().as_secs_f64() * 1000.0,
        "calls": calls,
        "refused": refused,
        "broken": broken,
        "violations": violations,
    })
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

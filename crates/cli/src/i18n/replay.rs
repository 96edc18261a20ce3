//! Words of `tablemate replay`.

use super::{Lang, grouped};
use crate::commands::replay::Report;

/// Bad games were found; `unnamed` of them were not named.
pub fn bad(lang: Lang, bad: usize, unnamed: usize) -> String {
    let more = match (unnamed, lang) {
        (0, _) => String::new(),
        (_, Lang::En) => format!(" ({unnamed} of them not shown)"),
        (_, Lang::Zh) => format!("（其中 {unnamed} 条未显示）"),
    };
    lang.pick(
        format!("{bad} records cannot be read{more}"),
        format!("{bad} 条记录无法读取{more}"),
    )
}

/// The template of the progress bar.
pub fn progress(lang: Lang) -> &'static str {
    lang.pick(
        "{bar:40} {pos}/{len} games, {per_sec}, {eta} left",
        "{bar:40} {pos}/{len} 局，{per_sec}，剩余 {eta}",
    )
}

/// The report.
pub fn report(lang: Lang, report: &Report) -> String {
    let lines = [
        (lang.pick("games", "对局"), grouped(report.games)),
        (lang.pick("moves", "着手"), grouped(report.moves)),
        (lang.pick("passes", "停手（无子可下）"), grouped(report.passes)),
        (
            lang.pick("unfinished (not compared)", "未下完（不比较）"),
            grouped(report.unfinished),
        ),
        (
            lang.pick("final scores compared", "已比较的终局比分"),
            grouped(report.compared),
        ),
        (lang.pick("mismatches", "不一致"), grouped(report.mismatches)),
        (
            lang.pick("seconds", "用时（秒）"),
            format!("{:.2}", report.elapsed.as_secs_f64()),
        ),
        (
            lang.pick("moves per second", "每秒着手"),
            grouped(report.moves_per_second().round() as u64),
        ),
    ];
    let mut table = super::plain_table();
    for (name, value) in lines {
        table.add_row(vec![
            comfy_table::Cell::new(name),
            comfy_table::Cell::new(value).set_alignment(comfy_table::CellAlignment::Right),
        ]);
    }
    format!("{table}\n")
}

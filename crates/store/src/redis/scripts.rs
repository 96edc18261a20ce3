//! The Lua scripts: each does one operation in one round trip, in one hash slot, all keys declared.

use std::sync::LazyLock;

use sha1_hash::sha1_hex;

/// One script, with the name that errors use.
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) hash: String,
}

mod sha1_hash {
    /// What Redis calls a script by.
    pub(super) fn sha1_hex(text: &str) -> String {
        redis::Script::new(text).get_hash().to_owned()
    }
}

impl Script {
    fn new(name: &'static str, flags: &str, parts: &[&str]) -> Self {
        // The first line makes Redis refuse a script as a whole (out of memory, read-only) instead of half way.
        let mut text = format!("#!lua{flags}\n");
        parts.iter().for_each(|part| text.push_str(part));
        let hash = sha1_hex(&text);
        Self { name, text, hash }
    }
}

/// Declares a struct of all scripts and reads their texts.
macro_rules! scripts {
    ($($name:ident: $flags:literal, [$($part:literal),*];)*) => {
        pub(super) struct Scripts { $(pub(super) $name: Script),* }

        /// All scripts.
        pub(super) static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| Scripts {
            $($name: Script::new(
                stringify!($name),
                $flags,
                &[
                    include_str!("scripts/prelude.lua"),
                    $(include_str!(concat!("scripts/", $part, ".lua")),)*
                    include_str!(concat!("scripts/", stringify!($name), ".lua")),
                ],
            )),*
        });

        impl Scripts {
            /// Every script, to be loaded before it is needed.
            pub(super) fn all(&self) -> Vec<&Script> {
                vec![$(&self.$name),*]
            }
        }
    };
}

scripts! {
    deployment: "", [];
    commit: "", ["log", "outage"];
    read: " flags=no-writes", ["log", "outage"];
    pulse: "", ["outage"];
    step: "", ["outage"];
    due: " flags=no-writes", [];
    mark_failing: "", [];
    mark_settled: "", ["log"];
    repair_index: "", ["log"];
    delete: "", ["log"];
    orphans: " flags=no-writes", [];
    outbox_trim: "", [];
    set_position: "", [];
    set_present: "", [];
    create_ticket: "", ["hall"];
    ticket: " flags=no-writes", ["hall"];
    cancel_ticket: "", ["hall"];
    expire_tickets: "", ["hall"];
    pools: " flags=no-writes", ["hall"];
    waiting: " flags=no-writes", ["hall"];
    pair: "", ["hall"];
    take: "", ["hall"];
    match_record: " flags=no-writes", ["hall"];
    unfinished: " flags=no-writes", ["hall"];
    end_match: "", ["hall"];
    holder: " flags=no-writes", ["hall"];
    release: "", ["hall"];
    apply_result: "", [];
    heartbeat: "", [];
}

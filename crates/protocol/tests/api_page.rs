//! docs/api.md keeps up with the code: every call has its section, every reason its row with the right status code.
#![allow(clippy::panic, reason = "a test that cannot go on fails")]

use std::path::Path;

use prost::Message as _;
use prost_types::FileDescriptorSet;
use tablemate_protocol::FILE_DESCRIPTOR_SET;
use tablemate_protocol::convert::Reason;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `FAILED_PRECONDITION` for `FailedPrecondition`.
fn status_name(code: tonic::Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_uppercase());
    }
    name
}

#[test]
fn every_reason_has_a_row_with_its_status() {
    let page = page();
    let rows: Vec<(String, String)> = page
        .lines()
        .filter_map(|line| {
            let mut cells = line.split('|').map(str::trim).skip(1);
            Some((cells.next()?.to_owned(), cells.next()?.to_owned()))
        })
        .collect();
    for reason in Reason::ALL {
        let row = (format!("`{}`", reason.as_str()), status_name(reason.code()));
        assert!(rows.contains(&row), "no row in docs/api.md with {row:?}");
    }
}

#[test]
fn every_reason_that_the_page_names_exists() {
    let page = page();
    let not_reasons = ["MUST_MOVE", "OFF_BOARD", "OCCUPIED", "TURNS_NOTHING", "GAME_OVER"];
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let in_errors = page.split("\n\n").filter(|part| part.contains("Errors: "));
    for text in rows.chain(in_errors) {
        for word in text.split('`').skip(1).step_by(2) {
            let shouted = word.contains('_') && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            if shouted && !not_reasons.contains(&word) {
                assert!(
                    Reason::from_name(word).is_some(),
                    "docs/api.md names {word}, which is no reason"
                );
            }
        }
    }
}

#[test]
fn every_call_has_a_section() {
    let page = page();
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
    let files = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).expect("our own descriptors");
    let mut calls = 0;
    for service in files.file.iter().flat_map(|file| &file.service) {
        let heading = format!("## {}", service.name());
        assert!(
            headings.contains(&heading.as_str()),
            "no section {heading:?} in docs/api.md"
        );
        for method in &service.method {
            let heading = format!("### {}", method.name());
            assert!(
                headings.contains(&heading.as_str()),
                "no section {heading:?} in docs/api.md"
            );
            calls += 1;
        }
    }
    assert!(calls > 20, "only {calls} calls were looked at");
}

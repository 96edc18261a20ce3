//! Messages of the API as JSON, in the canonical form of proto3 that grpcurl prints too.

use anyhow::Context as _;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use tablemate_client::v1;
use tablemate_protocol::FILE_DESCRIPTOR_SET;

/// Writes messages of a watch stream.
#[derive(Clone, Debug)]
pub struct WatchJson {
    message: MessageDescriptor,
}

impl WatchJson {
    /// Reads the API's descriptors.
    ///
    /// # Errors
    ///
    /// A defect of this program: the descriptors are built in.
    pub fn new() -> anyhow::Result<WatchJson> {
        let pool =
            DescriptorPool::decode(FILE_DESCRIPTOR_SET).context("the built-in descriptors are broken")?;
        let message = pool
            .get_message_by_name("tablemate.v1.WatchSessionResponse")
            .context("the built-in descriptors have no WatchSessionResponse")?;
        Ok(WatchJson { message })
    }

    /// A message on one line.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn line(&self, message: &v1::WatchSessionResponse) -> anyhow::Result<String> {
        let bytes = message.encode_to_vec();
        let message = DynamicMessage::decode(self.message.clone(), bytes.as_slice())?;
        Ok(serde_json::to_string(&message)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::fixtures::{Game, START_MS};

    #[test]
    fn an_event_is_one_line_in_the_form_that_grpcurl_prints() {
        let game = Game::new();
        let message = v1::WatchSessionResponse {
            server_now: Some(prost_types::Timestamp {
                seconds: (START_MS / 1_000) as i64,
                nanos: 5_000_000,
            }),
            cursor: "c".to_owned(),
            message: Some(v1::watch_session_response::Message::Event(game.events[0].clone())),
        };
        let line = WatchJson::new().unwrap().line(&message).unwrap();
        assert!(!line.contains('\n'));
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["serverNow"], "2026-11-30T21:00:00.005Z");
        assert_eq!(json["cursor"], "c");
        assert_eq!(json["event"]["sequence"], "2");
        assert_eq!(json["event"]["gameNumber"], 1);
        assert_eq!(json["event"]["started"]["next"]["colour"], "COLOUR_BLACK");
    }
}

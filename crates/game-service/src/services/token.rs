//! Page tokens and stream cursors that clients hold: opaque texts that only this deployment can make.

use tablemate_store::Deployment;

const SEAL_BYTES: usize = 6;

/// The text for these bytes.
pub(super) fn seal(deployment: &Deployment, purpose: &str, bytes: &[u8]) -> String {
    let mut sealed = deployment.keyed(purpose, &[bytes])[..SEAL_BYTES].to_vec();
    sealed.extend_from_slice(bytes);
    data_encoding::BASE64URL_NOPAD.encode(&sealed)
}

/// The bytes of a text that [`seal`] made for this purpose.
pub(super) fn open(deployment: &Deployment, purpose: &str, text: &str) -> Option<Vec<u8>> {
    let sealed = data_encoding::BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
    let (given, bytes) = sealed.split_at_checked(SEAL_BYTES)?;
    (deployment.keyed(purpose, &[bytes])[..SEAL_BYTES] == *given).then(|| bytes.to_vec())
}

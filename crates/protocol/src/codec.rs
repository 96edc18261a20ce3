//! The codec of the public API: prost, with one difference from tonic's own.
//!
//! tonic answers a request that is no valid message (a string that is not UTF-8, say) with INTERNAL, which blames the
//! server. Here it is the caller's INVALID_ARGUMENT with a reason, like every other bad input. A *response* that cannot
//! be read stays INTERNAL.

use std::marker::PhantomData;

use prost::Message;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::ProstEncoder;

use crate::convert::{Reason, Refusal};

/// What a message's buffer holds at first: most messages of this API are far below the 8 KiB that tonic would take for
/// each of them.
const BUFFER_BYTES: usize = 1_024;
/// How many bytes of a stream's messages are sent together.
const SEND_BYTES: usize = 32 * 1_024;

fn buffers() -> BufferSettings {
    BufferSettings::new(BUFFER_BYTES, SEND_BYTES)
}

/// Encodes `T`, decodes `U`. The generated clients and servers use it.
#[derive(Clone, Debug)]
pub struct ApiCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for ApiCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for ApiCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ApiDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::new(buffers())
    }

    fn decoder(&mut self) -> Self::Decoder {
        ApiDecoder(PhantomData)
    }
}

/// Decodes `U`.
#[derive(Clone, Debug)]
pub struct ApiDecoder<U>(PhantomData<U>);

impl<U: Message + Default> Decoder for ApiDecoder<U> {
    type Item = U;
    type Error = Status;

    fn buffer_settings(&self) -> BufferSettings {
        buffers()
    }

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        match U::decode(buffer) {
            Ok(message) => Ok(Some(message)),
            // Every RPC's request message is named so: the API is linted by buf STANDARD.
            Err(error) if std::any::type_name::<U>().ends_with("Request") => {
                Err(Refusal::new(Reason::MalformedMessage, error.to_string()).into())
            }
            Err(error) => Err(Status::internal(error.to_string())),
        }
    }
}

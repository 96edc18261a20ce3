//! Takes a script's answer apart.

use bytes::Bytes;
use redis::Value;
use tablemate_session::{Instant, SessionId, TicketId};

use crate::error::{Result, StoreError};
use crate::session_store::Outage;
use crate::tag::Entry;

/// The rest of an answer, taken from the front.
pub(super) struct Reply {
    what: &'static str,
    values: std::vec::IntoIter<Value>,
}

impl Reply {
    /// The answer of the script `what`: an array.
    pub(super) fn new(what: &'static str, value: Value) -> Result<Self> {
        match value {
            Value::Array(values) => Ok(Self {
                what,
                values: values.into_iter(),
            }),
            other => Err(corrupt(what, &format!("is no array but {}", shape(&other)))),
        }
    }

    fn wrong(&self, wanted: &str, got: Option<&Value>) -> StoreError {
        let got = got.map_or("nothing", shape);
        corrupt(self.what, &format!("holds {got} in place of {wanted}"))
    }

    /// That a value is not what it should be.
    pub(super) fn bad(&self, why: &str) -> StoreError {
        corrupt(self.what, why)
    }

    pub(super) fn bytes(&mut self) -> Result<Bytes> {
        match self.values.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes.into()),
            other => Err(self.wrong("bytes", other.as_ref())),
        }
    }

    /// Bytes, or `None` for nil.
    pub(super) fn bytes_or_nil(&mut self) -> Result<Option<Bytes>> {
        match self.values.next() {
            Some(Value::BulkString(bytes)) => Ok(Some(bytes.into())),
            None | Some(Value::Nil) => Ok(None),
            other => Err(self.wrong("bytes or nil", other.as_ref())),
        }
    }

    pub(super) fn text(&mut self) -> Result<String> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.into()).map_err(|_| corrupt(self.what, "holds text that is not UTF-8"))
    }

    /// A whole number, also when it comes as text.
    pub(super) fn number(&mut self) -> Result<u64> {
        let value = self.values.next();
        let number = match &value {
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            Some(Value::BulkString(text)) => {
                std::str::from_utf8(text).ok().and_then(|text| text.parse().ok())
            }
            // Scores come as floating point numbers.
            Some(Value::Double(number)) if *number >= 0.0 => Some(*number as u64),
            _ => None,
        };
        number.ok_or_else(|| self.wrong("a number", value.as_ref()))
    }

    pub(super) fn instant(&mut self) -> Result<Instant> {
        Ok(Instant(self.number()?))
    }

    pub(super) fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.bytes()?;
        <[u8; N]>::try_from(&*bytes)
            .map_err(|_| corrupt(self.what, &format!("holds {} bytes, not {N}", bytes.len())))
    }

    pub(super) fn session(&mut self) -> Result<SessionId> {
        Ok(SessionId::from_bytes(self.fixed()?))
    }

    pub(super) fn ticket(&mut self) -> Result<TicketId> {
        Ok(TicketId::from_bytes(self.fixed()?))
    }

    /// A nested array.
    pub(super) fn list(&mut self) -> Result<Reply> {
        match self.values.next() {
            Some(Value::Array(values)) => Ok(Reply {
                what: self.what,
                values: values.into_iter(),
            }),
            other => Err(self.wrong("an array", other.as_ref())),
        }
    }

    /// A nested array, or `None` for nil or nothing more.
    pub(super) fn list_or_nil(&mut self) -> Result<Option<Reply>> {
        match self.values.next() {
            Some(Value::Array(values)) => Ok(Some(Reply {
                what: self.what,
                values: values.into_iter(),
            })),
            None | Some(Value::Nil) => Ok(None),
            other => Err(self.wrong("an array or nil", other.as_ref())),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.as_slice().is_empty()
    }

    /// Reads what is left, one item after the other.
    pub(super) fn each<T>(mut self, mut read: impl FnMut(&mut Reply) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.is_empty() {
            items.push(read(&mut self)?);
        }
        Ok(items)
    }

    pub(super) fn entries(&mut self) -> Result<Vec<Entry>> {
        self.list()?.each(|reply| Entry::from_stored(reply.bytes()?))
    }

    pub(super) fn outages(&mut self) -> Result<Vec<Outage>> {
        self.list()?.each(|reply| {
            let text = reply.text()?;
            outage(&text).ok_or_else(|| reply.bad("holds an outage that cannot be read"))
        })
    }
}

/// An outage as it is stored: "id from to".
pub(super) fn outage(text: &str) -> Option<Outage> {
    let mut numbers = text.split(' ').map(|number| number.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    Some(Outage {
        id: next()?,
        from: Instant(next()?),
        to: Instant(next()?),
    })
}

fn corrupt(what: &'static str, why: &str) -> StoreError {
    StoreError::Corrupt {
        what,
        why: why.to_owned(),
    }
}

/// The kind of a value, without what it holds (S-24).
fn shape(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Int(_) => "an integer",
        Value::BulkString(_) => "bytes",
        Value::Array(_) => "an array",
        Value::SimpleString(_) | Value::Okay => "a status",
        _ => "something else",
    }
}

//! The library's log lines and its last words, handed to one function outside.
use slog::{Drain, Key, Level, Logger, OwnedKVList, Record, Serializer, KV};
use std::fmt::{Arguments, Write};
use std::sync::OnceLock;

use crate::types::Bytes;

/// Levels: 0 fatal, 1 error, 2 warning, 3 information.
pub type LogFunction = extern "C" fn(level: u32, message: Bytes);
static LOG: OnceLock<LogFunction> = OnceLock::new();

fn write(level: u32, text: &str) {
    match LOG.get() {
        Some(log) => log(level, Bytes::of(text.as_bytes())),
        None if level <= 1 => eprintln!("raft: {text}"),
        None => {}
    }
}

struct Line(String);
impl Serializer for Line {
    fn emit_arguments(&mut self, key: Key, value: &Arguments) -> slog::Result {
        write!(self.0, ", {key}: {value}")?;
        Ok(())
    }
}

struct Outside;
impl Drain for Outside {
    type Ok = ();
    type Err = slog::Never;
    fn log(&self, record: &Record, values: &OwnedKVList) -> Result<(), slog::Never> {
        let level = match record.level() {
            Level::Critical => 0,
            Level::Error => 1,
            Level::Warning => 2,
            _ => 3,
        };
        if LOG.get().is_none() && level > 1 {
            return Ok(());
        }
        let mut line = Line(record.msg().to_string());
        let _ = record.kv().serialize(record, &mut line);
        let _ = values.serialize(record, &mut line);
        write(level, &line.0);
        Ok(())
    }
}

pub fn logger() -> Logger {
    Logger::root(Outside, slog::o!())
}

pub fn set(log: LogFunction) {
    if LOG.set(log).is_ok() {
        std::panic::set_hook(Box::new(|panic| write(0, &panic.to_string())));
    }
}

//! Many patterns, one pass, streaming.

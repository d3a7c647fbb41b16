//! One stream compressed in one way. Rule: a codec gives one child and knows nothing of archives.

pub mod gzip;
pub mod inflate;

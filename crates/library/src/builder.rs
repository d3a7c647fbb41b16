//! From rules and signatures to what flows share: [`Builder`] → [`Shared`]. Rule: what cannot be used is listed, never left out in
//! silence.

use crate::error::Error;
use lockgate_inspect::{Generation, Policy, Pools};
use lockgate_model::{Database, Limits, Pool};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use {lockgate_antivirus as antivirus, lockgate_ids as ids};

/// What decoders may hold for all flows of a database together.
const PARTS_BYTES_MAX: u64 = 256 << 20;

/// Rules and signatures, before they are compiled.
pub struct Builder {
    rules: ids::Sources,
    has_signatures: bool,
    signatures: antivirus::Sources,
    limits: Limits,
    parts_bytes_max: u64,
}

/// All that flows share.
pub struct Shared {
    /// What sessions are opened with.
    pub generation: Arc<Generation>,
    /// What may be held.
    pub pools: Pools,
    /// The rules, for packets.
    pub rules: Arc<ids::Database>,
    /// How many rules and signatures are in use.
    pub in_use: u64,
    /// What is not in use.
    pub failures: Vec<Error>,
    flows: AtomicU64,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            rules: ids::Sources::new(),
            has_signatures: false,
            signatures: antivirus::Sources::new(),
            limits: Limits::default(),
            parts_bytes_max: PARTS_BYTES_MAX,
        }
    }
}

impl Builder {
    /// Sets a limit.
    pub fn limit(&mut self, name: &str, value: u64) -> Result<(), Error> {
        let limits = &mut self.limits;
        let place = match name {
            "depth_max" => {
                limits.depth_max = u16::try_from(value).map_err(|_| too_large(name))?;
                return Ok(());
            }
            "parts_max" => {
                limits.parts_max = u32::try_from(value).map_err(|_| too_large(name))?;
                return Ok(());
            }
            "expansion_max" => &mut limits.expansion_max,
            "expansion_free_bytes" => &mut limits.expansion_free_bytes,
            "decoded_bytes_max" => &mut limits.decoded_bytes_max,
            "part_held_bytes_max" => &mut limits.part_held_bytes_max,
            "held_bytes_max" => &mut limits.held_bytes_max,
            "content_pool_bytes" => &mut self.parts_bytes_max,
            _ => return Err(Error::new(format!("{name:?} is no limit that is known"))),
        };
        *place = value;
        Ok(())
    }

    /// Says what a variable stands for.
    pub fn set(&mut self, name: &str, list: &str) -> Result<(), Error> {
        let name = name.trim_start_matches('$');
        let set = match name.ends_with("_PORTS") || name.ends_with("_PORT") {
            true => self.rules.set_ports(name, list),
            false => self.rules.set_addresses(name, list),
        };
        set.map_err(|reason| Error::new(format!("{name}: {reason}")))
    }

    /// A file of rules.
    pub fn add_rules(&mut self, name: &str, bytes: Vec<u8>) {
        self.rules.add(name, bytes);
    }

    /// A file of signatures.
    pub fn add_signatures(&mut self, name: &str, bytes: Vec<u8>) {
        self.has_signatures = true;
        self.signatures.add(name, bytes);
    }

    /// Compiles them.
    pub fn build(self) -> Result<Shared, Error> {
        let begun = Instant::now();
        let (rules, report) = self.rules.compile(Arc::new(move || begun.elapsed().as_secs()));
        if let Some(first) = report.useless.first() {
            let message =
                format!("{} (none of the file's rules can be used, this is the first)", first.reason);
            return Err(Error::of_file(&first.file, first.line, first.column, &message));
        }
        let rules = Arc::new(rules);
        let mut in_use = report.rules_loaded();
        let failed = report.failures.iter();
        let mut failures: Vec<Error> = failed
            .map(|failure| Error::of_file(&failure.file, failure.line, failure.column, &failure.reason))
            .collect();
        failures.extend(report.unread.iter().map(|(protocol, count)| {
            Error::new(format!("{count} rules about {protocol}, which is not taken apart"))
        }));
        let mut databases: Vec<Arc<dyn Database>> = vec![Arc::clone(&rules) as _];
        if self.has_signatures {
            let (signatures, report) = self.signatures.compile();
            in_use += report.signatures_loaded();
            failures.extend(
                report.failures.iter().map(|failure| {
                    Error::of_file(&failure.file, failure.line, failure.column, &failure.reason)
                }),
            );
            databases.push(Arc::new(signatures));
        }
        let generation = Generation {
            number: 1,
            databases,
            policy: Arc::new(Policy::default()),
            limits: Arc::new(self.limits),
        };
        let pools = Pools { hold: Pool::new(0), parts: Pool::new(self.parts_bytes_max) };
        let flows = AtomicU64::new(0);
        Ok(Shared { generation: Arc::new(generation), pools, rules, in_use, failures, flows })
    }
}

impl Shared {
    /// A number that no other flow of this database has.
    pub fn next_flow(&self) -> u64 {
        self.flows.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn too_large(name: &str) -> Error {
    Error::new(format!("{name}: more than can be counted"))
}

/// Reads a file that the caller names.
pub fn read(path: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::of_file(path, 0, None, &format!("cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_built_or_said_to_be_wrong() {
        let mut builder = Builder::default();
        builder.set("$HOME_NET", "[10.0.0.0/8]").unwrap();
        assert!(builder.set("HOME_NET", "nowhere").is_err());
        builder.limit("held_bytes_max", 1 << 20).unwrap();
        assert!(builder.limit("depth_max", 1 << 20).is_err() && builder.limit("no_such", 1).is_err());
        builder.add_rules("a.rules", b"alert http any any -> any any (content:\"x\"; sid:1;)\nalert http any any -> any any (nonsense; sid:2;)\n".to_vec());
        let shared = builder.build().unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!((shared.in_use, shared.failures.len()), (1, 1));
        assert_eq!((shared.failures[0].line, shared.failures[0].file()), (2, Some(c"a.rules")));
        assert_ne!(shared.next_flow(), shared.next_flow());
        let mut builder = Builder::default();
        builder.add_rules("b.rules", b"\nalert http any any -> any any (nonsense; sid:2;)\n".to_vec());
        let Err(error) = builder.build() else { panic!("a file of which nothing is used was taken") };
        assert_eq!((error.line, error.file()), (2, Some(c"b.rules")));
        assert!(read("/nonexistent/rules").is_err());
    }
}

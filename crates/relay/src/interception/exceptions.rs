//! Hosts that nobody comes between: [`Exceptions`]. Rule: who is in it says where that was written.

use crate::settings;
use crate::tls::{TlsError, wrong};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Domains, each with the place where it stands.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    domains: HashMap<String, String>,
}

impl Exceptions {
    /// Those of the configuration and of its files.
    pub fn open(settings: &settings::Interception) -> Result<Self, TlsError> {
        let mut all = Self::default();
        for domain in &settings.except {
            let domain = normal(domain).ok_or_else(|| {
                wrong(Path::new("tls_interception.except"), format!("{domain:?} is no domain"))
            })?;
            all.domains.insert(domain, "tls_interception.except".to_owned());
        }
        for file in &settings.except_files {
            let text = fs::read_to_string(file).map_err(|e| wrong(file, e))?;
            for (index, line) in text.lines().enumerate() {
                let line = line.split('#').next().unwrap_or_default().trim();
                if line.is_empty() {
                    continue;
                }
                let place = format!("{}:{}", file.display(), index + 1);
                let Some(domain) = normal(line) else {
                    return Err(wrong(Path::new(&place), format!("{line:?} is no domain")));
                };
                all.domains.entry(domain).or_insert(place);
            }
        }
        Ok(all)
    }

    /// Where it is written that a host is left alone: a domain stands for itself and all below it.
    pub fn find(&self, host: &str) -> Option<&str> {
        let mut rest = host;
        loop {
            if let Some(place) = self.domains.get(rest) {
                return Some(place);
            }
            rest = rest.split_once('.')?.1;
        }
    }
}

/// `*.example.org`, `.example.org` and `example.org` mean the same; an address is itself.
fn normal(domain: &str) -> Option<String> {
    let domain = domain.strip_prefix("*.").or(domain.strip_prefix('.')).unwrap_or(domain);
    let domain = domain.strip_suffix('.').unwrap_or(domain).to_ascii_lowercase();
    let is_fit = |c: u8| c.is_ascii_alphanumeric() || b"-_.:".contains(&c);
    (!domain.is_empty() && domain.bytes().all(is_fit)).then_some(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_stands_for_all_below_it() {
        let except = ["Bank.Example", "*.gov.example", "192.0.2.7"].map(str::to_owned).to_vec();
        let settings = settings::Interception { except, ..settings::Interception::default() };
        let all = Exceptions::open(&settings).unwrap();
        for (host, expected) in [
            ("bank.example", true),
            ("www.bank.example", true),
            ("notbank.example", false),
            ("gov.example", true),
            ("a.b.gov.example", true),
            ("example", false),
            ("192.0.2.7", true),
            ("0.2.7", false),
            ("", false),
        ] {
            assert_eq!(all.find(host).is_some(), expected, "{host}");
        }
        let wrong = settings::Interception { except: vec!["a b".to_owned()], ..settings };
        assert!(Exceptions::open(&wrong).is_err());
    }
}

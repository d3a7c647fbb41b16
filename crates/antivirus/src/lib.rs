//! ClamAV databases: ruleset, compiler, scanner.

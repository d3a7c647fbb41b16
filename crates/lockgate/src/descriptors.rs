//! How many files and sockets the process may have open. Rule: as many as the system lets it, and said where that is too few.

/// A connection from a client and one to the next hop.
const PER_CONNECTION: u64 = 2;
/// Listeners, events, databases while they are read, a few for the runtime.
const BESIDES: u64 = 256;

/// Raises the soft limit to the hard one, and returns it.
pub fn raise() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes one rlimit into the variable that it is given.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return None;
    }
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: the call reads one rlimit from the variable that it is given.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } == 0 {
        return Some(raised.rlim_cur);
    }
    Some(limit.rlim_cur)
}

/// What to say where the limit is too low for so many connections.
pub fn warning(limit: u64, connections_max: usize) -> Option<String> {
    let least = (connections_max as u64).saturating_mul(PER_CONNECTION);
    let wanted = least.saturating_add(BESIDES);
    (limit < least).then(|| {
        let enough = limit.saturating_sub(BESIDES) / PER_CONNECTION;
        format!(
            "{limit} open files are enough for about {enough} connections, gateway.connections_max is \
             {connections_max}: set LimitNOFILE={wanted} or `ulimit -n {wanted}`, or lower it"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_are_said() {
        assert!(raise().is_some_and(|limit| limit > 0));
        assert_eq!(warning(20_000, 10_000), None);
        assert!(warning(1024, 10_000).is_some_and(|words| words.contains("about 384 connections")));
        assert!(warning(u64::MAX, usize::MAX).is_none());
    }
}

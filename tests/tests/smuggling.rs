//! Requests that two readers could part at two places, between the gateway and servers of three makes. Rule: what the
//! server was asked is what the gateway judged, and nobody gets an answer that is not his.

use lockgate_tests::desync::Pair;
use lockgate_tests::reverse::Make;
use lockgate_tests::smuggled::cases;

fn none_desynchronises(make: Make) {
    let mut pair = Pair::start(make);
    let (mut wrong, mut passed) = (Vec::new(), 0);
    for case in cases() {
        let tried = pair.attempt(&case.bytes);
        passed += usize::from(!tried.seen.is_empty());
        wrong.extend(tried.wrong.iter().map(|why| format!("{}: {why}", case.name)));
    }
    assert!(wrong.is_empty(), "{make:?}:\n{}", wrong.join("\n"));
    // What is said in one way all the same goes on: a gateway that refused everything would pass this test, too.
    assert!(passed > 40, "{make:?}: only {passed} went on");
}

#[test]
fn nginx_reads_what_the_gateway_reads() {
    none_desynchronises(Make::Nginx);
}

#[test]
fn apache_reads_what_the_gateway_reads() {
    none_desynchronises(Make::Apache);
}

#[test]
fn haproxy_reads_what_the_gateway_reads() {
    none_desynchronises(Make::Haproxy);
}

/// The same servers, requests and looking; only what stands between is another. By their length all of the first is a body, by
/// its chunks a request stands behind it.
#[test]
fn a_relay_that_trusts_lengths_is_found_out() {
    let cases = cases();
    let bytes = |name: &str| &cases.iter().find(|case| case.name == name).expect("there is one").bytes;
    for make in Make::ALL {
        let smuggled = Pair::with_naive(make).attempt(bytes("CL.TE Transfer-Encoding: chunked"));
        let wrong = smuggled.wrong.join("\n");
        assert!(wrong.contains("another client asked for"), "{make:?}: {wrong}");
        assert!(wrong.contains("the gateway logged"), "{make:?}: {wrong}");
        let asked = |target: &str| smuggled.seen.iter().any(|seen| seen.target == target);
        assert!(asked("/case") && asked("/smuggled"), "{make:?}: {:?}", smuggled.seen);
        // Where both read the same, nothing is found.
        let plain = Pair::with_naive(make).attempt(bytes("a pipeline with a body"));
        assert!(plain.wrong.is_empty(), "{make:?}: {}", plain.wrong.join("\n"));
        assert_eq!(plain.seen.len(), 2, "{make:?}: {:?}", plain.seen);
    }
}

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

//! The names of numbers, as IANA's registry "Domain Name System (DNS) Parameters" has them. Rule: what has no name is its number.

use std::borrow::Cow;

const KINDS: [(u16, &str); 61] = [
    (1, "A"),
    (2, "NS"),
    (3, "MD"),
    (4, "MF"),
    (5, "CNAME"),
    (6, "SOA"),
    (7, "MB"),
    (8, "MG"),
    (9, "MR"),
    (10, "NULL"),
    (11, "WKS"),
    (12, "PTR"),
    (13, "HINFO"),
    (14, "MINFO"),
    (15, "MX"),
    (16, "TXT"),
    (17, "RP"),
    (18, "AFSDB"),
    (19, "X25"),
    (20, "ISDN"),
    (21, "RT"),
    (22, "NSAP"),
    (23, "NSAP-PTR"),
    (24, "SIG"),
    (25, "KEY"),
    (26, "PX"),
    (27, "GPOS"),
    (28, "AAAA"),
    (29, "LOC"),
    (30, "NXT"),
    (33, "SRV"),
    (34, "ATMA"),
    (35, "NAPTR"),
    (36, "KX"),
    (37, "CERT"),
    (38, "A6"),
    (39, "DNAME"),
    (41, "OPT"),
    (42, "APL"),
    (43, "DS"),
    (44, "SSHFP"),
    (45, "IPSECKEY"),
    (46, "RRSIG"),
    (47, "NSEC"),
    (48, "DNSKEY"),
    (49, "DHCID"),
    (50, "NSEC3"),
    (51, "NSEC3PARAM"),
    (52, "TLSA"),
    (55, "HIP"),
    (59, "CDS"),
    (60, "CDNSKEY"),
    (64, "SVCB"),
    (65, "HTTPS"),
    (99, "SPF"),
    (249, "TKEY"),
    (250, "TSIG"),
    (252, "AXFR"),
    (254, "MAILA"),
    (255, "ANY"),
    (256, "URI"),
];

const RESPONSE_CODES: [&str; 11] = [
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET",
    "NOTAUTH", "NOTZONE",
];

/// What a type of records is called: `A`, `MX`.
pub fn kind_name(kind: u16) -> Cow<'static, str> {
    let known = KINDS.binary_search_by_key(&kind, |(number, _)| *number).ok().and_then(|at| KINDS.get(at));
    known.map_or_else(|| kind.to_string().into(), |(_, name)| (*name).into())
}

/// What a response code is called: `NXDOMAIN`.
pub fn response_code_name(code: u16) -> Cow<'static, str> {
    let known = RESPONSE_CODES.get(usize::from(code));
    known.map_or_else(|| code.to_string().into(), |name| (*name).into())
}

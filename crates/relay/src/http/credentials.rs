//! What a client says who it is: [`Credentials`], by RFC 7617. Rule: a field that can be read in two ways is none.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lockgate_proto::http::Fields;
use std::fmt;

/// A name and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name.
    pub user: String,
    /// The password: never shown.
    pub password: Vec<u8>,
}

impl Credentials {
    /// Those for a proxy, in a request's fields; why not, where there are none.
    pub fn read(fields: &Fields) -> Result<Self, &'static str> {
        let mut values = fields.all("proxy-authorization");
        let value = values.next().ok_or("a name and password are wanted")?;
        if values.next().is_some() {
            return Err("there are several names and passwords");
        }
        Self::parse(value).ok_or("the name and password cannot be read")
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let value = std::str::from_utf8(value).ok()?.trim();
        let (scheme, encoded) = value.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let decoded = BASE64_STANDARD.decode(encoded.trim_start()).ok()?;
        let colon = decoded.iter().position(|c| *c == b':')?;
        let (user, password) = (&decoded[..colon], &decoded[colon + 1..]);
        // Section 2: neither may have control characters in it.
        if decoded.iter().any(|c| c.is_ascii_control()) || user.is_empty() {
            return None;
        }
        Some(Self { user: std::str::from_utf8(user).ok()?.to_owned(), password: password.to_vec() })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({:?})", self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_say() {
        for (value, expected) in [
            // The two of RFC 7617.
            ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Some(("Aladdin", "open sesame"))),
            ("Basic dGVzdDoxMjPCow==", Some(("test", "123£"))),
            ("basic  YTpiOmM=", Some(("a", "b:c"))),
            ("BASIC YTo=", Some(("a", ""))),
            ("Basic OmI=", None),
            ("Basic YQ==", None),
            ("Basic YTpi!", None),
            ("Basic YTpiCg==", None),
            ("Basic", None),
            ("Basic ", None),
            ("Bearer YTpi", None),
            ("YTpi", None),
            ("Basic /zphYQ==", None),
            ("", None),
        ] {
            let read = Credentials::parse(value.as_bytes());
            let read = read.as_ref().map(|c| (c.user.as_str(), c.password.as_slice()));
            assert_eq!(read, expected.map(|(user, password)| (user, password.as_bytes())), "{value}");
        }
    }

    #[test]
    fn one_field_and_no_more() {
        let mut fields = Fields::new();
        assert_eq!(Credentials::read(&fields), Err("a name and password are wanted"));
        fields.push(b"Proxy-Authorization", b"Basic YTpi");
        assert_eq!(Credentials::read(&fields).unwrap().user, "a");
        fields.push(b"proxy-authorization", b"Basic YTpi");
        assert!(Credentials::read(&fields).is_err());
    }
}

//! Heads between the `h2` crate and `lockgate_proto::http`. Rule: what comes is judged there, and what leaves is made from
//! what was read, field by field.

use super::super::content::Last;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TE};
use http::{Method, Request, Response, StatusCode, Uri};
use lockgate_proto::http::{
    Fields, Follows, Framing, Limits, Pseudo, Refusal, RequestHead, ResponseHead, Scheme, Target,
    authority_of, may_leave_by_http2, request_from_http2, response_from_http2, trailers_from_http2,
};
use std::io;

/// Reads a request's head.
pub fn request(head: &http::request::Parts, follows: Follows) -> Result<(RequestHead, Framing), Refusal> {
    let uri = &head.uri;
    let pseudo = Pseudo {
        method: head.method.as_str().as_bytes(),
        scheme: uri.scheme_str().map(str::as_bytes),
        authority: uri.authority().map(|authority| authority.as_str().as_bytes()),
        // CONNECT has none, and the crate gives it an empty one.
        path: uri.path_and_query().map(|path| path.as_str().as_bytes()).filter(|path| !path.is_empty()),
    };
    request_from_http2(pseudo, fields(&head.headers), follows, &Limits::default())
}

/// Reads the head of a response to a request with this method.
pub fn response(
    status: StatusCode,
    headers: &HeaderMap,
    follows: Follows,
    method: &[u8],
) -> Result<(ResponseHead, Framing), Refusal> {
    response_from_http2(status.as_u16(), fields(headers), follows, method, &Limits::default())
}

/// Reads what comes behind a message's content.
pub fn trailers(trailers: &HeaderMap) -> Result<Fields, Refusal> {
    trailers_from_http2(fields(trailers), &Limits::default())
}

/// Makes a request's head.
pub fn outgoing_request(head: &RequestHead, scheme: Scheme, framing: Framing) -> io::Result<Request<()>> {
    let authority = authority_of(head, scheme).ok_or_else(|| invalid("the request names no host"))?;
    let path: &[u8] = match &head.target {
        Target::Absolute(url) => &url.path,
        Target::Origin(path) => path,
        Target::Asterisk => b"*",
        Target::Authority { .. } => return Err(invalid("no tunnel leads through HTTP/2")),
    };
    let uri = Uri::builder().scheme(scheme.name()).authority(authority).path_and_query(path);
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(&head.method).map_err(invalid)?;
    *request.uri_mut() = uri.build().map_err(invalid)?;
    *request.headers_mut() = headers(&head.fields);
    if head.fields.list_has("te", "trailers") {
        request.headers_mut().insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Framing::Length(bytes) = framing {
        request.headers_mut().insert(CONTENT_LENGTH, bytes.into());
    }
    Ok(request)
}

/// Makes a response's head. The length that its fields declare, for HEAD and 304, stays.
pub fn outgoing_response(head: &ResponseHead, framing: Framing) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = headers(&head.fields);
    let length = match framing {
        Framing::Length(bytes) => Some(bytes.into()),
        Framing::None if head.status >= 200 && head.status != 204 => {
            head.fields.get("content-length").and_then(|digits| HeaderValue::from_bytes(digits).ok())
        }
        Framing::None | Framing::Chunked | Framing::UntilClose => None,
    };
    if let Some(length) = length {
        response.headers_mut().insert(CONTENT_LENGTH, length);
    }
    response
}

/// Whether nothing comes behind a head that leaves with this.
pub fn ends(framing: Framing, content_bytes: usize, last: Last<'_>) -> bool {
    last == Last::Yes && content_bytes == 0 || framing == Framing::None
}

fn fields(headers: &HeaderMap) -> Fields {
    headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())).collect()
}

/// Makes the fields of a message that leaves, before its content or behind it.
pub fn headers(fields: &Fields) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields.iter().filter(|(name, _)| may_leave_by_http2(name)) {
        let Ok(name) = HeaderName::from_bytes(name) else { continue };
        let value = HeaderValue::from_bytes(value).unwrap_or_else(|_| plain(value));
        // The map has room for 24,576: more than may come.
        let _ = headers.try_append(name, value);
    }
    headers
}

/// Control characters become spaces, as in HTTP/1.
fn plain(value: &[u8]) -> HeaderValue {
    let value: Vec<u8> =
        value.iter().map(|byte| if byte.is_ascii_control() { b' ' } else { *byte }).collect();
    HeaderValue::from_bytes(&value).unwrap_or(HeaderValue::from_static(""))
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

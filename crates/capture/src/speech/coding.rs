//! Content codings as a spectator takes them: [`seen_as`]. Rule: what browsers undo is undone; a word that they pass over is
//! passed over.

use lockgate_inspect::{Coding, Root};
use lockgate_proto::http::Fields;

/// How many codings are undone, one in the other.
const CODINGS_MAX: usize = 4;

/// What content is to be inspected as.
pub fn seen_as(fields: &Fields) -> Root {
    let names = fields.list("content-encoding");
    let mut codings: Vec<Coding> = names.filter_map(Coding::named).take(CODINGS_MAX).collect();
    // They are named in the order in which they were applied.
    codings.reverse();
    let types: Vec<&[u8]> = fields.all("content-type").filter(|value| is_multipart(value)).collect();
    match (types.is_empty(), codings.is_empty()) {
        (true, true) => Root::File,
        (true, false) => Root::Coded(codings),
        (false, _) => Root::Form { codings, content_types: types.into_iter().map(<[u8]>::to_vec).collect() },
    }
}

fn is_multipart(content_type: &[u8]) -> bool {
    let main = content_type.trim_ascii_start().get(..b"multipart/".len());
    main.is_some_and(|main| main.eq_ignore_ascii_case(b"multipart/"))
}

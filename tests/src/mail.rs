//! Mails and what is in them. Rule: the test virus is put together at run time, it stands nowhere in the tree.

/// The harmless test file that every scanner finds.
pub fn eicar() -> Vec<u8> {
    [r"X5O!P%@AP[4\PZX54(P^)7CC)7}", "$EICAR-STANDARD-ANTIVIRUS", "-TEST-FILE!$H+H*"].concat().into_bytes()
}

/// A ClamAV database (`.ndb`) that knows [`eicar`] as `Test.Eicar`, wherever it stands.
pub fn eicar_database() -> String {
    let hex: String = eicar().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("Test.Eicar:0:*:{hex}\n")
}

/// Bytes that look like nothing and are the same for the same seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A zip archive with one stored entry.
pub fn zip(name: &str, content: &[u8]) -> Vec<u8> {
    zip_of(name, Method::Stored, crc32(content), content.len() as u32, content)
}

/// A zip archive with one deflated entry: what gzip made, without its header and trailer (RFC 1952).
pub fn zip_of_gzip(name: &str, gzip: &[u8]) -> Vec<u8> {
    let (data, trailer) = gzip.split_at(gzip.len() - 8);
    let word = |at: usize| u32::from_le_bytes(trailer[at..at + 4].try_into().expect("four bytes"));
    zip_of(name, Method::Deflated, word(0), word(4), &data[10..])
}

#[derive(Clone, Copy)]
enum Method {
    Stored = 0,
    Deflated = 8,
}

fn zip_of(name: &str, method: Method, crc: u32, size: u32, data: &[u8]) -> Vec<u8> {
    let mut common = vec![20, 0, 0, 0, method as u8, 0, 0, 0, 0x21, 0];
    common.extend_from_slice(&crc.to_le_bytes());
    common.extend_from_slice(&(data.len() as u32).to_le_bytes());
    common.extend_from_slice(&size.to_le_bytes());
    common.extend_from_slice(&(name.len() as u16).to_le_bytes());
    common.extend_from_slice(&[0, 0]);
    let mut archive = b"PK\x03\x04".to_vec();
    archive.extend_from_slice(&common);
    archive.extend_from_slice(name.as_bytes());
    archive.extend_from_slice(data);
    let directory_at = archive.len() as u32;
    archive.extend_from_slice(b"PK\x01\x02\x14\x00");
    archive.extend_from_slice(&common);
    archive.extend_from_slice(&[0; 14]);
    archive.extend_from_slice(name.as_bytes());
    let directory_length = archive.len() as u32 - directory_at;
    archive.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    archive.extend_from_slice(&directory_length.to_le_bytes());
    archive.extend_from_slice(&directory_at.to_le_bytes());
    archive.extend_from_slice(&[0, 0]);
    archive
}

/// The checksum of zip and gzip.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// RFC 4648, in lines of 76 characters that end in CRLF.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + bytes.len() / 28 + 8);
    for line in bytes.chunks(57) {
        for group in line.chunks(3) {
            let value = group.iter().fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
            let value = value << (8 * (3 - group.len()));
            for place in 0..4 {
                let digit = DIGITS[(value >> (18 - 6 * place)) as usize & 63];
                text.push(if place <= group.len() { char::from(digit) } else { '=' });
            }
        }
        text += "\r\n";
    }
    text
}

/// A mail of plain text; every line ends in CRLF and none is longer than RFC 5322 allows.
pub fn plain(subject: &str, body: &str) -> Vec<u8> {
    format!(
        "From: Ann <ann@example.org>\r\nTo: Bob <bob@example.org>\r\nSubject: {subject}\r\n\
         Date: Sat, 21 Nov 2026 02:00:00 +0000\r\nMessage-ID: <{subject}@example.org>\r\n\r\n{body}\r\n"
    )
    .into_bytes()
}

/// A mail with a text and an attachment in base64.
pub fn with_attachment(subject: &str, name: &str, content: &[u8]) -> Vec<u8> {
    format!(
        "From: Ann <ann@example.org>\r\nTo: Bob <bob@example.org>\r\nSubject: {subject}\r\n\
         Date: Sat, 21 Nov 2026 02:00:00 +0000\r\nMessage-ID: <{subject}@example.org>\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=\"between\"\r\n\r\n--between\r\nContent-Type: text/plain\r\n\r\n\
         Look at this.\r\n--between\r\nContent-Type: application/octet-stream; name=\"{name}\"\r\n\
         Content-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\r\n\
         {}--between--\r\n",
        base64(content)
    )
    .into_bytes()
}

/// EICAR in a zip in a zip in a mail.
pub fn infected(subject: &str) -> Vec<u8> {
    with_attachment(subject, "outer.zip", &zip("inner.zip", &zip("eicar.com", &eicar())))
}

/// What follows the header.
pub fn body(mail: &[u8]) -> &[u8] {
    let blank = mail.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4);
    let blank = blank.or_else(|| mail.windows(2).position(|window| window == b"\n\n").map(|at| at + 2));
    &mail[blank.unwrap_or(mail.len())..]
}

/// With the line ends that files have.
pub fn with_line_feeds(mail: &[u8]) -> Vec<u8> {
    let mut bytes = mail.to_vec();
    bytes.retain(|byte| *byte != b'\r');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()).trim_end(), text);
        }
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(eicar().len(), 68);
    }
}

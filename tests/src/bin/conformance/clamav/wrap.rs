//! A container around a file. Rule: the plainest that both programs read.

/// What a file stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    Nothing,
    Zip,
    Mail,
}

impl Wrap {
    pub fn of(container: &str) -> Option<Self> {
        match container {
            "CL_TYPE_ANY" => Some(Self::Nothing),
            "CL_TYPE_ZIP" => Some(Self::Zip),
            "CL_TYPE_MAIL" => Some(Self::Mail),
            _ => None,
        }
    }

    pub fn around(self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Nothing => bytes,
            Self::Zip => zip(&bytes),
            Self::Mail => mail(&bytes),
        }
    }
}

/// One stored entry.
fn zip(bytes: &[u8]) -> Vec<u8> {
    let name = b"q.bin";
    let length = (bytes.len() as u32).to_le_bytes();
    let about =
        [&[10, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &crc32(bytes).to_le_bytes(), &length, &length].concat();
    let mut zip = [b"PK\x03\x04", &about[..], &[name.len() as u8, 0, 0, 0], name, bytes].concat();
    let directory = zip.len() as u32;
    zip.extend([b"PK\x01\x02\x0a\0", &about[..], &[name.len() as u8], &[0; 17], name].concat());
    let directory_bytes = (zip.len() as u32 - directory).to_le_bytes();
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend([&directory_bytes[..], &directory.to_le_bytes(), &[0, 0]].concat());
    zip
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

fn mail(bytes: &[u8]) -> Vec<u8> {
    let mut mail = b"Received: from q by q\r\nFrom: a@example.net\r\nTo: b@example.net\r\nSubject: q\r\n\
        MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"qqqq\"\r\n\r\n--qqqq\r\n\
        Content-Type: application/octet-stream; name=\"q.bin\"\r\nContent-Transfer-Encoding: base64\r\n\
        Content-Disposition: attachment; filename=\"q.bin\"\r\n\r\n"
        .to_vec();
    for line in bytes.chunks(54) {
        mail.extend(base64(line));
        mail.extend(b"\r\n");
    }
    mail.extend(b"\r\n--qqqq--\r\n");
    mail
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |word, at| word << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let is_padding = at > three.len();
            out.push(if is_padding { b'=' } else { LETTERS[(word >> (18 - 6 * at) & 63) as usize] });
        }
    }
    out
}

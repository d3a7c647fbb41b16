//! bzip2's check sum: CRC-32 with the most significant bit first. Rule: eight bytes at a time.

const POLYNOMIAL: u32 = 0x04c1_1db7;

/// By byte, and by how many bytes follow it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc >> 31 == 1 { crc << 1 ^ POLYNOMIAL } else { crc << 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut follow = 1;
    while follow < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[follow - 1][byte];
            tables[follow][byte] = before << 8 ^ tables[0][(before >> 24) as usize];
            byte += 1;
        }
        follow += 1;
    }
    tables
}

/// The sum so far with these bytes added.
pub(super) fn add(mut crc: u32, bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        let first = crc ^ u32::from_be_bytes([eight[0], eight[1], eight[2], eight[3]]);
        let [a, b, c, d] = first.to_be_bytes();
        crc = TABLES[7][usize::from(a)]
            ^ TABLES[6][usize::from(b)]
            ^ TABLES[5][usize::from(c)]
            ^ TABLES[4][usize::from(d)]
            ^ TABLES[3][usize::from(eight[4])]
            ^ TABLES[2][usize::from(eight[5])]
            ^ TABLES[1][usize::from(eight[6])]
            ^ TABLES[0][usize::from(eight[7])];
    }
    for byte in rest {
        crc = crc << 8 ^ TABLES[0][usize::from((crc >> 24) as u8 ^ byte)];
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value() {
        assert_eq!(!add(!0, b"123456789"), 0xfc89_1918);
        assert_eq!(!add(add(!0, b"1234"), b"56789"), 0xfc89_1918);
    }
}

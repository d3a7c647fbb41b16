//! `byte_test`, `byte_jump`, `byte_extract`, `byte_math`, `isdataat`, `base64_decode`. Rule: the fields of each, as the manual
//! has them ("Payload Keywords"); what they come to is the evaluator's.

use super::content::Amount;
use super::draft::Names;
use super::integer;

/// How bytes are read as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    Big,
    Little,
    /// Digits to that base; `0` where they say it themselves.
    Digits(u32),
}

/// A number in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Field {
    /// How many bytes.
    pub length: Amount,
    pub offset: Amount,
    /// Whether the offset counts from the end of the match before.
    pub is_relative: bool,
    pub encoding: Encoding,
    /// What of the number counts; it is shifted by the zeros at its end.
    pub mask: Option<u64>,
}

/// How `byte_test` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    And,
    Or,
}

/// What `byte_math` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    ShiftLeft,
    ShiftRight,
}

/// Where a jump begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum From {
    /// Behind the number.
    #[default]
    Here,
    Beginning,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteTest {
    pub field: Field,
    pub operator: Operator,
    pub is_negated: bool,
    pub value: Amount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteJump {
    pub field: Field,
    pub multiplier: u64,
    pub is_aligned: bool,
    pub from: From,
    pub post_offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteExtract {
    pub field: Field,
    pub multiplier: u64,
    /// The number is rounded up to a multiple of this.
    pub align: u64,
    pub variable: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteMath {
    pub field: Field,
    pub arithmetic: Arithmetic,
    pub value: Amount,
    pub variable: u8,
}

/// Whether a byte is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IsDataAt {
    pub offset: Amount,
    pub is_relative: bool,
    pub is_negated: bool,
}

impl IsDataAt {
    /// Whether it says that nothing follows the match before.
    pub fn is_of_end(self) -> bool {
        self == Self { offset: Amount::Number(1), is_relative: true, is_negated: true }
    }
}

/// Base64 in the buffer, whose content `base64_data` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Base64 {
    /// How many bytes of base64 at most.
    pub bytes: Option<u32>,
    pub offset: u32,
    pub is_relative: bool,
}

/// What is common to the fields of these keywords.
struct Reading<'a> {
    field: Field,
    multiplier: u64,
    align: u64,
    from: From,
    post_offset: i64,
    names: &'a Names,
}

impl<'a> Reading<'a> {
    fn new(names: &'a Names) -> Self {
        let none = Amount::Number(0);
        let field =
            Field { length: none, offset: none, is_relative: false, encoding: Encoding::Big, mask: None };
        Self { field, multiplier: 1, align: 1, from: From::Here, post_offset: 0, names }
    }

    /// One of the words behind those that each keyword begins with.
    fn option(&mut self, text: &str) -> Result<(), String> {
        let (word, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match (word, value.trim()) {
            ("", _) => {}
            ("relative", _) => self.field.is_relative = true,
            ("big", _) => self.field.encoding = Encoding::Big,
            ("little", _) => self.field.encoding = Encoding::Little,
            ("endian", value) => return self.option(value),
            ("string", "") => self.field.encoding = Encoding::Digits(10),
            ("string", base) => return self.option(base),
            ("hex", _) => self.field.encoding = Encoding::Digits(16),
            ("dec", _) => self.field.encoding = Encoding::Digits(10),
            ("oct", _) => self.field.encoding = Encoding::Digits(8),
            ("align", "") => self.align = 4,
            ("align", value) => self.align = integer::number(value)?.max(1),
            ("multiplier", value) => self.multiplier = integer::number(value)?,
            ("from_beginning", _) => self.from = From::Beginning,
            ("from_end", _) => self.from = From::End,
            ("post_offset", value) => self.post_offset = signed(value)?,
            ("bitmask", value) => {
                let mask = integer::number(
                    value
                        .strip_prefix("0x")
                        .map_or_else(|| format!("0x{value}"), |_| value.to_owned())
                        .as_str(),
                )?;
                self.field.mask = (mask != 0).then_some(mask).ok_or("a mask without any bit")?.into();
            }
            ("dce", _) => return Err("the byte order of DCE/RPC is not known here".to_owned()),
            _ => return Err(format!("{text:?} is not known here")),
        }
        Ok(())
    }

    fn options<'t>(&mut self, options: impl Iterator<Item = &'t str>) -> Result<(), String> {
        options.into_iter().try_for_each(|text| self.option(text))
    }

    fn length(&mut self, text: &str, most: i64) -> Result<(), String> {
        self.field.length = self.names.amount(text)?;
        match self.field.length {
            Amount::Number(length) if !(0..=most).contains(&length) => {
                Err(format!("{text} bytes are no number of at most {most} bytes"))
            }
            _ => Ok(()),
        }
    }

    fn offset(&mut self, text: &str) -> Result<(), String> {
        self.field.offset = self.names.amount(text)?;
        Ok(())
    }
}

/// A number that may be negative.
pub(crate) fn signed(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let (digits, sign) =
        text.strip_prefix('-').map_or((text.trim_start_matches('+'), 1), |digits| (digits, -1));
    let number = integer::number(digits)?;
    i64::try_from(number).map(|number| sign * number).map_err(|_| format!("{text} is too large"))
}

fn missing(what: &str) -> String {
    format!("{what} is missing")
}

/// Digits may be more than the bytes of a number.
const DIGITS_MAX: i64 = 23;

pub(crate) fn byte_test<'t>(
    mut fields: impl Iterator<Item = &'t str>,
    names: &Names,
) -> Result<ByteTest, String> {
    let mut reading = Reading::new(names);
    reading.length(fields.next().unwrap_or_default(), DIGITS_MAX)?;
    let operator = fields.next().ok_or_else(|| missing("the operator"))?;
    let (operator, is_negated) = match operator.strip_prefix('!') {
        // `!` alone is "not equal".
        Some(rest) if rest.trim().is_empty() => ("=", true),
        Some(rest) => (rest.trim(), true),
        None => (operator, false),
    };
    let operator = match operator {
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "=" | "==" => Operator::Equal,
        "&" => Operator::And,
        "^" => Operator::Or,
        other => return Err(format!("{other:?} is no operator: < <= > >= = & ^ are")),
    };
    let value = names.amount(fields.next().ok_or_else(|| missing("the value"))?)?;
    reading.offset(fields.next().ok_or_else(|| missing("the offset"))?)?;
    reading.options(fields)?;
    Ok(ByteTest { field: reading.field, operator, is_negated, value })
}

pub(crate) fn byte_jump<'t>(
    mut fields: impl Iterator<Item = &'t str>,
    names: &Names,
) -> Result<ByteJump, String> {
    let mut reading = Reading::new(names);
    reading.length(fields.next().unwrap_or_default(), DIGITS_MAX)?;
    reading.offset(fields.next().ok_or_else(|| missing("the offset"))?)?;
    reading.options(fields)?;
    Ok(ByteJump {
        field: reading.field,
        multiplier: reading.multiplier,
        is_aligned: reading.align > 1,
        from: reading.from,
        post_offset: reading.post_offset,
    })
}

pub(crate) fn byte_extract<'t>(
    mut fields: impl Iterator<Item = &'t str>,
    names: &mut Names,
) -> Result<ByteExtract, String> {
    let (length, offset) =
        (fields.next().unwrap_or_default(), fields.next().ok_or_else(|| missing("the offset"))?);
    let name = fields.next().ok_or_else(|| missing("the variable's name"))?;
    let variable = names.set(name)?;
    let mut reading = Reading::new(names);
    reading.length(length, DIGITS_MAX)?;
    reading.offset(offset)?;
    reading.options(fields)?;
    Ok(ByteExtract { field: reading.field, multiplier: reading.multiplier, align: reading.align, variable })
}

pub(crate) fn byte_math<'t>(
    fields: impl Iterator<Item = &'t str> + Clone,
    names: &mut Names,
) -> Result<ByteMath, String> {
    let of = |name: &str| {
        fields.clone().find_map(|field| {
            let (word, value) = field.split_once(char::is_whitespace)?;
            (word == name).then_some(value.trim())
        })
    };
    let needed = |name: &str| of(name).ok_or_else(|| missing(name));
    let value = names.amount(needed("rvalue")?)?;
    let arithmetic = match needed("oper")? {
        "+" => Arithmetic::Add,
        "-" => Arithmetic::Subtract,
        "*" => Arithmetic::Multiply,
        "/" => Arithmetic::Divide,
        "<<" => Arithmetic::ShiftLeft,
        ">>" => Arithmetic::ShiftRight,
        other => return Err(format!("{other:?} is no operator: + - * / << >> are")),
    };
    let variable = names.set(needed("result")?)?;
    let mut reading = Reading::new(names);
    reading.length(needed("bytes")?, DIGITS_MAX)?;
    reading.offset(needed("offset")?)?;
    let known = ["bytes", "offset", "oper", "rvalue", "result"];
    let is_option = |field: &&str| !known.contains(&field.split_whitespace().next().unwrap_or_default());
    reading.options(fields.filter(is_option))?;
    Ok(ByteMath { field: reading.field, arithmetic, value, variable })
}

pub(crate) fn is_data_at<'t>(
    mut fields: impl Iterator<Item = &'t str>,
    names: &Names,
) -> Result<IsDataAt, String> {
    let first = fields.next().unwrap_or_default();
    let (first, is_negated) = first.strip_prefix('!').map_or((first, false), |rest| (rest.trim(), true));
    let offset = names.amount(first)?;
    let mut is_relative = false;
    for field in fields {
        match field {
            "relative" => is_relative = true,
            "rawbytes" => {}
            other => return Err(format!("{other:?} is not known here")),
        }
    }
    Ok(IsDataAt { offset, is_relative, is_negated })
}

pub(crate) fn base64_decode<'t>(fields: impl Iterator<Item = &'t str>) -> Result<Base64, String> {
    let mut base64 = Base64 { bytes: None, offset: 0, is_relative: false };
    let small =
        |text: &str| u32::try_from(integer::number(text)?).map_err(|_| format!("{text} is too large"));
    for field in fields.filter(|field| !field.is_empty()) {
        let (word, value) = field.split_once(char::is_whitespace).unwrap_or((field, ""));
        match (word, value) {
            ("bytes", value) => base64.bytes = Some(small(value)?),
            ("offset", value) => base64.offset = small(value)?,
            ("relative", _) => base64.is_relative = true,
            _ => return Err(format!("{field:?} is not known here")),
        }
    }
    Ok(base64)
}

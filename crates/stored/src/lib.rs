//! What has been compiled, as bytes and back: [`Stored`], [`stored!`]. Rule: no field is left out, and no length is believed
//! that the bytes do not bear out.
//!
//! ```
//! use lockgate_stored::{Reader, Stored, Writer, stored};
//!
//! #[derive(Debug, PartialEq)]
//! struct Place { line: u32, name: String }
//! stored!(struct Place { line, name });
//!
//! let (mut bytes, place) = (Vec::new(), Place { line: 7, name: "here".to_owned() });
//! let mut writer = Writer::new(&mut bytes);
//! place.store(&mut writer);
//! let sum = writer.finish()?;
//! let mut source = bytes.as_slice();
//! let mut reader = Reader::new(&mut source, bytes.len() as u64);
//! assert_eq!(Place::load(&mut reader), Ok(place));
//! assert_eq!(reader.finish(), Ok(sum));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Numbers are written with the low byte first, lengths as four bytes. Large arrays of numbers are copied as a whole. What is
//! read back has been looked at no further than its own type asks: a type whose numbers lead somewhere says in `is_sound`
//! whether they do.

mod reader;
mod types;
mod writer;

pub use reader::{Reader, Unfit};
pub use writer::Writer;

/// A value that can be written as bytes and read back.
pub trait Stored: Sized {
    /// How many bytes it takes at the least.
    const BYTES_MIN: usize;

    /// Writes it.
    fn store(&self, to: &mut Writer<'_>);

    /// Reads one.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where the bytes are none.
    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit>;

    /// Writes several, without their count.
    fn store_all(all: &[Self], to: &mut Writer<'_>) {
        all.iter().for_each(|one| one.store(to));
    }

    /// Reads so many. There is room for no more of them than the bytes that are left can be.
    ///
    /// # Errors
    ///
    /// [`Unfit`] where the bytes are none.
    fn load_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>, Unfit> {
        from.has(count, Self::BYTES_MIN.max(1))?;
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(Self::load(from)?);
        }
        Ok(all)
    }
}

/// The least bytes of a field, by the way to it.
#[doc(hidden)]
pub const fn bytes_min<Of, Field: Stored>(_: fn(&Of) -> &Field) -> usize {
    Field::BYTES_MIN
}

/// Makes a type [`Stored`]: of a struct, all its fields in turn; of an enum, a number for each variant and its fields. With
/// `, sound` behind it, what is read must pass the type's own `fn is_sound(&self) -> bool`.
#[macro_export]
macro_rules! stored {
    (struct $name:ident { $($field:ident),* $(,)? } $(, $sound:ident)?) => {
        impl $crate::Stored for $name {
            const BYTES_MIN: usize = 0 $(+ $crate::bytes_min(|it: &Self| &it.$field))*;

            #[inline]
            fn store(&self, to: &mut $crate::Writer<'_>) {
                let Self { $($field),* } = self;
                $($crate::Stored::store($field, to);)*
            }

            #[inline]
            fn load(from: &mut $crate::Reader<'_>) -> Result<Self, $crate::Unfit> {
                $(let $field = $crate::Stored::load(from)?;)*
                let loaded = Self { $($field),* };
                $($crate::stored!(@$sound loaded);)?
                Ok(loaded)
            }
        }
    };
    (struct $name:ident($inner:ty)) => {
        impl $crate::Stored for $name {
            const BYTES_MIN: usize = <$inner as $crate::Stored>::BYTES_MIN;

            #[inline]
            fn store(&self, to: &mut $crate::Writer<'_>) {
                $crate::Stored::store(&self.0, to);
            }

            #[inline]
            fn load(from: &mut $crate::Reader<'_>) -> Result<Self, $crate::Unfit> {
                <$inner as $crate::Stored>::load(from).map(Self)
            }

            fn load_all(count: usize, from: &mut $crate::Reader<'_>) -> Result<Vec<Self>, $crate::Unfit> {
                let all = <$inner as $crate::Stored>::load_all(count, from)?;
                Ok(all.into_iter().map(Self).collect())
            }
        }
    };
    (
        enum $name:ident { $($tag:literal => $variant:ident $(($($place:ident),*))? $({$($field:ident),*})?),* $(,)? }
        $(, $sound:ident)?
    ) => {
        impl $crate::Stored for $name {
            const BYTES_MIN: usize = 1;

            #[inline]
            fn store(&self, to: &mut $crate::Writer<'_>) {
                match self {
                    $(Self::$variant $(($($place),*))? $({$($field),*})? => {
                        to.bytes(&[$tag]);
                        $($($crate::Stored::store($place, to);)*)?
                        $($($crate::Stored::store($field, to);)*)?
                    })*
                }
            }

            #[inline]
            fn load(from: &mut $crate::Reader<'_>) -> Result<Self, $crate::Unfit> {
                let [tag] = from.bytes()?;
                let loaded = match tag {
                    $($tag => {
                        $($(let $place = $crate::Stored::load(from)?;)*)?
                        $($(let $field = $crate::Stored::load(from)?;)*)?
                        Self::$variant $(($($place),*))? $({$($field),*})?
                    })*
                    _ => return Err($crate::Unfit(concat!("there is no such ", stringify!($name)))),
                };
                $($crate::stored!(@$sound loaded);)?
                Ok(loaded)
            }
        }
    };
    (@sound $loaded:ident) => {
        if !$loaded.is_sound() {
            return Err($crate::Unfit("numbers that lead nowhere"));
        }
    };
}

#[cfg(test)]
mod tests;

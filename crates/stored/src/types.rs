//! How numbers, texts and collections are stored. Rule: arrays of numbers are copied by the buffer, not one by one.

use crate::{Reader, Stored, Unfit, Writer};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Stored for $number {
            const BYTES_MIN: usize = size_of::<$number>();

            #[inline]
            fn store(&self, to: &mut Writer<'_>) {
                to.bytes(&self.to_le_bytes());
            }

            #[inline]
            fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
                from.bytes().map(Self::from_le_bytes)
            }

            fn load_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>, Unfit> {
                const BYTES: usize = size_of::<$number>();
                from.has(count, BYTES)?;
                let mut all = Vec::with_capacity(count);
                while all.len() < count {
                    let bytes = from.units(BYTES, (count - all.len()) * BYTES)?;
                    all.extend(bytes.as_chunks::<BYTES>().0.iter().map(|bytes| Self::from_le_bytes(*bytes)));
                }
                Ok(all)
            }
        }
    )*};
}

numbers!(u16, u32, u64, i16, i32, i64);

impl Stored for u8 {
    const BYTES_MIN: usize = 1;

    #[inline]
    fn store(&self, to: &mut Writer<'_>) {
        to.bytes(&[*self]);
    }

    #[inline]
    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        from.bytes().map(|[byte]| byte)
    }

    fn store_all(all: &[Self], to: &mut Writer<'_>) {
        to.bytes(all);
    }

    fn load_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>, Unfit> {
        from.has(count, 1)?;
        let mut all = vec![0; count];
        from.fill(&mut all)?;
        Ok(all)
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    const BYTES_MIN: usize = A::BYTES_MIN + B::BYTES_MIN;

    #[inline]
    fn store(&self, to: &mut Writer<'_>) {
        self.0.store(to);
        self.1.store(to);
    }

    #[inline]
    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        Ok((A::load(from)?, B::load(from)?))
    }
}

impl Stored for bool {
    const BYTES_MIN: usize = 1;

    fn store(&self, to: &mut Writer<'_>) {
        u8::from(*self).store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        match u8::load(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Unfit("it is neither yes nor no")),
        }
    }
}

impl Stored for usize {
    const BYTES_MIN: usize = 8;

    fn store(&self, to: &mut Writer<'_>) {
        (*self as u64).store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        u64::load(from)?.try_into().map_err(|_| Unfit("a number is too large for this machine"))
    }
}

impl Stored for char {
    const BYTES_MIN: usize = 4;

    fn store(&self, to: &mut Writer<'_>) {
        u32::from(*self).store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        Self::from_u32(u32::load(from)?).ok_or(Unfit("it is no character"))
    }
}

impl<const N: usize> Stored for [u8; N] {
    const BYTES_MIN: usize = N;

    fn store(&self, to: &mut Writer<'_>) {
        to.bytes(self);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        from.bytes()
    }
}

impl<A: Stored, B: Stored, C: Stored> Stored for (A, B, C) {
    const BYTES_MIN: usize = A::BYTES_MIN + B::BYTES_MIN + C::BYTES_MIN;

    fn store(&self, to: &mut Writer<'_>) {
        self.0.store(to);
        self.1.store(to);
        self.2.store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        Ok((A::load(from)?, B::load(from)?, C::load(from)?))
    }
}

impl<T: Stored> Stored for Option<T> {
    const BYTES_MIN: usize = 1;

    fn store(&self, to: &mut Writer<'_>) {
        self.is_some().store(to);
        if let Some(value) = self {
            value.store(to);
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        if bool::load(from)? { T::load(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Stored> Stored for Vec<T> {
    const BYTES_MIN: usize = 4;

    fn store(&self, to: &mut Writer<'_>) {
        to.length(self.len());
        T::store_all(self, to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let count = u32::load(from)? as usize;
        from.within(|from| T::load_all(count, from))
    }
}

impl<T: Stored> Stored for Box<[T]> {
    const BYTES_MIN: usize = 4;

    fn store(&self, to: &mut Writer<'_>) {
        to.length(self.len());
        T::store_all(self, to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        Vec::load(from).map(Vec::into_boxed_slice)
    }
}

impl<T: Stored> Stored for Box<T> {
    const BYTES_MIN: usize = T::BYTES_MIN;

    fn store(&self, to: &mut Writer<'_>) {
        T::store(self, to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        from.within(T::load).map(Self::new)
    }
}

impl Stored for String {
    const BYTES_MIN: usize = 4;

    fn store(&self, to: &mut Writer<'_>) {
        to.length(self.len());
        to.bytes(self.as_bytes());
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        Self::from_utf8(Vec::load(from)?).map_err(|_| Unfit("a text is no text"))
    }
}

impl Stored for Box<str> {
    const BYTES_MIN: usize = 4;

    fn store(&self, to: &mut Writer<'_>) {
        to.length(self.len());
        to.bytes(self.as_bytes());
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        String::load(from).map(String::into_boxed_str)
    }
}

impl Stored for Arc<str> {
    const BYTES_MIN: usize = 4;

    fn store(&self, to: &mut Writer<'_>) {
        to.length(self.len());
        to.bytes(self.as_bytes());
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        String::load(from).map(Self::from)
    }
}

impl<T: Stored> Stored for RangeInclusive<T> {
    const BYTES_MIN: usize = 2 * T::BYTES_MIN;

    fn store(&self, to: &mut Writer<'_>) {
        self.start().store(to);
        self.end().store(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let start = T::load(from)?;
        Ok(start..=T::load(from)?)
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    const BYTES_MIN: usize = 4;

    fn store(&self, to: &mut Writer<'_>) {
        to.length(self.len());
        for (key, value) in self {
            key.store(to);
            value.store(to);
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let count = u32::load(from)? as usize;
        from.has(count, K::BYTES_MIN + V::BYTES_MIN)?;
        let mut map = Self::new();
        for _ in 0..count {
            let key = K::load(from)?;
            map.insert(key, V::load(from)?);
        }
        Ok(map)
    }
}

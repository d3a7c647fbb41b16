//! What went wrong: [`Error`]. Rule: an error is a value with words that say what to do; text for C is made once and kept.

use std::any::Any;
use std::ffi::{CStr, CString};

/// An error as its caller sees it.
#[derive(Debug)]
pub struct Error {
    message: CString,
    file: Option<CString>,
    /// From 1; 0 where it is not known.
    pub line: u32,
    /// In bytes from 1; 0 where it is not known.
    pub column: u32,
}

/// Text for C: what would end it too early is left out.
pub fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

impl Error {
    /// Something that has nothing to do with a file.
    pub fn new(message: impl AsRef<str>) -> Self {
        Self { message: text(message.as_ref()), file: None, line: 0, column: 0 }
    }

    /// Something in a file.
    pub fn of_file(file: &str, line: u32, column: Option<usize>, message: &str) -> Self {
        let column = column.and_then(|column| u32::try_from(column).ok()).unwrap_or(0);
        Self { message: text(message), file: Some(text(file)), line, column }
    }

    /// A panic: a fault of this library.
    pub fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let words = panic.downcast_ref::<&str>().copied();
        let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
        Self::new(format!("a fault of liblockgate, please report it: {words}; free what was being used"))
    }

    /// What went wrong.
    pub fn message(&self) -> &CStr {
        &self.message
    }

    /// The file that is at fault.
    pub fn file(&self) -> Option<&CStr> {
        self.file.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_keep_their_words() {
        let error = Error::of_file("a\0b.rules", 3, Some(7), "no such keyword");
        assert_eq!((error.message(), error.file()), (c"no such keyword", Some(c"ab.rules")));
        assert_eq!((error.line, error.column), (3, 7));
        let panic = std::panic::catch_unwind(|| panic!("{}", "oh")).unwrap_err();
        assert!(Error::of_panic(&*panic).message().to_str().unwrap().contains("oh"));
    }
}

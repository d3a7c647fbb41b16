//! What a part's bytes say it is. Rule: a closed list of names; how they are recognised is `content::filetype`'s.

use lockgate_stored::{Reader, Stored, Unfit, Writer};

macro_rules! file_types {
    ($($variant:ident $name:literal $kind:ident,)*) => {
        /// A type detected by content, never by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FileType { $(#[doc = $name] $variant,)* }

        impl FileType {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name used in policy (bans on types), events and JSON.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What can be done with it.
            pub fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind,)* }
            }
        }
    };
}

/// What sort of type it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Holds other parts; where no decoder is there for it, the part is `Incomplete(unsupported)`.
    Container,
    /// Holds code that runs.
    Program,
    /// A document, which may hold code or other parts.
    Document,
    /// A picture, sound or film.
    Media,
    /// Text of any sort.
    Text,
    /// Anything else.
    Data,
}

file_types! {
    Empty "empty" Data,
    Data "data" Data,
    Text "text" Text,
    Html "html" Text,
    Script "script" Program,
    Mail "mail" Container,
    Mbox "mbox" Container,
    Zip "zip" Container,
    Gzip "gzip" Container,
    Bzip2 "bzip2" Container,
    Tar "tar" Container,
    Rar "rar" Container,
    SevenZip "7z" Container,
    Xz "xz" Container,
    Lzma "lzma" Container,
    Zstd "zstd" Container,
    Lha "lha" Container,
    Arj "arj" Container,
    Cab "cab" Container,
    Compress "compress" Container,
    Cpio "cpio" Container,
    Ar "ar" Container,
    Iso9660 "iso9660" Container,
    Szdd "szdd" Container,
    Tnef "tnef" Container,
    Chm "chm" Container,
    Lz4 "lz4" Container,
    Lzip "lzip" Container,
    Lzop "lzop" Container,
    Ace "ace" Container,
    Zoo "zoo" Container,
    Alz "alz" Container,
    Egg "egg" Container,
    Rpm "rpm" Container,
    Xar "xar" Container,
    Wim "wim" Container,
    Vhd "vhd" Container,
    Ole2 "ole2" Document,
    Pdf "pdf" Document,
    Rtf "rtf" Document,
    OneNote "onenote" Document,
    PostScript "postscript" Document,
    Swf "swf" Program,
    Pe "pe" Program,
    Dos "dos" Program,
    Elf "elf" Program,
    MachO "macho" Program,
    JavaClass "java" Program,
    Lnk "lnk" Program,
    Gif "gif" Media,
    Png "png" Media,
    Jpeg "jpeg" Media,
    Tiff "tiff" Media,
    Bmp "bmp" Media,
    Icon "icon" Media,
    Webp "webp" Media,
    Riff "riff" Media,
    Mp3 "mp3" Media,
    Mp4 "mp4" Media,
    Ogg "ogg" Media,
}

impl FileType {
    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|t| t.name() == name)
    }
}

impl Stored for FileType {
    const BYTES_MIN: usize = 1;

    fn store(&self, to: &mut Writer<'_>) {
        to.bytes(&[*self as u8]);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Unfit> {
        let [number] = from.bytes()?;
        Self::ALL.get(usize::from(number)).copied().ok_or(Unfit("there is no such type"))
    }
}

//! What the system is asked for by `libc`: sockets, a mapped ring, signals. Rule: all unsafe code of capturing stands here.

use std::ffi::{CStr, c_int};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Where the status of a block stands, behind its version and the offset of what is private (linux/if_packet.h).
const STATUS_AT: usize = 8;

/// SIGINT and SIGTERM, taken instead of ending the process.
#[derive(Debug)]
pub struct Signals {
    socket: OwnedFd,
}

impl Signals {
    /// From here on they are waited for. Threads that were there before are still ended by them.
    ///
    /// # Errors
    ///
    /// Where the system has no descriptor left.
    pub fn take() -> io::Result<Self> {
        // SAFETY: all of a sigset_t may be zero, and the calls write into that variable alone.
        let signals = unsafe {
            let mut signals: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut signals);
            libc::sigaddset(&raw mut signals, libc::SIGINT);
            libc::sigaddset(&raw mut signals, libc::SIGTERM);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
            signals
        };
        // SAFETY: the call reads the set, and gives a descriptor that is nobody else's.
        let socket = unsafe { owned(libc::signalfd(-1, &raw const signals, libc::SFD_CLOEXEC))? };
        Ok(Self { socket })
    }
}

/// What a wait has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// There is something to be read.
    Ready,
    /// Nothing has come for so long.
    Nothing,
    /// A signal says to end.
    Ended,
}

/// Waits until there is something to be read from a socket, for `longest` at most.
pub(crate) fn wait(socket: &Socket, signals: &Signals, longest: Duration) -> io::Result<Waited> {
    let poll =
        |descriptor: &OwnedFd| libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut both = [poll(&socket.0), poll(&signals.socket)];
    let millis = c_int::try_from(longest.as_millis()).unwrap_or(c_int::MAX);
    // SAFETY: the call reads and writes the two pollfds that it is given.
    let ready = unsafe { libc::poll(both.as_mut_ptr(), 2, millis) };
    match ready {
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(Waited::Nothing),
            error => Err(error),
        },
        0 => Ok(Waited::Nothing),
        _ if both[1].revents != 0 => Ok(Waited::Ended),
        _ => Ok(Waited::Ready),
    }
}

/// A socket of the kernel's.
#[derive(Debug)]
pub(crate) struct Socket(OwnedFd);

/// Structures that are numbers all through: any bytes are one, and they have no padding that is not named.
///
/// # Safety
///
/// Every pattern of bits must be a value of the type.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: they are numbers and arrays of numbers.
unsafe impl Plain for c_int {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_req3 {}
// SAFETY: as above.
unsafe impl Plain for libc::tpacket_stats_v3 {}
// SAFETY: as above.
unsafe impl Plain for libc::packet_mreq {}
// SAFETY: as above.
unsafe impl Plain for libc::sockaddr_ll {}
// SAFETY: as above.
unsafe impl Plain for libc::sockaddr_nl {}

/// All zero.
pub(crate) fn zeroed<T: Plain>() -> T {
    // SAFETY: any bytes are a value, these too.
    unsafe { std::mem::zeroed() }
}

impl Socket {
    pub(crate) fn open(family: c_int, kind: c_int, protocol: c_int) -> io::Result<Self> {
        // SAFETY: the call takes numbers, and gives a descriptor that is nobody else's.
        unsafe { owned(libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol)).map(Self) }
    }

    pub(crate) fn set<T: Plain>(&self, level: c_int, name: c_int, value: T) -> io::Result<()> {
        let bytes = size_of::<T>() as libc::socklen_t;
        // SAFETY: the call reads as many bytes of the variable as it has.
        told(unsafe { libc::setsockopt(self.raw(), level, name, (&raw const value).cast(), bytes) })
    }

    pub(crate) fn get<T: Plain>(&self, level: c_int, name: c_int) -> io::Result<T> {
        let mut value: T = zeroed();
        let mut bytes = size_of::<T>() as libc::socklen_t;
        // SAFETY: the call writes no more bytes into the variable than it has, and any bytes are a value.
        told(unsafe { libc::getsockopt(self.raw(), level, name, (&raw mut value).cast(), &raw mut bytes) })?;
        Ok(value)
    }

    pub(crate) fn bind<T: Plain>(&self, address: T) -> io::Result<()> {
        let bytes = size_of::<T>() as libc::socklen_t;
        // SAFETY: the call reads as many bytes of the variable as it has.
        told(unsafe { libc::bind(self.raw(), (&raw const address).cast(), bytes) })
    }

    /// Its own address.
    pub(crate) fn name<T: Plain>(&self) -> io::Result<T> {
        let mut name: T = zeroed();
        let mut bytes = size_of::<T>() as libc::socklen_t;
        // SAFETY: the call writes no more bytes into the variable than it has, and any bytes are a value.
        told(unsafe { libc::getsockname(self.raw(), (&raw mut name).cast(), &raw mut bytes) })?;
        Ok(name)
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: the call reads the bytes that it is given.
        let sent = unsafe { libc::send(self.raw(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The next message, cut to the buffer. `None` where there is none now.
    pub(crate) fn receive<'b>(&self, buffer: &'b mut [u8]) -> io::Result<Option<&'b [u8]>> {
        let room = buffer.len();
        // SAFETY: the call writes no more bytes into the buffer than it has.
        let length = unsafe { libc::recv(self.raw(), buffer.as_mut_ptr().cast(), room, libc::MSG_DONTWAIT) };
        match usize::try_from(length) {
            Ok(length) => Ok(Some(&buffer[..length.min(room)])),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                error => Err(error),
            },
        }
    }

    fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// An interface's number by its name.
pub(crate) fn interface_number(name: &CStr) -> io::Result<c_int> {
    // SAFETY: the name ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        number => c_int::try_from(number).map_err(io::Error::other),
    }
}

/// The blocks of a ring, which the kernel and this process own in turn.
#[derive(Debug)]
pub(crate) struct Ring {
    start: NonNull<u8>,
    block_bytes: usize,
    blocks: usize,
}

impl Ring {
    /// Maps the ring of a socket that has been told to make one of just this size.
    pub(crate) fn map(socket: &Socket, block_bytes: usize, blocks: usize) -> io::Result<Self> {
        let bytes = block_bytes.checked_mul(blocks).filter(|_| block_bytes >= 4096);
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place, where nothing else is.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, libc::MAP_SHARED, socket.raw(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { start, block_bytes, blocks })
    }

    /// Shows a block where it is this process', and gives it back. `None` where it is the kernel's.
    pub(crate) fn with<T>(&mut self, block: usize, seen: impl FnOnce(&[u8]) -> T) -> Option<T> {
        if block >= self.blocks {
            return None;
        }
        // SAFETY: the block is within the mapping, which is there as long as `self` is; the status is a number of 32 bits
        // on a place of its own, aligned as blocks are pages.
        let (start, status) = unsafe {
            let start = self.start.add(block * self.block_bytes);
            (start, AtomicU32::from_ptr(start.add(STATUS_AT).cast().as_ptr()))
        };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the block is within the mapping; while it is ours, the kernel does not write into it, and `&mut self` keeps
        // others from giving it back meanwhile.
        let told = seen(unsafe { std::slice::from_raw_parts(start.as_ptr(), self.block_bytes) });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        Some(told)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and nothing borrows it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.block_bytes * self.blocks) };
    }
}

/// Takes a descriptor that a call has given.
///
/// # Safety
///
/// It must be nobody else's.
unsafe fn owned(descriptor: RawFd) -> io::Result<OwnedFd> {
    told(descriptor)?;
    // SAFETY: it is one, and the caller says that it is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn told(answer: c_int) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

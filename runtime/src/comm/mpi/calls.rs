//! The calls of MPI, checked: what they return is an error or a value, and nothing of them is
//! unsafe outside of this file and of `requests`.
//!
//! In: bytes, process numbers, tags. Out: what MPI made of them. Every call names itself in its
//! error. No call waits for another process but [`initialise`], [`Communicator::world`],
//! [`Communicator::all_gather`] and [`finalise`].
//!
//! Where MPI grants calls from any thread but one at a time, each call takes its turn ([`turn`]);
//! since none of those that threads make while others run waits, no thread holds the turn long.

#![expect(unsafe_code, reason = "foreign functions")]

use crate::error::{Error, ErrorKind};
use mpi::ffi;
use std::ffi::{c_char, c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most bytes of one message: counts of MPI have 32 bits.
pub(super) const MOST_BYTES: usize = 1 << 30;

/// Whether calls must not overlap; set once, before the second thread can make one.
static IS_SERIAL: AtomicBool = AtomicBool::new(false);
/// Whose turn it is to call.
static TURN: Mutex<()> = Mutex::new(());

/// The turn to call, where calls take turns.
pub(super) fn turn() -> Option<MutexGuard<'static, ()>> {
    let is_serial = IS_SERIAL.load(Ordering::Acquire);
    is_serial.then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Nothing, or what MPI says of the code that `call` has returned.
pub(super) fn check(code: c_int, call: &'static str) -> Result<(), Error> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0_u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut len = 0;
    // SAFETY: the text has the length that MPI asks for, and this function may be called whenever
    // others may.
    let told = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &raw mut len) };
    let message = if told == ffi::MPI_SUCCESS as c_int {
        String::from_utf8_lossy(&text[..len as usize]).into_owned()
    } else {
        format!("code {code}")
    };
    Err(ErrorKind::Mpi { call, message }.into())
}

/// Starts MPI in this process. To be called once.
pub(super) fn initialise() -> Result<(), Error> {
    let mut granted = 0;
    // SAFETY: MPI 2 and later take null pointers for the arguments of the program; the library
    // starts MPI nowhere else (`super::job::get`), and a program that has started it itself is
    // told so by MPI.
    let code = unsafe {
        ffi::MPI_Init_thread(
            ptr::null_mut(),
            ptr::null_mut(),
            ffi::RSMPI_THREAD_MULTIPLE,
            &raw mut granted,
        )
    };
    check(code, "MPI_Init_thread")?;
    // SAFETY: constants of the library, which is linked.
    let (serialised, multiple) =
        unsafe { (ffi::RSMPI_THREAD_SERIALIZED, ffi::RSMPI_THREAD_MULTIPLE) };
    if granted < serialised {
        return Err(Error::argument(
            "MPI_Init_thread",
            "an MPI that takes calls from any thread (MPI_THREAD_SERIALIZED)",
            format!("thread level {granted}"),
        ));
    }
    IS_SERIAL.store(granted < multiple, Ordering::Release);
    Ok(())
}

/// Ends MPI in this process; waits for all others to do so. To be called once, last.
pub(super) fn finalise() -> Result<(), Error> {
    let _turn = turn();
    // SAFETY: `super::job::leave` calls this once, when `initialise` has succeeded.
    check(unsafe { ffi::MPI_Finalize() }, "MPI_Finalize")
}

/// Lets `at_exit` be called when the program ends by returning from `main` or by `exit`.
pub(super) fn at_exit(at_exit: extern "C" fn()) {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: the function of the C library, which every Unix program is linked with; it keeps a
    // pointer to a function, which lives forever. It fails only without memory, and then MPI is
    // not ended, of which the launcher complains.
    let _ = unsafe { atexit(at_exit) };
}

/// Where a message came from, and what it was.
pub(super) struct Arrival {
    pub(super) process: usize,
    pub(super) tag: u32,
    pub(super) bytes: Vec<u8>,
}

/// All processes of the job, for messages of ours alone.
#[derive(Debug)]
pub(super) struct Communicator {
    pub(super) raw: ffi::MPI_Comm,
}

// SAFETY: a communicator is a handle that any thread may use that may call MPI at all; calls of
// several threads are admitted by the thread level, or take turns.
unsafe impl Send for Communicator {}
// SAFETY: as above.
unsafe impl Sync for Communicator {}

impl Communicator {
    /// A duplicate of the communicator of all processes, whose errors are returned. All processes
    /// must call.
    pub(super) fn world() -> Result<Self, Error> {
        let _turn = turn();
        // SAFETY: a constant of the library, which is linked.
        let world = unsafe { ffi::RSMPI_COMM_WORLD };
        let mut raw = world;
        // SAFETY: MPI has been initialised by the only caller, and `raw` is there to be written.
        let code = unsafe { ffi::MPI_Comm_dup(world, &raw mut raw) };
        check(code, "MPI_Comm_dup")?;
        // SAFETY: `raw` is the communicator that has just been made.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN) };
        check(code, "MPI_Comm_set_errhandler")?;
        Ok(Self { raw })
    }

    /// A duplicate for the use of one group. All processes must call.
    pub(super) fn duplicate(&self) -> Result<Self, Error> {
        let _turn = turn();
        let mut raw = self.raw;
        // SAFETY: as in `process`; the duplicate has the error handler of this one.
        let code = unsafe { ffi::MPI_Comm_dup(self.raw, &raw mut raw) };
        check(code, "MPI_Comm_dup")?;
        Ok(Self { raw })
    }

    /// The number of this process.
    pub(super) fn process(&self) -> Result<usize, Error> {
        let _turn = turn();
        let mut process = 0;
        // SAFETY: `raw` is a communicator; it is never freed.
        let code = unsafe { ffi::MPI_Comm_rank(self.raw, &raw mut process) };
        check(code, "MPI_Comm_rank")?;
        Ok(process as usize)
    }

    /// The number of processes.
    pub(super) fn processes(&self) -> Result<usize, Error> {
        let _turn = turn();
        let mut processes = 0;
        // SAFETY: as in `process`.
        let code = unsafe { ffi::MPI_Comm_size(self.raw, &raw mut processes) };
        check(code, "MPI_Comm_size")?;
        Ok(processes as usize)
    }

    /// The largest tag of a message.
    pub(super) fn most_tag(&self) -> Result<u32, Error> {
        /// What the standard promises.
        const LEAST: u32 = 32767;
        let _turn = turn();
        let mut value: *mut c_int = ptr::null_mut();
        let mut is_set = 0;
        let keyval = ffi::MPI_TAG_UB as c_int;
        let place = (&raw mut value).cast::<c_void>();
        // SAFETY: as in `process`; the value of this attribute is a pointer to an `int`.
        let code = unsafe { ffi::MPI_Comm_get_attr(self.raw, keyval, place, &raw mut is_set) };
        check(code, "MPI_Comm_get_attr")?;
        if is_set == 0 || value.is_null() {
            return Ok(LEAST);
        }
        // SAFETY: MPI has set it to the address of an `int` of its own that does not change.
        Ok(unsafe { *value } as u32)
    }

    /// The number of every process, in order. All processes must call.
    pub(super) fn all_gather(&self, mine: u64) -> Result<Vec<u64>, Error> {
        let processes = self.processes()?;
        let _turn = turn();
        let mut all = vec![0_u64; processes];
        // SAFETY: as in `process`; each process gives one element of 8 bytes, and there is room
        // for that of each.
        let code = unsafe {
            ffi::MPI_Allgather(
                (&raw const mine).cast(),
                1,
                ffi::RSMPI_UINT64_T,
                all.as_mut_ptr().cast(),
                1,
                ffi::RSMPI_UINT64_T,
                self.raw,
            )
        };
        check(code, "MPI_Allgather")?;
        Ok(all)
    }

    /// Begins to send at most [`MOST_BYTES`] of a message; waits for nothing.
    pub(super) fn send(&self, bytes: Vec<u8>, process: usize, tag: u32) -> Result<Sending, Error> {
        let count = count(bytes.len());
        let _turn = turn();
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: as in `process`; the bytes stay where they are, and unchanged, until the request
        // is complete: `Sending` owns them and does not free them before.
        let code = unsafe {
            ffi::MPI_Isend(
                bytes.as_ptr().cast(),
                count,
                ffi::RSMPI_UINT8_T,
                process as c_int,
                tag as c_int,
                self.raw,
                &raw mut request,
            )
        };
        check(code, "MPI_Isend")?;
        Ok(Sending {
            request,
            is_done: false,
            bytes: ManuallyDrop::new(bytes),
        })
    }

    /// The next message of any process to this one, if one has arrived.
    pub(super) fn receive(&self) -> Result<Option<Arrival>, Error> {
        let _turn = turn();
        let (mut has_arrived, mut len) = (0, 0);
        // SAFETY: a constant of the library.
        let mut message = unsafe { ffi::RSMPI_MESSAGE_NULL };
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: as in `process`; what is written into lives in this frame.
        let code = unsafe {
            ffi::MPI_Improbe(
                ffi::RSMPI_ANY_SOURCE,
                ffi::RSMPI_ANY_TAG,
                self.raw,
                &raw mut has_arrived,
                &raw mut message,
                status.as_mut_ptr(),
            )
        };
        check(code, "MPI_Improbe")?;
        if has_arrived == 0 {
            return Ok(None);
        }
        // SAFETY: MPI sets the status where a message has arrived.
        let status = unsafe { status.assume_init() };
        // SAFETY: the status is that of a message of bytes.
        let code =
            unsafe { ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut len) };
        check(code, "MPI_Get_count")?;
        let mut bytes = Vec::<u8>::with_capacity(len as usize);
        // SAFETY: the message is the one that was found, this call is the only one that takes it,
        // and there is room for its `len` bytes.
        let code = unsafe {
            ffi::MPI_Mrecv(
                bytes.as_mut_ptr().cast(),
                len,
                ffi::RSMPI_UINT8_T,
                &raw mut message,
                ffi::RSMPI_STATUS_IGNORE,
            )
        };
        check(code, "MPI_Mrecv")?;
        // SAFETY: MPI has written `len` bytes, for which there was room.
        unsafe { bytes.set_len(len as usize) };
        Ok(Some(Arrival {
            process: status.MPI_SOURCE as usize,
            tag: status.MPI_TAG as u32,
            bytes,
        }))
    }

    /// Ends all processes of the job at once.
    pub(super) fn abort(&self, status: c_int) -> ! {
        // No turn: a thread that panicked while it was its turn must get here too.
        // SAFETY: as in `process`; nothing happens in this process after it.
        unsafe { ffi::MPI_Abort(self.raw, status) };
        std::process::abort()
    }
}

/// A message on its way.
#[derive(Debug)]
pub(super) struct Sending {
    request: ffi::MPI_Request,
    is_done: bool,
    /// Not freed while MPI may read them.
    bytes: ManuallyDrop<Vec<u8>>,
}

// SAFETY: as for `Communicator`; the bytes are owned.
unsafe impl Send for Sending {}

impl Sending {
    /// Whether MPI has done with the message.
    pub(super) fn is_done(&mut self) -> Result<bool, Error> {
        if !self.is_done {
            self.is_done = is_complete(&mut self.request)?;
        }
        Ok(self.is_done)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if self.is_done {
            // SAFETY: once, here; MPI has done with them.
            unsafe { ManuallyDrop::drop(&mut self.bytes) };
        }
    }
}

/// Whether a request that MPI knows is complete; then MPI knows it no more.
pub(super) fn is_complete(request: &mut ffi::MPI_Request) -> Result<bool, Error> {
    let _turn = turn();
    let mut flag = 0;
    // SAFETY: a request that is not complete, so MPI knows it.
    let code = unsafe { ffi::MPI_Test(request, &raw mut flag, ffi::RSMPI_STATUS_IGNORE) };
    check(code, "MPI_Test")?;
    Ok(flag != 0)
}

/// The name of the machine that this process runs on.
pub(super) fn machine() -> Result<String, Error> {
    let _turn = turn();
    let mut name = [0_u8; ffi::MPI_MAX_PROCESSOR_NAME as usize];
    let mut len = 0;
    // SAFETY: the name has the length that MPI asks for, and MPI has been initialised by the only
    // caller.
    let code =
        unsafe { ffi::MPI_Get_processor_name(name.as_mut_ptr().cast::<c_char>(), &raw mut len) };
    check(code, "MPI_Get_processor_name")?;
    Ok(String::from_utf8_lossy(&name[..len as usize]).into_owned())
}

/// A number of bytes as MPI counts them.
pub(super) fn count(len: usize) -> c_int {
    assert!(len <= MOST_BYTES, "messages are split before they are sent");
    len as c_int
}

//! Requests of MPI that several processes take part in: reductions, and exchanges whose requests
//! are made once and started again and again.
//!
//! Like [`super::calls`]: what MPI returns is an error or a value, nothing waits, and nothing is
//! unsafe outside of this file. What MPI may still read or write is never freed.

#![expect(unsafe_code, reason = "foreign functions")]

use super::calls::{Communicator, check, count, is_complete, turn};
use crate::comm::forests;
use crate::error::Error;
use crate::memory::pool::Memory;
use crate::memory::reserve::zeros;
use mpi::ffi;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// Joins the words of neighbouring ranks for MPI: `later = earlier joined with later`. The first
/// word of each message says who has failed (`super::collective`), the others are forests.
unsafe extern "C" fn join(
    earlier: *mut c_void,
    later: *mut c_void,
    len: *mut c_int,
    datatype: *mut ffi::MPI_Datatype,
) {
    let mut bytes = 0;
    // SAFETY: MPI passes the datatype of the reduction, which has a size.
    unsafe { ffi::MPI_Type_size(*datatype, &raw mut bytes) };
    let n_words = bytes as usize / size_of::<u64>();
    // SAFETY: MPI passes the number of elements, each of which is a message of `n_words` words
    // (`start_all_reduce`), in memory aligned for them: that of the caller, or its own.
    let (earlier, later) = unsafe {
        let len = *len as usize * n_words;
        (
            std::slice::from_raw_parts(earlier.cast::<u64>(), len),
            std::slice::from_raw_parts_mut(later.cast::<u64>(), len),
        )
    };
    let messages = earlier.chunks_exact(n_words);
    for (earlier, later) in messages.zip(later.chunks_exact_mut(n_words)) {
        match (earlier[0], later[0]) {
            (0, 0) => {
                if !forests::join(&earlier[1..], &mut later[1..]) {
                    // No rank takes this for an answer to what it has asked.
                    later[1..].fill(u64::MAX);
                }
            }
            (0, _) => {}
            (failed, _) => later[0] = failed,
        }
    }
}

/// The operation that joins; it does not commute.
fn operation() -> Result<ffi::MPI_Op, Error> {
    struct Op(ffi::MPI_Op);
    // SAFETY: a handle that any thread may use.
    unsafe impl Send for Op {}
    static OP: Mutex<Option<Op>> = Mutex::new(None);
    let mut op = OP.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Op(op)) = &*op {
        return Ok(*op);
    }
    let mut made = MaybeUninit::uninit();
    // SAFETY: `join` keeps the contract of such functions, and `made` is there to be written.
    let code = unsafe { ffi::MPI_Op_create(Some(join), 0, made.as_mut_ptr()) };
    check(code, "MPI_Op_create")?;
    // SAFETY: MPI has written it.
    let made = unsafe { made.assume_init() };
    *op = Some(Op(made));
    Ok(made)
}

/// The datatype of `len` bytes, made at its first use and kept.
fn datatype(len: usize) -> Result<ffi::MPI_Datatype, Error> {
    struct Type(ffi::MPI_Datatype);
    // SAFETY: a handle that any thread may use.
    unsafe impl Send for Type {}
    static TYPES: Mutex<BTreeMap<usize, Type>> = Mutex::new(BTreeMap::new());
    let mut types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Type(kept)) = types.get(&len) {
        return Ok(*kept);
    }
    // SAFETY: a constant of the library.
    let byte = unsafe { ffi::RSMPI_UINT8_T };
    let mut made = byte;
    // SAFETY: `made` is there to be written.
    let code = unsafe { ffi::MPI_Type_contiguous(count(len), byte, &raw mut made) };
    check(code, "MPI_Type_contiguous")?;
    // SAFETY: the type that has just been made.
    let code = unsafe { ffi::MPI_Type_commit(&raw mut made) };
    check(code, "MPI_Type_commit")?;
    types.insert(len, Type(made));
    Ok(made)
}

/// Whether MPI has ended in this process, so that its requests are no more.
fn has_ended() -> bool {
    let mut flag = 0;
    // SAFETY: this function may be called at any time.
    unsafe { ffi::MPI_Finalized(&raw mut flag) };
    flag != 0
}

/// Words on their way through a reduction.
#[derive(Debug)]
pub(super) struct AllReduce {
    request: ffi::MPI_Request,
    is_done: bool,
    /// Not freed while MPI may read the first and write the second.
    words: ManuallyDrop<[Vec<u64>; 2]>,
}

// SAFETY: as for `Communicator`; the words are owned.
unsafe impl Send for AllReduce {}

impl AllReduce {
    /// Whether the words are those of all processes.
    pub(super) fn is_done(&mut self) -> Result<bool, Error> {
        if !self.is_done {
            self.is_done = is_complete(&mut self.request)?;
        }
        Ok(self.is_done)
    }

    /// The joined words.
    ///
    /// # Panics
    ///
    /// If they are still on their way.
    pub(super) fn into_words(mut self) -> Vec<u64> {
        assert!(self.is_done, "a reduction is waited for before it is read");
        std::mem::take(&mut self.words[1])
    }
}

impl Drop for AllReduce {
    fn drop(&mut self) {
        if self.is_done {
            // SAFETY: once, here; MPI has done with them.
            unsafe { ManuallyDrop::drop(&mut self.words) };
        }
    }
}

/// Requests to send to some processes and to receive from some, made once and started again and
/// again.
#[derive(Debug)]
pub(super) struct Channels {
    communicator: ffi::MPI_Comm,
    receives: Vec<ffi::MPI_Request>,
    sends: Vec<ffi::MPI_Request>,
    /// Whether some of them may be under way.
    is_active: bool,
    has_started_sends: bool,
    senders: Vec<usize>,
    /// The elements that each sender sends.
    expected: Vec<c_int>,
    receivers: Vec<usize>,
    element: ffi::MPI_Datatype,
    /// What is sent; like the ghosts not freed while MPI may use it.
    buffers: ManuallyDrop<Vec<Vec<u8>>>,
    ghosts: ManuallyDrop<Arc<Memory>>,
}

// SAFETY: as for `Communicator`; buffers and ghosts may be used by any thread.
unsafe impl Send for Channels {}

/// The tag of all messages on channels: they keep their order.
const CHANNEL: c_int = 0;

impl Communicator {
    /// Begins to join the words of all processes, as many of each. All processes must call, in the
    /// same order.
    pub(super) fn start_all_reduce(&self, words: Vec<u64>) -> Result<AllReduce, Error> {
        let _turn = turn();
        let message = datatype(size_of_val(&words[..]))?;
        let op = operation()?;
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        let mut joined = vec![0; words.len()];
        // SAFETY: as in `process`; the words, one element of the type each, stay where they are
        // until the request is complete: `AllReduce` owns them and does not free them before.
        let code = unsafe {
            ffi::MPI_Iallreduce(
                words.as_ptr().cast(),
                joined.as_mut_ptr().cast(),
                1,
                message,
                op,
                self.raw,
                &raw mut request,
            )
        };
        check(code, "MPI_Iallreduce")?;
        Ok(AllReduce {
            request,
            is_done: false,
            words: ManuallyDrop::new([words, joined]),
        })
    }

    /// Channels to the processes of `sends`, which get the given numbers of elements of `size`
    /// bytes, and from those of `receives`, whose elements go to the given ones of `ghosts`.
    pub(super) fn channels(
        &self,
        sends: &[(usize, usize)],
        receives: &[(usize, Range<usize>)],
        size: usize,
        ghosts: Arc<Memory>,
    ) -> Result<Channels, Error> {
        let turn = turn();
        let element = datatype(size)?;
        let mut channels = Channels {
            communicator: self.raw,
            receives: Vec::new(),
            sends: Vec::new(),
            is_active: false,
            has_started_sends: false,
            senders: receives.iter().map(|(from, _)| *from).collect(),
            expected: Vec::new(),
            receivers: sends.iter().map(|(to, _)| *to).collect(),
            element,
            buffers: ManuallyDrop::new(Vec::new()),
            ghosts: ManuallyDrop::new(ghosts),
        };
        // Over before channels that fail are dropped, which take a turn of their own.
        let _turn = turn;
        for (from, places) in receives {
            let len = elements(places.len())?;
            assert!(
                places.end * size <= channels.ghosts.len(),
                "ghosts have been given memory"
            );
            // SAFETY: a constant of the library.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: as in `process`; the elements lie within the memory, as just checked, which
            // `Channels` keeps as long as the request lives.
            let code = unsafe {
                ffi::MPI_Recv_init(
                    channels.ghosts.data().add(places.start * size).cast(),
                    len,
                    element,
                    *from as c_int,
                    CHANNEL,
                    self.raw,
                    &raw mut request,
                )
            };
            check(code, "MPI_Recv_init")?;
            channels.receives.push(request);
            channels.expected.push(len);
        }
        for &(to, places) in sends {
            let buffer = zeros(places * size)?;
            // SAFETY: a constant of the library.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: as in `process`; the bytes of the buffer stay where they are as long as the
            // request lives: `Channels` owns it and never changes its length.
            let code = unsafe {
                ffi::MPI_Send_init(
                    buffer.as_ptr().cast(),
                    elements(places)?,
                    element,
                    to as c_int,
                    CHANNEL,
                    self.raw,
                    &raw mut request,
                )
            };
            check(code, "MPI_Send_init")?;
            channels.sends.push(request);
            channels.buffers.push(buffer);
        }
        Ok(channels)
    }
}

impl Channels {
    /// The processes that send.
    pub(super) fn senders(&self) -> &[usize] {
        &self.senders
    }

    /// The processes that receive.
    pub(super) fn receivers(&self) -> &[usize] {
        &self.receivers
    }

    /// What is sent to each receiver.
    ///
    /// # Panics
    ///
    /// If the last exchange has not been waited for.
    pub(super) fn buffers(&mut self) -> &mut [Vec<u8>] {
        assert!(
            !self.is_sending(),
            "an exchange is waited for before the next one"
        );
        &mut self.buffers
    }

    /// Whether what is in the buffers may still be read.
    fn is_sending(&self) -> bool {
        self.is_active && self.has_started_sends
    }

    pub(super) fn start_receives(&mut self) -> Result<(), Error> {
        assert!(
            !self.is_active,
            "an exchange is waited for before the next one"
        );
        self.is_active = true;
        self.has_started_sends = false;
        start_all(&mut self.receives)
    }

    pub(super) fn start_sends(&mut self) -> Result<(), Error> {
        self.has_started_sends = true;
        start_all(&mut self.sends)
    }

    /// Sends an empty message to each receiver.
    pub(super) fn send_nothing(&mut self) -> Result<(), Error> {
        let _turn = turn();
        for &to in &self.receivers {
            // SAFETY: the communicator of `Communicator::channels`, which is never freed; a message
            // of no elements has no address, and does not wait for its receiver.
            let code = unsafe {
                ffi::MPI_Send(
                    ptr::null(),
                    0,
                    self.element,
                    to as c_int,
                    CHANNEL,
                    self.communicator,
                )
            };
            check(code, "MPI_Send")?;
        }
        Ok(())
    }

    /// Whether a process has not sent, or received, all.
    pub(super) fn awaits(&self, process: usize) -> Result<bool, Error> {
        let _turn = turn();
        let receives = self.receives.iter().zip(&self.senders);
        let requests = receives.chain(self.sends.iter().zip(&self.receivers));
        for (&request, _) in requests.filter(|it| *it.1 == process) {
            let mut flag = 0;
            // SAFETY: a request that MPI knows, which stays as it is, and a constant of the library
            // in place of a status.
            let code = unsafe {
                ffi::MPI_Request_get_status(request, &raw mut flag, ffi::RSMPI_STATUS_IGNORE)
            };
            check(code, "MPI_Request_get_status")?;
            if flag == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether all has been sent and received. Then `empty` has the processes that sent nothing.
    pub(super) fn are_done(&mut self, empty: &mut Vec<usize>) -> Result<bool, Error> {
        let _turn = turn();
        // Requests that were not started count as complete.
        if !are_complete(&mut self.sends, ptr::null_mut())? {
            return Ok(false);
        }
        let mut statuses = Vec::<ffi::MPI_Status>::with_capacity(self.receives.len());
        if !are_complete(&mut self.receives, statuses.as_mut_ptr())? {
            return Ok(false);
        }
        // SAFETY: MPI has set a status for each request, as all are complete.
        unsafe { statuses.set_len(self.receives.len()) };
        self.is_active = false;
        for ((status, &expected), &from) in statuses.iter().zip(&self.expected).zip(&self.senders) {
            let mut len = 0;
            // SAFETY: the status of a message of such elements.
            let code = unsafe { ffi::MPI_Get_count(status, self.element, &raw mut len) };
            check(code, "MPI_Get_count")?;
            if len != expected {
                empty.push(from);
            }
        }
        Ok(true)
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        let _turn = turn();
        if has_ended() || self.is_active {
            // What MPI may still use is never freed.
            return;
        }
        for request in self.receives.iter_mut().chain(&mut self.sends) {
            // SAFETY: a request of `Communicator::channels`, freed once, here, and not under way.
            // A failure leaves a request that is never started.
            let _ = unsafe { ffi::MPI_Request_free(request) };
        }
        // SAFETY: once, here; no request uses them any more.
        unsafe {
            ManuallyDrop::drop(&mut self.buffers);
            ManuallyDrop::drop(&mut self.ghosts);
        }
    }
}

fn start_all(requests: &mut [ffi::MPI_Request]) -> Result<(), Error> {
    let _turn = turn();
    // SAFETY: persistent requests that are not under way (`Channels`).
    let code = unsafe { ffi::MPI_Startall(requests.len() as c_int, requests.as_mut_ptr()) };
    check(code, "MPI_Startall")
}

/// Whether all requests are complete, with room for a status of each, or null. In a turn.
fn are_complete(
    requests: &mut [ffi::MPI_Request],
    statuses: *mut ffi::MPI_Status,
) -> Result<bool, Error> {
    let mut flag = 0;
    let statuses = if statuses.is_null() {
        // SAFETY: a constant of the library.
        unsafe { ffi::RSMPI_STATUSES_IGNORE }
    } else {
        statuses
    };
    // SAFETY: requests that MPI knows, and room for a status of each.
    let code = unsafe {
        ffi::MPI_Testall(
            requests.len() as c_int,
            requests.as_mut_ptr(),
            &raw mut flag,
            statuses,
        )
    };
    check(code, "MPI_Testall")?;
    Ok(flag != 0)
}

/// A number of elements as MPI counts them.
fn elements(len: usize) -> Result<c_int, Error> {
    c_int::try_from(len).map_err(|_| {
        let expected = format!("at most {} ghosts between two ranks", c_int::MAX);
        Error::argument("gather", expected, len.to_string())
    })
}

//! Counters of what a runtime has done.

use crate::comm::exchange::Sent;

/// What a runtime has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tasks that the program issued to the window.
    pub tasks: u64,
    /// Eager tasks ([`crate::Runtime::eager_task`]), those within others too.
    pub eager: u64,
    /// Host tasks that ran: functions in the place of kernels ([`crate::HostTask`]).
    pub host_tasks: u64,
    /// Fused tasks that ran, host tasks apart.
    pub fused_tasks: u64,
    /// Those of them that ran on the device of the rank.
    pub device_tasks: u64,
    /// Bytes that were copied to the device, and from it.
    pub uploaded: u64,
    /// See `uploaded`.
    pub downloaded: u64,
    /// Rounds of declared loops ([`crate::Rounds`]) whose tasks were not issued again.
    pub rounds: u64,
    /// Windows that were executed.
    pub windows: u64,
    /// Windows whose schedule was remembered.
    pub trace_hits: u64,
    /// Bytes that kernels and host tasks read and wrote on this rank, counted from their arguments
    /// and from what host tasks say besides.
    pub bytes: u64,
    /// Messages that this rank sent, those of reductions apart.
    pub messages: u64,
    /// Bytes of these messages.
    pub bytes_sent: u64,
    /// Reductions over all ranks, those of one fused task together.
    pub reductions: u64,
}

impl Counters {
    /// Counts what an exchange sends.
    pub(crate) fn add_sent(&mut self, sent: Sent) {
        self.messages += sent.messages;
        self.bytes_sent += sent.bytes;
    }

    /// What two have counted together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            tasks: self.tasks + other.tasks,
            eager: self.eager + other.eager,
            host_tasks: self.host_tasks + other.host_tasks,
            fused_tasks: self.fused_tasks + other.fused_tasks,
            device_tasks: self.device_tasks + other.device_tasks,
            uploaded: self.uploaded + other.uploaded,
            downloaded: self.downloaded + other.downloaded,
            rounds: self.rounds + other.rounds,
            windows: self.windows + other.windows,
            trace_hits: self.trace_hits + other.trace_hits,
            bytes: self.bytes + other.bytes,
            messages: self.messages + other.messages,
            bytes_sent: self.bytes_sent + other.bytes_sent,
            reductions: self.reductions + other.reductions,
        }
    }
}

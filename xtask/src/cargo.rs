//! Calls of cargo and other programs, all in the root folder of the project.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// A call of the cargo that runs this program.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    call(Command::new(program), arguments)
}

/// A call of the nightly cargo, through rustup.
pub(crate) fn nightly<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly");
    call(command, arguments)
}

/// A call of any program.
pub(crate) fn command<'a>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Command {
    call(Command::new(program), arguments)
}

fn call<'a>(mut command: Command, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    command.args(arguments).current_dir(root);
    command.stdin(Stdio::null());
    command
}

/// Whether a call ends well; says nothing.
pub(crate) fn succeeds(mut command: Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs a call that shows its own output.
pub(crate) fn show(mut command: Command) -> Result<(), String> {
    let text = text(&command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{text}` failed ({status})")),
        Err(error) => Err(format!("`{text}` could not be started: {error}")),
    }
}

/// The call as one would type it.
pub(crate) fn text(command: &Command) -> String {
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy());
    let program = Path::new(command.get_program()).file_stem();
    let program = program.unwrap_or_default().to_string_lossy();
    std::iter::once(program)
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

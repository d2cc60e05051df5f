//! A script as a server of models, for programs that others wrote.

use std::net::SocketAddr;
use std::path::Path;

pub use checkrein_providers::{Base, Exchange, Fault, Served, Server};

use crate::defaults;
use crate::error::HarnessError;

/// Reads a script and binds to an address on loopback. Nothing is answered until [`Server::run`].
///
/// # Errors
/// [`HarnessError`] when the script has a mistake, or the address or the script can not be served.
pub async fn bind(
    file: &Path,
    address: SocketAddr,
    faults: Vec<Fault>,
    watch: Box<dyn Fn(&Exchange) + Send + Sync>,
) -> Result<Server, HarnessError> {
    let script = defaults::script(file)?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let server = Server::bind(address, script, &name, faults, watch).await;
    server.map_err(|error| HarnessError::Task(format!("{}: {error}", file.display())))
}

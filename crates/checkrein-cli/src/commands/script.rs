//! `script serve`: a script as a server of models, until somebody ends it.

use std::io::Write;

use checkrein::HarnessError;
use checkrein::serve::{Exchange, Server, bind};
use serde_json::{Map, Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::usage;
use crate::arguments::{Script, ScriptServe};
use crate::context::Context;
use crate::view::printable;

/// Exit code where script and requests did not fit.
const UNFIT: u8 = 1;

pub(super) fn run(arguments: Script, context: &Context) -> Result<u8, HarnessError> {
    match arguments {
        Script::Serve(arguments) => serve(arguments, context),
    }
}

fn serve(arguments: ScriptServe, context: &Context) -> Result<u8, HarnessError> {
    let ScriptServe { file, listen, faults, json } = arguments;
    super::block_on(async {
        // Before anybody is told where it is: whoever knows may end it.
        let (mut interrupt, mut terminate) = (ending(SignalKind::interrupt())?, ending(SignalKind::terminate())?);
        let server = bind(&file, listen, faults, Box::new(move |exchange| log(exchange, json))).await?;
        begin(&server, &file.display().to_string(), json, context);
        let served = server
            .run(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            })
            .await;
        for complaint in &served.complaints {
            context.complain(&format!("{}: {complaint}", complaint.code()));
        }
        Ok(if served.complaints.is_empty() { 0 } else { UNFIT })
    })?
}

fn ending(kind: SignalKind) -> Result<Signal, HarnessError> {
    signal(kind).map_err(|error| usage(format!("signals can not be heard: {error}")))
}

/// Says where it is, on one line.
fn begin(server: &Server, file: &str, json: bool, context: &Context) {
    let mut out = context.out();
    let address = format!("http://{}", server.address());
    if json {
        let bases: Map<_, _> =
            server.bases().into_iter().map(|base| (base.wire.to_owned(), json!(base.address))).collect();
        let line = json!({ "v": 1, "type": "serving", "script": file, "address": address, "bases": bases });
        _ = writeln!(out, "{line}");
    } else {
        let told: Vec<String> = server.bases().into_iter().map(|base| base.told).collect();
        let bold = anstyle::Style::new().bold();
        _ = writeln!(out, "{bold}{}{bold:#} at {address}: {}", printable(file), told.join(" "));
    }
    _ = out.flush();
}

/// One line a request.
fn log(exchange: &Exchange, json: bool) {
    let mut out = std::io::stdout().lock();
    // A reader that went away is no reason to stop.
    _ = if json { writeln!(out, "{}", line(exchange)) } else { writeln!(out, "{}", words(exchange)) };
    _ = out.flush();
}

fn line(exchange: &Exchange) -> Value {
    let mut line = json!({ "v": 1, "type": "request" });
    if let (Some(line), Ok(Value::Object(fields))) = (line.as_object_mut(), serde_json::to_value(exchange)) {
        line.extend(fields);
    }
    line
}

fn words(exchange: &Exchange) -> String {
    let Exchange { number, asked, status, step, line, faults, refused, .. } = exchange;
    let mut words = format!("{number:>3}  {}  {status}", printable(asked));
    if let (Some(step), Some(line)) = (step, line) {
        words += &format!("  step {step} (line {line})");
    }
    for fault in faults {
        words += &format!("  fault {}", printable(fault));
    }
    if let Some(why) = refused {
        words += &format!("  {}", printable(why));
    }
    words
}

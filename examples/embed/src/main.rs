//! Asks the agent something: `cargo run -- anthropic:NAME "Please cancel b-1."`

use std::error::Error;

use checkrein::Harness;
use embed::{Book, agent};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(model), Some(question)) = (words.next(), words.next()) else {
        return Err("write: embed MODEL QUESTION".into());
    };
    let book = Book::default();
    book.write("b-1", "Ada", 12);
    book.write("b-2", "Grace", 2);
    let harness = agent(Harness::builder("embed-state"), &book).model(model).environment(std::env::vars()).build()?;
    let outcome = harness.run(question).await?;
    println!("{}: {}", outcome.status, outcome.answer.unwrap_or(outcome.reason));
    Ok(())
}

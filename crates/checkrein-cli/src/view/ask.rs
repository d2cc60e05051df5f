//! Questions to the person at the terminal.

use std::io::Write;

use anstream::AutoStream;
use checkrein::Asker;
use checkrein::approvals::Offer;
use checkrein::contract::{Answer, ApprovalRequest, ProposedCall, Settlement};

use super::differences::print_offer;
use super::phrases::{arguments_in_lines, hosts_in_plain_letters, printable};
use crate::typed;

/// Asks on standard output, reads from standard input.
pub(crate) struct TerminalAsker {
    person: String,
    out: AutoStream<std::io::Stdout>,
    /// The last yes is to be remembered.
    remember: bool,
}

impl TerminalAsker {
    pub(crate) fn new(person: String) -> Self {
        Self { person, out: AutoStream::auto(std::io::stdout()), remember: false }
    }

    fn say(&mut self, text: &str) {
        _ = write!(self.out, "{text}");
        _ = self.out.flush();
    }

    /// What the person answers to a question; what was typed before it was there is no answer. `None` where nobody answers.
    fn answer(&mut self, question: &str) -> Option<String> {
        typed::discard_earlier();
        self.words(question)
    }

    /// The same for words that go with an answer.
    fn words(&mut self, question: &str) -> Option<String> {
        self.say(question);
        let line = typed::line();
        if line.is_none() {
            self.say("\n");
        }
        line
    }

    fn arguments(&mut self, args: &serde_json::Value) {
        for (name, value) in arguments_in_lines(args) {
            let value = value.replace('\n', "\n                ");
            self.say(&format!("      {name:<9} {value}\n"));
        }
    }

    fn details(&mut self, request: &ApprovalRequest) {
        let mut text = String::new();
        for effect in &request.effects {
            text.push_str(&format!(
                "      would do  {}\n",
                printable(&serde_json::to_string(effect).unwrap_or_default())
            ));
        }
        for (name, value) in &request.identity.0 {
            text.push_str(&format!("      for       {}: {}\n", printable(name), printable(value)));
        }
        text.push_str(&format!("      request   {} (binds {})\n", request.id, request.binds.short()));
        self.say(&text);
    }
}

impl Asker for TerminalAsker {
    fn person(&self) -> &str {
        &self.person
    }

    fn approval(&mut self, request: &ApprovalRequest) -> Option<(String, Answer)> {
        let bold = anstyle::Style::new().bold();
        self.say(&format!(
            "  {bold}? {} needs your yes{bold:#}: {}\n",
            printable(&request.tool),
            printable(&request.reason)
        ));
        self.arguments(&request.arguments);
        for host in hosts_in_plain_letters(&request.effects) {
            self.say(&format!("      {:<9} {host}\n", "host"));
        }
        loop {
            let word =
                self.answer("    [y] yes, once   [r] yes, and remember it   [n] no   [d] details   [l] later: ")?;
            match word.to_lowercase().as_str() {
                "y" | "yes" | "r" | "remember" => {
                    self.remember = word.to_lowercase().starts_with('r');
                    let expires_at = request.expires_at;
                    return Some((self.person.clone(), Answer::Approved { expires_at, uses: 1 }));
                }
                "n" | "no" => {
                    let reason = self.words("    why not? (the model is told; may be empty): ").unwrap_or_default();
                    return Some((self.person.clone(), Answer::Denied { reason }));
                }
                "d" | "details" => self.details(request),
                "l" | "later" => return None,
                _ => {}
            }
        }
    }

    fn wants_it_remembered(&mut self) -> bool {
        std::mem::take(&mut self.remember)
    }

    fn remembers(&mut self, offer: Result<&Offer, &str>) -> bool {
        match offer {
            Ok(offer) => print_offer(&mut self.out, offer),
            Err(why) => {
                self.say(&format!("    it can not be remembered, so it is a yes to this call: {}\n", printable(why)));
                return false;
            }
        }
        matches!(self.answer("    let it count from here on? [y/N] ").as_deref(), Some("y" | "yes"))
    }

    fn input(&mut self, question: &str) -> Option<(String, String)> {
        let bold = anstyle::Style::new().bold();
        self.say(&format!("  {bold}?{bold:#} {}\n", printable(question)));
        let answer = self.answer("    your answer (empty: later): ")?;
        (!answer.is_empty()).then(|| (self.person.clone(), answer))
    }

    fn outcome(&mut self, call: &ProposedCall) -> Option<(String, Settlement, String)> {
        let bold = anstyle::Style::new().bold();
        self.say(&format!("  {bold}? {} was running when the session was lost{bold:#}\n", printable(&call.tool)));
        self.arguments(&call.args);
        let settlement = loop {
            let question = "    look whether it took effect. [r] repeat it   [d] it is done   [f] it failed   [u] unknown   [l] later: ";
            let word = self.answer(question)?.to_lowercase();
            if matches!(word.as_str(), "l" | "later") {
                return None;
            }
            let of = |known: &Settlement| !word.is_empty() && known.as_str().starts_with(&*word);
            if let Some(settlement) = Settlement::ALL.into_iter().find(of) {
                break settlement;
            }
        };
        if settlement == Settlement::Repeat {
            return Some((self.person.clone(), settlement, String::new()));
        }
        let note = self.words("    in your words? (the model reads them; may be empty): ").unwrap_or_default();
        Some((self.person.clone(), settlement, note))
    }
}

//! The agent of a small hotel. It looks bookings up and cancels them; late cancellations wait for a person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use checkrein::{HarnessBuilder, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may be done, and what a person has to see first.
const POLICY: &str = include_str!("../policy.toml");

/// The hotel's book.
#[derive(Clone, Default)]
pub struct Book(Arc<Mutex<BTreeMap<String, Booking>>>);

/// One line of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Booking {
    /// Who comes.
    pub guest: String,
    /// Days until then.
    pub days_before: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Find {
    /// The booking's number, such as b-12.
    booking: String,
}

#[derive(Deserialize, JsonSchema)]
struct Cancel {
    /// The booking's number, such as b-12.
    booking: String,
    /// Days until the guest would come, as find_booking says.
    days_before: u32,
}

impl Book {
    /// Writes a booking into it.
    pub fn write(&self, number: &str, guest: &str, days_before: u32) {
        let booking = Booking { guest: guest.to_owned(), days_before };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(number.to_owned(), booking);
    }

    /// Looks a booking up.
    pub fn find(&self, number: &str) -> Option<Booking> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
    }

    fn cancel(&self, cancel: &Cancel) -> Result<String, String> {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The policy judged what the model said of the days; whether it is so, only the book knows.
        match book.get(&cancel.booking) {
            Some(booking) if booking.days_before == cancel.days_before => {
                book.remove(&cancel.booking);
                Ok(format!("{} is cancelled", cancel.booking))
            }
            Some(_) => Err("that is not the number of days; ask find_booking".to_owned()),
            None => Err(format!("there is no booking {}", cancel.booking)),
        }
    }
}

/// The agent: its tools and its policy. Whoever starts it adds the model.
pub fn agent(harness: HarnessBuilder, book: &Book) -> HarnessBuilder {
    let (looked_up, cancelled) = (book.clone(), book.clone());
    let find = tool("find_booking", "Looks a booking up by its number.", move |input: Find| {
        let found = looked_up.find(&input.booking);
        async move { found.ok_or_else(|| format!("there is no booking {}", input.booking)) }
    });
    let cancel = tool("cancel_booking", "Cancels a booking.", move |input: Cancel| {
        let done = cancelled.cancel(&input);
        async move { done }
    });
    harness.tool(find.pure()).tool(cancel).policy(POLICY)
}

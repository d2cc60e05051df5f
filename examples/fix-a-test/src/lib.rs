//! Prices of shopping baskets. Everything is counted in whole cents; no floating point, no I/O.
//!
//! ```
//! use basket::{Basket, Money};
//!
//! let mut basket = Basket::new();
//! basket.add("filter", Money::from_cents(1_250), 2);
//! assert_eq!(basket.receipt().total.to_string(), "29.90");
//! ```

mod basket;
mod delivery;
mod discount;
mod money;

pub use crate::basket::{Basket, Line, Receipt};
pub use crate::delivery::delivery_cost;
pub use crate::discount::{quantity_discount, Percent};
pub use crate::money::Money;

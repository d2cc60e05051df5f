//! JSON Schema: the stated subset, the check at registration, and validation.

mod lint;
mod subset;
mod tidy;
mod validate;

pub use lint::{ModeParameter, mode_parameters};
pub use subset::{KEYWORDS, Unsupported, check_subset};
pub use tidy::tidy_up;
#[cfg(feature = "validate")]
pub use validate::JsonSchemaCompiler;
pub use validate::{SchemaCheck, SchemaCompiler, Violation};

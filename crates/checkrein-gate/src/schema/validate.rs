//! Validation: every violation at once, each with its path.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// One way in which a value does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer (RFC 6901) to the place, such as `/edits/0/old`; of a missing or undeclared field, the field itself.
    pub path: String,
    /// What is wrong, without quoting long values.
    pub problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        write!(f, "{path}: {}", self.problem)
    }
}

/// A compiled schema.
pub trait SchemaCheck: Send + Sync {
    /// All violations, in the order of the schema; empty when the value fits.
    fn violations(&self, value: &Value) -> Vec<Violation>;
}

/// Compiles schemas. A port, so that a host can do without the `jsonschema` crate.
pub trait SchemaCompiler: Send + Sync {
    /// Compiles one schema.
    ///
    /// # Errors
    /// Why it is no schema.
    fn compile(&self, schema: &Value) -> Result<Arc<dyn SchemaCheck>, String>;
}

/// The `jsonschema` crate as a [`SchemaCompiler`].
#[cfg(feature = "validate")]
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonSchemaCompiler;

#[cfg(feature = "validate")]
mod with_jsonschema {
    use jsonschema::error::ValidationErrorKind as Kind;
    use jsonschema::{ValidationError, Validator};

    use super::{Arc, JsonSchemaCompiler, SchemaCheck, SchemaCompiler, Value, Violation};

    struct Compiled(Validator);

    impl SchemaCompiler for JsonSchemaCompiler {
        fn compile(&self, schema: &Value) -> Result<Arc<dyn SchemaCheck>, String> {
            let validator = jsonschema::draft202012::new(schema).map_err(|error| error.to_string())?;
            Ok(Arc::new(Compiled(validator)))
        }
    }

    impl SchemaCheck for Compiled {
        fn violations(&self, value: &Value) -> Vec<Violation> {
            let mut found = Vec::new();
            for error in self.0.iter_errors(value) {
                explain(&error, &mut found);
            }
            found.dedup();
            found
        }
    }

    /// Longest value that a message quotes, characters.
    const MAX_QUOTED: usize = 60;

    fn explain(error: &ValidationError<'_>, found: &mut Vec<Violation>) {
        let at = error.instance_path().to_string();
        let mut say = |path: String, problem: String| found.push(Violation { path, problem });
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().map_or_else(|| property.to_string(), str::to_owned);
                say(format!("{at}/{name}"), "is required".to_owned());
            }
            Kind::AdditionalProperties { unexpected } => {
                for name in unexpected {
                    say(format!("{at}/{name}"), "is not a parameter of this tool".to_owned());
                }
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                // The branch that fits best says what is wrong; "none of them fits" says nothing.
                match context.iter().min_by_key(|branch| branch.len()) {
                    Some(branch) if !branch.is_empty() => branch.iter().for_each(|inner| explain(inner, found)),
                    _ => say(at, "fits none of the allowed forms".to_owned()),
                }
            }
            Kind::Type { kind } => {
                let wanted = match kind {
                    jsonschema::error::TypeKind::Single(kind) => kind.to_string(),
                    jsonschema::error::TypeKind::Multiple(kinds) => {
                        kinds.into_iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
                    }
                };
                say(at, format!("must be of type {wanted}, got {}", quoted(error.instance())));
            }
            Kind::Enum { options } => {
                say(at, format!("must be one of {options}, got {}", quoted(error.instance())));
            }
            Kind::Pattern { pattern } => {
                say(at, format!("must match `{pattern}`, got {}", quoted(error.instance())));
            }
            Kind::Minimum { limit } => say(at, format!("must not be below {limit}, got {}", quoted(error.instance()))),
            Kind::Maximum { limit } => say(at, format!("must not be above {limit}, got {}", quoted(error.instance()))),
            Kind::ExclusiveMinimum { limit } => {
                say(at, format!("must be above {limit}, got {}", quoted(error.instance())))
            }
            Kind::ExclusiveMaximum { limit } => {
                say(at, format!("must be below {limit}, got {}", quoted(error.instance())))
            }
            Kind::MinLength { limit } => say(at, format!("must have at least {limit} characters")),
            Kind::MaxLength { limit } => say(at, format!("must have at most {limit} characters")),
            Kind::MinItems { limit } => say(at, format!("must have at least {limit} entries")),
            Kind::MaxItems { limit } => say(at, format!("must have at most {limit} entries")),
            other => say(at, format!("does not meet `{}`", other.keyword())),
        }
    }

    fn quoted(value: &Value) -> String {
        let text = value.to_string();
        match text.char_indices().nth(MAX_QUOTED) {
            Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
            None => text,
        }
    }
}

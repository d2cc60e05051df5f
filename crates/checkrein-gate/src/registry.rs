//! The registry: which tools there are. It names none of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use checkrein_contract::ToolSpec;
use serde_json::Value;
use thiserror::Error;

use crate::ports::{AnyTool, Tool, Typed};
use crate::schema::{self, SchemaCheck, SchemaCompiler, Unsupported};

/// A tool that can not be registered.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// Another tool has the name.
    #[error("a tool `{name}` is registered already")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Names are 1 to 64 ASCII letters, digits, `_` or `-`, as every provider takes them.
    #[error("`{name}` is no tool name: use 1 to 64 letters, digits, `_` or `-`")]
    Name {
        /// The name.
        name: String,
    },
    /// The description is empty.
    #[error("tool `{name}` has no description")]
    NoDescription {
        /// The tool.
        name: String,
    },
    /// A schema uses what is outside the subset.
    #[error("tool `{name}`, {which} schema: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Schema {
        /// The tool.
        name: String,
        /// `argument` or `output`.
        which: &'static str,
        /// All of it.
        problems: Vec<Unsupported>,
    },
    /// A schema does not compile.
    #[error("tool `{name}`, {which} schema: {reason}")]
    Compile {
        /// The tool.
        name: String,
        /// `argument` or `output`.
        which: &'static str,
        /// Why.
        reason: String,
    },
}

/// A registered tool with its compiled schemas.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn AnyTool>,
    pub(crate) arguments: Arc<dyn SchemaCheck>,
    pub(crate) output: Arc<dyn SchemaCheck>,
}

/// Tools by name. Cloning is cheap, and a clone is independent: what one session registers, another does not see.
#[derive(Clone)]
pub struct Registry {
    compiler: Arc<dyn SchemaCompiler>,
    entries: BTreeMap<String, Entry>,
}

#[cfg(feature = "validate")]
impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// An empty registry that validates with the `jsonschema` crate.
    #[cfg(feature = "validate")]
    pub fn new() -> Self {
        Self::with_compiler(Arc::new(schema::JsonSchemaCompiler))
    }

    /// An empty registry with another validator.
    pub fn with_compiler(compiler: Arc<dyn SchemaCompiler>) -> Self {
        Self { compiler, entries: BTreeMap::new() }
    }

    /// Registers a typed tool.
    ///
    /// # Errors
    /// [`RegistryError`]; nothing is changed then.
    pub fn add<T: Tool>(&mut self, tool: T) -> Result<(), RegistryError> {
        self.add_any(Typed::new(tool).shared())
    }

    /// Registers a tool whose schemas are only known at run time.
    ///
    /// # Errors
    /// As [`Registry::add`].
    pub fn add_any(&mut self, tool: Arc<dyn AnyTool>) -> Result<(), RegistryError> {
        let definition = tool.definition();
        let name = definition.name.clone();
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            return Err(RegistryError::Name { name });
        }
        if self.entries.contains_key(&name) {
            return Err(RegistryError::Duplicate { name });
        }
        if definition.description.trim().is_empty() {
            return Err(RegistryError::NoDescription { name });
        }
        let arguments = self.compile(&name, "argument", &definition.parameters, true)?;
        let output = self.compile(&name, "output", &definition.output, false)?;
        self.entries.insert(name, Entry { tool, arguments, output });
        Ok(())
    }

    fn compile(
        &self,
        name: &str,
        which: &'static str,
        schema: &Value,
        object: bool,
    ) -> Result<Arc<dyn SchemaCheck>, RegistryError> {
        let problems = schema::check_subset(schema, object);
        if !problems.is_empty() {
            return Err(RegistryError::Schema { name: name.to_owned(), which, problems });
        }
        let compiled = self.compiler.compile(schema);
        compiled.map_err(|reason| RegistryError::Compile { name: name.to_owned(), which, reason })
    }

    /// Removes a tool; `false` when there was none.
    pub fn remove(&mut self, name: &str) -> bool {
        self.entries.remove(name).is_some()
    }

    /// A registry with only these tools: what is left out can not run, whatever it is called.
    #[must_use]
    pub fn scoped(&self, keep: impl Fn(&str) -> bool) -> Self {
        let entries = self.entries.iter().filter(|(name, _)| keep(name));
        Self { compiler: Arc::clone(&self.compiler), entries: entries.map(|(n, e)| (n.clone(), e.clone())).collect() }
    }

    /// A tool by name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.entries.get(name).map(|entry| &entry.tool)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// What models are told about the tools that are on offer: name, description, parameters, sorted by name.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let tools = self.entries.values().map(|entry| entry.tool.definition());
        tools.filter(|definition| !definition.host_only).map(|definition| definition.spec()).collect()
    }
}

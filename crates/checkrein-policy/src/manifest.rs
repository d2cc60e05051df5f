//! Tool manifests: what a tool that is a program, or that somebody else owns, takes and would do.
//!
//! One form serves command tools (`tools/NAME.toml`, with `argv`) and tools that others own (without): MCP servers, other
//! agents' tools, the tool names of recorded fixtures. `effects` are templates over the arguments.

mod effect;
mod patch;

use std::collections::BTreeMap;

use checkrein_contract::{CallKind, Effect, Foreseen, Identity, is_secret_name};
use checkrein_toml::{FileError, Source, Spanned};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Scene;
pub use effect::ToolEffect;
use effect::{Missing, Speaker, TemplateWord, fill_text, read_effect, template_names};
pub(crate) use effect::{collect, path_of};

/// What `argv` calls the idempotency key of the call.
const KEY: &str = "key";

/// A manifest, read and checked.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The tool's name.
    pub name: String,
    /// The MCP server that owns it.
    pub server: Option<String>,
    /// For the model.
    pub description: String,
    /// The program and its arguments, as templates; absent for tools of others.
    pub argv: Option<Vec<String>>,
    /// Variables of its environment. `${secret:NAME}` in a value stands for a secret, of which only the name is known.
    pub env: BTreeMap<String, String>,
    /// Whether standard output is JSON (else text).
    pub json_output: bool,
    /// What may be repeated.
    pub kind: CallKind,
    /// Time limit in seconds.
    pub timeout_s: u64,
    /// Calls may overlap.
    pub parallel: bool,
    /// What a call would do.
    pub effects: Vec<ToolEffect>,
    /// The parameters, by name.
    pub params: BTreeMap<String, Parameter>,
}

/// A parameter of a command tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// JSON type.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// Must be given.
    #[serde(default)]
    pub required: bool,
    /// A regular expression that the whole text must match.
    #[serde(default)]
    pub pattern: Option<String>,
    /// For the model.
    #[serde(default)]
    pub description: String,
    /// Smallest number.
    #[serde(default)]
    pub min: Option<f64>,
    /// Largest number.
    #[serde(default)]
    pub max: Option<f64>,
    /// The only values.
    #[serde(default)]
    pub one_of: Option<Vec<Value>>,
    /// Stands in when it is not given.
    #[serde(default)]
    pub default: Option<Value>,
}

/// JSON types that a parameter of a command tool can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    /// A text.
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestFile {
    version: Spanned<u32>,
    name: Spanned<String>,
    server: Option<String>,
    #[serde(default)]
    description: String,
    argv: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    env: BTreeMap<Spanned<String>, String>,
    #[serde(default)]
    output: Output,
    #[serde(default)]
    kind: CallKind,
    #[serde(default = "thirty")]
    timeout_s: Spanned<u64>,
    #[serde(default)]
    concurrency: Concurrency,
    #[serde(default)]
    effects: Vec<Spanned<BTreeMap<String, Value>>>,
    #[serde(default)]
    params: BTreeMap<String, Spanned<Parameter>>,
}

/// Whether a task or a manifest may set this variable for its programs. The harness's own are not theirs.
pub fn is_variable(name: &str) -> bool {
    is_secret_name(name) && !name.starts_with("CHECKREIN_")
}

fn thirty() -> Spanned<u64> {
    Spanned::new(0..0, 30)
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Output {
    #[default]
    Json,
    Text,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Concurrency {
    #[default]
    Exclusive,
    Parallel,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// The first mistake, with file, line and key.
    pub fn load(source: Source<'_>) -> Result<Self, FileError> {
        let file: ManifestFile = source.toml()?;
        if *file.version.get_ref() != 1 {
            return Err(source.error(file.version.span().start, "this program reads version 1 of tool manifests"));
        }
        let name = file.name.get_ref().clone();
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if (name.is_empty() || name.len() > 64 || !name.chars().all(legal)) && !(name == "*" && file.server.is_some()) {
            let message = format!("`name = \"{name}\"`: use 1 to 64 letters, digits, `_` or `-`");
            return Err(source.error(file.name.span().start, message));
        }
        if *file.timeout_s.get_ref() == 0 {
            return Err(source.error(file.timeout_s.span().start, "`timeout_s` must be above 0"));
        }
        for (param, at) in file.params.iter().map(|(name, p)| ((name, p.get_ref()), p.span().start)) {
            check_parameter(source, param.0, param.1, at)?;
        }
        let params: BTreeMap<_, _> = file.params.into_iter().map(|(name, p)| (name, p.into_inner())).collect();
        if let Some(argv) = &file.argv {
            let at = argv.span().start;
            if argv.get_ref().is_empty() {
                return Err(source.error(at, "`argv` is empty"));
            }
            for word in argv.get_ref() {
                for name in template_names(word) {
                    if name.starts_with("identity.") || name == KEY && !params.contains_key(KEY) {
                        continue;
                    }
                    let Some(param) = params.get(name) else {
                        let message = format!("`argv` uses `{{{name}}}`, which is no parameter");
                        return Err(source.unknown(at, message, name, params.keys().map(String::as_str)));
                    };
                    if !param.required && param.default.is_none() {
                        let message =
                            format!("`argv` uses `{name}`, which may be absent: make it required or give a default");
                        return Err(source.error(at, message));
                    }
                }
            }
        }
        for name in file.env.keys() {
            if file.argv.is_none() || !is_variable(name.get_ref()) {
                let message = format!("`env` can not set `{}`", name.get_ref());
                return Err(source.error(name.span().start, message));
            }
        }
        let mut effects = Vec::new();
        for effect in &file.effects {
            effects.push(read_effect(source, effect, file.argv.is_some(), &params)?);
        }
        Ok(Self {
            name,
            server: file.server,
            description: file.description,
            argv: file.argv.map(Spanned::into_inner),
            env: file.env.into_iter().map(|(name, value)| (name.into_inner(), value)).collect(),
            json_output: file.output == Output::Json,
            kind: file.kind,
            timeout_s: file.timeout_s.into_inner(),
            parallel: file.concurrency == Concurrency::Parallel,
            effects,
            params,
        })
    }

    /// JSON Schema of the arguments.
    pub fn schema(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, param) in &self.params {
            let mut schema = Map::new();
            let kind = match param.kind {
                ParameterType::String => "string",
                ParameterType::Number => "number",
                ParameterType::Integer => "integer",
                ParameterType::Boolean => "boolean",
            };
            schema.insert("type".to_owned(), json!(kind));
            if !param.description.is_empty() {
                schema.insert("description".to_owned(), json!(param.description));
            }
            let optional = [
                ("pattern", param.pattern.as_ref().map(|p| json!(p))),
                ("minimum", param.min.map(|n| json!(n))),
                ("maximum", param.max.map(|n| json!(n))),
                ("enum", param.one_of.as_ref().map(|v| json!(v))),
                ("default", param.default.clone()),
            ];
            schema.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
            properties.insert(name.clone(), Value::Object(schema));
            if param.required {
                required.push(name.clone());
            }
        }
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    /// The arguments with defaults filled in, as the schema promises.
    pub fn with_defaults(&self, args: &Value) -> Value {
        let mut args = args.as_object().cloned().unwrap_or_default();
        for (name, param) in &self.params {
            if let (None, Some(default)) = (args.get(name), &param.default) {
                args.insert(name.clone(), default.clone());
            }
        }
        Value::Object(args)
    }

    /// The words to run, filled in. Every argument stays one word, whatever it holds. `key` is the call's idempotency key,
    /// for `{key}` where no parameter is called so.
    ///
    /// # Errors
    /// The name of a value that is missing.
    pub fn command(&self, args: &Value, identity: &Identity, key: &str) -> Result<Vec<String>, String> {
        let mut args = self.with_defaults(args);
        if let Some(args) = args.as_object_mut().filter(|_| !self.params.contains_key(KEY)) {
            args.insert(KEY.to_owned(), json!(key));
        }
        let words = self.argv.as_deref().unwrap_or_default();
        words.iter().map(|word| fill_text(word, &args, Some(identity))).collect()
    }

    /// The names under which a call acts as a tool, as rules may name them.
    pub fn acts_as(&self) -> Vec<String> {
        let templates = self.effects.iter().filter(|effect| effect.word == TemplateWord::Tool);
        std::iter::once(self.name.clone()).chain(templates.map(|effect| effect.target.clone())).collect()
    }

    /// Whether it speaks for this tool of this server. A name or server `*` speaks for whatever no other manifest does.
    pub fn is_for(&self, server: Option<&str>, tool: &str) -> bool {
        let server = match (&self.server, server) {
            (None, None) => true,
            (Some(mine), Some(server)) => mine == "*" || mine == server,
            _ => false,
        };
        server && (self.name == "*" || self.name == tool)
    }

    /// What a call would do. Without `effects` it acts through itself, with all its arguments.
    pub fn foresee(&self, server: Option<&str>, tool: &str, args: &Value, scene: Scene<'_>) -> Foreseen {
        let args = self.with_defaults(args);
        let mut all = Foreseen::default();
        if self.effects.is_empty() {
            let (tool, server) = (tool.to_owned(), server.map(str::to_owned));
            all.effects.push(Effect::Tool { tool, server, args: args.clone() });
        }
        for template in &self.effects {
            match template.foresee(Speaker { server, tool, args: &args }, scene) {
                Ok(foreseen) => {
                    // Several effects of one call belong together, but for the commands of a command line.
                    if !foreseen.parts.is_empty() {
                        all.parts.resize(all.effects.len(), 0);
                        all.parts.extend(foreseen.parts);
                    }
                    all.effects.extend(foreseen.effects);
                    all.questions.extend(foreseen.questions);
                }
                Err(Missing(missing)) => all.effects.push(Effect::unknown(format!(
                    "`{tool}` was called without `{missing}`, which says what it would do"
                ))),
            }
        }
        all
    }
}

/// Manifests for the tool names that recorded calls of other harnesses use, built in.
pub fn foreign_tools() -> Result<Vec<Manifest>, FileError> {
    tools_of(Source { file: "foreign.toml", text: include_str!("foreign.toml") })
}

/// Manifests of tools that others own, many in one file: `[[tool]]`, each a name and its effects.
///
/// # Errors
/// The first mistake, with file, line and key.
pub fn tools_of(source: Source<'_>) -> Result<Vec<Manifest>, FileError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Foreign {
        name: String,
        effects: Vec<Spanned<BTreeMap<String, Value>>>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        tool: Vec<Foreign>,
    }
    let file: File = source.toml()?;
    file.tool
        .into_iter()
        .map(|tool| {
            let effects: Result<_, _> =
                tool.effects.iter().map(|effect| read_effect(source, effect, false, &BTreeMap::new())).collect();
            Ok(Manifest {
                env: BTreeMap::new(),
                name: tool.name,
                server: None,
                description: String::new(),
                argv: None,
                json_output: true,
                kind: CallKind::Once,
                timeout_s: 30,
                parallel: false,
                effects: effects?,
                params: BTreeMap::new(),
            })
        })
        .collect()
}

fn check_parameter(source: Source<'_>, name: &str, param: &Parameter, at: usize) -> Result<(), FileError> {
    let number = matches!(param.kind, ParameterType::Number | ParameterType::Integer);
    if (param.min.is_some() || param.max.is_some()) && !number {
        return Err(source.error(at, format!("`params.{name}`: `min` and `max` are for numbers")));
    }
    if let Some(pattern) = &param.pattern {
        if param.kind != ParameterType::String {
            return Err(source.error(at, format!("`params.{name}`: `pattern` is for strings")));
        }
        regex::Regex::new(pattern).map_err(|e| source.error(at, format!("`params.{name}.pattern`: {e}")))?;
    }
    if param.required && param.default.is_some() {
        return Err(source.error(at, format!("`params.{name}` is required, so its default is never used")));
    }
    Ok(())
}

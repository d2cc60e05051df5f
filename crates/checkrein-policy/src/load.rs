//! From the text of a policy file to rules. Everything that can be wrong with a file is found here, with its line.

use checkrein_contract::{Code, Decision, Digest, EffectWord, Facts, Layer, PolicySource, RuleRef, Verdict};
use checkrein_toml::{FileError, Source, Spanned};

use crate::approvers::{self, Approvals};
use crate::file::{PolicyFile, RuleFile};
use crate::held::Held;
use crate::policy::{LayerRules, Policy, Rule};
use crate::rules::{Context, Cover, KINDS, Leaning, Matcher, keys_set, scope};
use crate::variables::Variables;

const FLOOR: &str = include_str!("floor.toml");

/// The words of `effect`, as files spell them.
const WORDS: [EffectWord; 7] = [
    EffectWord::Read,
    EffectWord::Write,
    EffectWord::Delete,
    EffectWord::Metadata,
    EffectWord::Run,
    EffectWord::Connect,
    EffectWord::Tool,
];

/// The built-in floor as a source, so that sessions record it like every other layer.
pub fn floor() -> PolicySource {
    PolicySource { layer: Layer::Floor, file: "floor.toml".to_owned(), text: FLOOR.to_owned(), only_tightens: false }
}

impl Policy {
    /// Builds a policy from its layers; the floor is added when it is not among them.
    ///
    /// # Errors
    /// The first mistake in a file, with file, line and key. A policy with a mistake is no policy: nothing runs under it.
    pub fn load(sources: &[PolicySource], variables: &Variables) -> Result<Self, FileError> {
        let mut policy = Self {
            layers: Vec::new(),
            default: Verdict::Ask,
            approvals: Approvals::default(),
            ask_denies: false,
            digest: Digest::of(b""),
            root: variables.fill("{root}", str::to_owned).unwrap_or_default(),
        };
        let mut sources = sources.to_vec();
        if !sources.iter().any(|s| s.layer == Layer::Floor) {
            sources.insert(0, floor());
        }
        sources.sort_by_key(|source| source.layer);
        let mut digested: Vec<u8> = Vec::new();
        for source in &sources {
            policy.add(source, variables)?;
            digested.extend_from_slice(source.layer.as_str().as_bytes());
            digested.push(u8::from(source.only_tightens));
            digested.extend_from_slice(Digest::of(source.text.as_bytes()).as_str().as_bytes());
        }
        policy.approvals.check(policy.layers.iter().flat_map(|layer| &layer.rules))?;
        policy.digest = Digest::of(&digested);
        Ok(policy)
    }

    fn add(&mut self, from: &PolicySource, variables: &Variables) -> Result<(), FileError> {
        let source = Source { file: &from.file, text: &from.text };
        let file: PolicyFile = source.toml()?;
        if *file.version.get_ref() != 1 {
            let message = format!("version {} is not known here; this program reads version 1", file.version.get_ref());
            return Err(source.error(file.version.span().start, message));
        }
        if let Some(default) = &file.default {
            match default.get_ref().as_str() {
                "ask" => {}
                "deny" => self.default = Verdict::Deny,
                "allow" => {
                    let message = "`default` is `ask` or `deny`: what no rule speaks of is never allowed";
                    return Err(source.error(default.span().start, message));
                }
                other => {
                    let message = format!("`default = \"{other}\"` is neither `ask` nor `deny`");
                    return Err(source.unknown(default.span().start, message, other, ["ask", "deny"]));
                }
            }
        }
        if let Some(on_ask) = &file.on_ask {
            match on_ask.get_ref().as_str() {
                "pause" => {}
                "deny" => self.ask_denies = true,
                other => {
                    let message = format!("`on_ask = \"{other}\"` is neither `pause` nor `deny`");
                    return Err(source.unknown(on_ask.span().start, message, other, ["pause", "deny"]));
                }
            }
        }
        self.approvals.add(source, &file.approvals)?;
        let mut rules: Vec<Rule> = Vec::new();
        for entry in &file.rule {
            let rule = build_rule(source, from, entry, variables)?;
            if rules.iter().any(|earlier| earlier.origin.rule == rule.origin.rule) {
                let message = format!("a rule `{}` stands above already; ids are used once", rule.origin.rule);
                return Err(source.error(entry.get_ref().id.span().start, message));
            }
            rules.push(rule);
        }
        // A rule for somebody else, or for another stage, was read and checked; it does not hold here.
        rules.retain(|rule| rule.in_force);
        self.layers.push(LayerRules { layer: from.layer, only_tightens: from.only_tightens, rules });
        Ok(())
    }
}

fn build_rule(
    source: Source<'_>,
    from: &PolicySource,
    entry: &Spanned<RuleFile>,
    variables: &Variables,
) -> Result<Rule, FileError> {
    let rule = entry.get_ref();
    let id = rule.id.get_ref();
    if id.is_empty() {
        return Err(source.error(rule.id.span().start, "a rule needs an `id`"));
    }
    if rule.reason.trim().is_empty() {
        return Err(
            source.error(entry.span().start, format!("rule `{id}` needs a `reason`: people and models read it"))
        );
    }
    let verdict = match rule.decision.get_ref().as_str() {
        "allow" => Verdict::Allow,
        "ask" => Verdict::Ask,
        "deny" => Verdict::Deny,
        other => {
            let message = format!("rule `{id}`: `decision = \"{other}\"` is none of allow, ask, deny");
            return Err(source.unknown(rule.decision.span().start, message, other, ["allow", "ask", "deny"]));
        }
    };
    let word = WORDS.into_iter().find(|word| word.as_str() == rule.effect.get_ref()).ok_or_else(|| {
        let given = rule.effect.get_ref();
        let message = format!("rule `{id}`: `effect = \"{given}\"` is no effect");
        source.unknown(rule.effect.span().start, message, given, WORDS.map(EffectWord::as_str))
    })?;
    let leaning = if verdict == Verdict::Allow { Leaning::Loosens } else { Leaning::Tightens };
    let context = Context { source, rule, word, leaning, variables };
    let (_, matcher) = build_matcher(&context, id)?;
    let held = Held::of(source, from, entry, verdict, word)?;
    // The examples of what ships are checked by a test, not at every start.
    if from.text != FLOOR || from.layer != Layer::Floor {
        check_examples(&Context { source, rule, word, leaning, variables: &Variables::for_examples() }, id)?;
    }
    Ok(Rule {
        approvers: approvers::of_rule(source, rule, verdict)?,
        origin: RuleRef {
            layer: from.layer,
            rule: id.clone(),
            file: from.file.clone(),
            line: source.line(rule.id.span().start),
        },
        verdict,
        word,
        reason: rule.reason.clone(),
        in_force: scope::in_force(&context),
        matcher,
        held,
        tool: rule
            .tool
            .as_ref()
            .map(|tool| tool.get_ref())
            .filter(|tool| rule.server.is_none() && !tool.contains('*'))
            .cloned(),
    })
}

fn build_matcher(context: &Context<'_>, id: &str) -> Result<(usize, Box<dyn Matcher>), FileError> {
    let mut found: Option<(usize, Box<dyn Matcher>)> = None;
    let served = KINDS.iter().enumerate().filter(|(_, kind)| kind.effects.contains(&context.word));
    let known: Vec<&str> = served.clone().flat_map(|(_, kind)| kind.keys.iter().copied()).collect();
    for (key, at) in keys_set(context.rule) {
        if !known.contains(&key) {
            let word = context.word.as_str();
            return Err(context
                .source
                .error(at, format!("rule `{id}`: `{key}` says nothing about `effect = \"{word}\"`")));
        }
    }
    for (index, kind) in served {
        // The kind without keys comes last and takes only what no other kind took.
        if found.is_some() && kind.keys.is_empty() {
            break;
        }
        if let Some(matcher) = (kind.build)(context)? {
            if found.is_some() {
                let at = context.rule.id.span().start;
                let message = format!("rule `{id}` mixes two kinds of rule ({}); write two rules", known.join(", "));
                return Err(context.source.error(at, message));
            }
            found = Some((index, matcher));
        }
    }
    found.ok_or_else(|| context.source.error(context.rule.id.span().start, format!("rule `{id}` matches nothing")))
}

/// Checks `matches` and `does_not_match` against the rule as it would be in a place that is always the same.
fn check_examples(context: &Context<'_>, id: &str) -> Result<(), FileError> {
    if context.rule.matches.is_empty() && context.rule.does_not_match.is_empty() {
        return Ok(());
    }
    let (kind, matcher) = build_matcher(context, id)?;
    let Some(kind) = KINDS.get(kind) else { return Ok(()) };
    let all = [(&context.rule.matches, true), (&context.rule.does_not_match, false)];
    for (examples, expected) in all {
        for example in examples {
            let at = example.span().start;
            let shown = serde_json::to_string(example.get_ref()).unwrap_or_default();
            let Some(effect) = (kind.example)(context, example.get_ref()) else {
                return Err(context
                    .source
                    .error(at, format!("rule `{id}`: {shown} is no example of this kind of rule")));
            };
            let covers = matcher.covers(&effect, &Facts::default()).unwrap_or(Cover::None);
            if (covers != Cover::None) != expected {
                let message = if expected {
                    format!("rule `{id}` does not match its own example {shown}")
                } else {
                    format!("rule `{id}` matches {shown}, which it must not")
                };
                return Err(context.source.error(at, message));
            }
        }
    }
    Ok(())
}

/// A decision about a call that could not even be judged, because its policy can not be read.
pub fn refuse_unreadable(error: &FileError) -> Decision {
    Decision {
        verdict: Verdict::Deny,
        code: Code::Denied,
        reason: format!("the policy can not be read: {error}"),
        trace: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use checkrein_contract::{Identity, Place};

    use super::*;

    /// The floor as somebody's own file: every rule matches its examples.
    #[test]
    fn the_floor_matches_its_own_examples() {
        let place = Place { root: "/p".into(), cwd: "/p".into(), home: "/home/dev".into(), ..Place::default() };
        let own = PolicySource { layer: Layer::User, ..floor() };
        Policy::load(&[own], &Variables::new(&place, &Identity::default())).unwrap();
    }
}

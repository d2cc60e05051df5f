//! A policy in force: layers of rules, ready to be asked.

use checkrein_contract::{
    Digest, Effect, EffectWord, Facts, Finding, Layer, Question, RuleRef, Silent, Tree, Verdict, Winner,
};

use crate::approvers::Approvals;
use crate::held::Held;
use crate::rules::{Cover, Matcher};

/// Files found for one question that are judged by their real names, at most; a call that may reach more is judged by the
/// pattern it gave.
pub const MOST_REAL_NAMES: usize = 64;

/// Rules of all layers, loaded and checked. Immutable; cheap to ask.
#[derive(Debug)]
pub struct Policy {
    pub(crate) layers: Vec<LayerRules>,
    /// What holds where every layer is silent.
    pub(crate) default: Verdict,
    /// Who may say yes.
    pub(crate) approvals: Approvals,
    /// `on_ask = "deny"`: nobody is to be asked.
    pub(crate) ask_denies: bool,
    pub(crate) digest: Digest,
    /// The project, as written.
    pub(crate) root: String,
}

#[derive(Debug)]
pub(crate) struct LayerRules {
    pub(crate) layer: Layer,
    pub(crate) only_tightens: bool,
    pub(crate) rules: Vec<Rule>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) origin: RuleRef,
    pub(crate) verdict: Verdict,
    pub(crate) word: EffectWord,
    pub(crate) reason: String,
    pub(crate) matcher: Box<dyn Matcher>,
    /// What a remembered yes holds for.
    pub(crate) held: Option<Held>,
    /// Roles, one of which whoever says yes must have; none: anybody may.
    pub(crate) approvers: Vec<String>,
    /// It is for this identity and this stage.
    pub(crate) in_force: bool,
    /// The host's own tool that the rule names exactly.
    pub(crate) tool: Option<String>,
}

/// What all layers together say of one effect.
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) winner: Winner,
    pub(crate) reason: String,
    pub(crate) also: Vec<RuleRef>,
    pub(crate) silent: Vec<Silent>,
}

struct Hit<'a> {
    rule: &'a Rule,
    verdict: Verdict,
    failure: Option<String>,
}

impl Policy {
    /// Digest over the texts of all layers: two policies with the same digest decide the same.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Number of rules, floor included.
    pub fn rule_count(&self) -> usize {
        self.layers.iter().map(|layer| layer.rules.len()).sum()
    }

    /// Where each rule stands, strongest layer first.
    pub fn rules(&self) -> impl Iterator<Item = &RuleRef> {
        self.layers.iter().flat_map(|layer| &layer.rules).map(|rule| &rule.origin)
    }

    /// Tools of the host that rules name exactly, with the rule. A host that knows its tools finds typing errors by it.
    pub fn named_tools(&self) -> impl Iterator<Item = (&str, &RuleRef)> {
        let rules = self.layers.iter().flat_map(|layer| &layer.rules);
        rules.filter_map(|rule| Some((rule.tool.as_deref()?, &rule.origin)))
    }

    /// What must be known before these effects can be judged, besides what is known. To be asked again with the answers,
    /// until nothing is left.
    pub fn questions(&self, effects: &[Effect], facts: &Facts) -> Vec<Question> {
        let mut questions = Vec::new();
        if effects.iter().any(|effect| effect.path().is_some()) {
            questions.push(Question::RealPath { path: self.root.clone() });
        }
        if effects.iter().any(|effect| effect.path().is_some() || matches!(effect, Effect::Run(_))) {
            questions.push(Question::CaseFolding { path: self.root.clone() });
        }
        for effect in effects {
            match effect {
                Effect::Run(run) => questions.extend(run.rests_on.iter().cloned()),
                Effect::ReadTree(tree) if !tree.asks_each => {
                    questions.push(Question::Holds { tree: tree.clone(), patterns: self.guarded(EffectWord::Read) });
                }
                Effect::Delete { path, recursive: true, glob: false } => {
                    let tree = Tree { root: path.clone(), ..Tree::default() };
                    questions.push(Question::Holds { tree, patterns: self.guarded(EffectWord::Delete) });
                }
                Effect::Tool { tool, server: Some(server), .. } => {
                    questions.push(Question::Definition { server: server.clone(), tool: tool.clone() });
                }
                Effect::Connect(to) if !to.host.is_empty() && self.asks_for_addresses() => {
                    questions.push(Question::Addresses { host: to.host.clone() });
                }
                _ => {}
            }
        }
        for (rule, held) in
            self.layers.iter().flat_map(|layer| &layer.rules).filter_map(|rule| Some((rule, rule.held.as_ref()?)))
        {
            if effects.iter().any(|effect| rule.asks_about(effect, facts).is_some()) {
                questions.extend(held.questions());
            }
        }
        // A file that was found is judged by its real name, like one that was written down.
        for (question, answer) in facts.iter() {
            if let (Question::Holds { .. }, Some(Finding::List(files))) = (question, answer) {
                questions
                    .extend(files.iter().take(MOST_REAL_NAMES).map(|path| Question::RealPath { path: path.clone() }));
            }
        }
        questions.retain(|question| !facts.has(question));
        questions
    }

    /// The patterns of paths that some rule asks about or denies for this word.
    pub fn guarded(&self, word: EffectWord) -> Vec<String> {
        let rules = self.layers.iter().flat_map(|layer| &layer.rules);
        let guards = rules.filter(|rule| rule.word == word && rule.verdict != Verdict::Allow);
        let mut patterns: Vec<String> = guards.flat_map(|rule| rule.matcher.patterns()).cloned().collect();
        patterns.sort();
        patterns.dedup();
        // What lies outside everything is not looked for inside a tree.
        patterns.retain(|pattern| pattern != "/**" && pattern != "/");
        patterns
    }

    pub(crate) fn asks_for_addresses(&self) -> bool {
        self.layers.iter().flat_map(|layer| &layer.rules).any(|rule| rule.matcher.asks_for_addresses())
    }

    /// Asks every layer about one effect of a call that does all of `whole`.
    ///
    /// A *deny* in any layer wins. Else the strongest layer that is not silent decides; so an *ask* of floor, managed or
    /// user beats an *allow* below it, and an *allow* counts only where every layer above is silent.
    pub(crate) fn judge(&self, effect: &Effect, whole: &[Effect], facts: &Facts) -> Judgement {
        let mut hits: Vec<Hit<'_>> = Vec::new();
        let mut decider: Option<usize> = None;
        let mut decided_in = None;
        let mut silent = Vec::new();
        for layer in &self.layers {
            for rule in &layer.rules {
                let Some(hit) = rule.asks_about(effect, facts) else { continue };
                if layer.only_tightens && hit.verdict == Verdict::Allow {
                    continue;
                }
                if let Some(why) = hit.silenced_by(self, effect, whole, facts) {
                    silent.push(Silent { rule: rule.origin.clone(), why });
                    continue;
                }
                let better = match decider.and_then(|at| hits.get(at)) {
                    None => true,
                    Some(best) => {
                        let same_layer = decided_in == Some(layer.layer);
                        hit.verdict == Verdict::Deny && best.verdict != Verdict::Deny
                            || same_layer && hit.verdict > best.verdict
                    }
                };
                if better {
                    decider = Some(hits.len());
                    decided_in = Some(layer.layer);
                }
                hits.push(hit);
            }
        }
        let Some(winner) = decider.and_then(|at| hits.get(at)) else {
            let mut reason = format!("no rule speaks of {}", deed(effect));
            if let Some(Silent { why, .. }) = silent.first() {
                reason.push_str(&format!("; an earlier yes does not hold here: {why}"));
            }
            return Judgement { verdict: self.default, winner: Winner::Default, reason, also: Vec::new(), silent };
        };
        let reason = match &winner.failure {
            Some(failure) => format!("rule `{}` could not be evaluated: {failure}", winner.rule.origin.rule),
            None => winner.rule.reason.clone(),
        };
        let also = hits
            .iter()
            .filter(|hit| hit.rule.origin != winner.rule.origin)
            .map(|hit| hit.rule.origin.clone())
            .collect();
        Judgement { verdict: winner.verdict, winner: Winner::Rule(winner.rule.origin.clone()), reason, also, silent }
    }

    /// Why a remembered yes does not hold. Where what no rule speaks of is denied, a person's yes is no answer to that.
    fn is_silent(&self, held: &Held, effect: &Effect, whole: &[Effect], facts: &Facts) -> Option<String> {
        if self.default == Verdict::Deny {
            return Some("what no rule speaks of is denied".to_owned());
        }
        held.fails(effect, whole, facts, &self.root)
    }
}

/// An effect as people say it.
fn deed(effect: &Effect) -> String {
    match effect {
        Effect::Read { .. } | Effect::List { .. } | Effect::ReadTree(_) => "reading this".to_owned(),
        Effect::Write { .. } => "writing this".to_owned(),
        Effect::Delete { .. } => "deleting this".to_owned(),
        Effect::Metadata { .. } => "changing the mode, owner or times of this".to_owned(),
        Effect::Run(run) => format!("running `{}`", run.program),
        Effect::Connect(to) => format!("connecting to `{}`", to.host),
        Effect::Tool { tool, .. } => format!("the tool `{tool}`"),
        Effect::Unknown { .. } => "what is not understood".to_owned(),
    }
}

impl Hit<'_> {
    /// Why it does not count, where it is a remembered yes that does not hold here.
    fn silenced_by(&self, policy: &Policy, effect: &Effect, whole: &[Effect], facts: &Facts) -> Option<String> {
        let held = self.rule.held.as_ref().filter(|_| self.verdict == Verdict::Allow)?;
        policy.is_silent(held, effect, whole, facts)
    }
}

impl Rule {
    fn asks_about(&self, effect: &Effect, facts: &Facts) -> Option<Hit<'_>> {
        if self.word != effect.word() {
            return None;
        }
        match self.matcher.covers(effect, facts) {
            // A broken rule must not open anything: it denies, with its own name.
            Err(failure) => Some(Hit { rule: self, verdict: Verdict::Deny, failure: Some(failure) }),
            Ok(Cover::None) => None,
            Ok(Cover::Within | Cover::Some) if self.verdict == Verdict::Allow => None,
            Ok(Cover::Within) => Some(Hit { rule: self, verdict: Verdict::Ask, failure: None }),
            Ok(Cover::Some | Cover::All) => Some(Hit { rule: self, verdict: self.verdict, failure: None }),
        }
    }
}

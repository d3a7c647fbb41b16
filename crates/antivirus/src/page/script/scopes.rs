//! Which names a script declares, and where. Rule: as ClamAV follows them, which is less than the language says.

use super::tokens::{Kind, Token};
use std::collections::HashMap;

/// How many functions around a name are looked at for what declares it.
const DEPTH_MAX: usize = 64;

/// The scopes of a script: one for all of it, and one for each function.
pub(super) struct Scopes {
    all: Vec<Scope>,
    current: usize,
    declared: u32,
}

#[derive(Default)]
struct Scope {
    names: HashMap<Vec<u8>, u32>,
    parent: Option<usize>,
    awaits: Awaits,
    brackets: u32,
    blocks: u32,
    after_dot: bool,
}

/// What a name would be.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Awaits {
    /// One that is used.
    #[default]
    Use,
    Variable,
    /// What it is set to, or the next one.
    Value,
    FunctionName,
    Parameters,
    Parameter,
}

impl Default for Scopes {
    fn default() -> Self {
        Self { all: vec![Scope::default()], current: 0, declared: 0 }
    }
}

impl Scopes {
    /// A name is met: whether it is one that may be declared, and none of a member.
    pub fn name(&mut self, name: &[u8]) -> Kind {
        let Some(scope) = self.all.get_mut(self.current) else { return Kind::Plain };
        if std::mem::take(&mut scope.after_dot) {
            return Kind::Plain;
        }
        scope.awaits = match scope.awaits {
            Awaits::Variable | Awaits::Parameter => {
                scope.brackets = 0;
                Awaits::Value
            }
            Awaits::FunctionName => Awaits::Parameters,
            other => return self.used(other),
        };
        scope.names.insert(name.to_vec(), self.declared);
        self.declared += 1;
        Kind::Name
    }

    fn used(&mut self, awaits: Awaits) -> Kind {
        if let Some(scope) = self.all.get_mut(self.current) {
            scope.awaits = awaits;
        }
        Kind::Name
    }

    /// A keyword, an operator or a mark is met. Says whether a function ends with it.
    pub fn mark(&mut self, mark: &[u8]) -> bool {
        let current = self.current;
        let Some(scope) = self.all.get_mut(current) else { return false };
        scope.after_dot = mark == b".";
        let is_level = scope.brackets == 0 && scope.blocks == 0;
        match mark {
            b"var" => scope.awaits = Awaits::Variable,
            b"(" if matches!(scope.awaits, Awaits::FunctionName | Awaits::Parameters) => {
                scope.awaits = Awaits::Parameter;
            }
            b")" if scope.awaits == Awaits::Parameters => scope.awaits = Awaits::Use,
            b"{" => {
                if matches!(scope.awaits, Awaits::FunctionName | Awaits::Parameters | Awaits::Parameter) {
                    scope.awaits = Awaits::Use;
                }
                scope.blocks += 1;
            }
            b"}" => {
                scope.blocks = scope.blocks.saturating_sub(1);
                if scope.blocks == 0
                    && let Some(parent) = scope.parent
                {
                    self.current = parent;
                    return true;
                }
            }
            b"[" => scope.brackets += 1,
            b"]" => scope.brackets = scope.brackets.saturating_sub(1),
            b"," if is_level && scope.awaits == Awaits::Value => scope.awaits = Awaits::Variable,
            b";" if is_level => scope.awaits = Awaits::Use,
            _ => {}
        }
        false
    }

    /// A string or a number is met.
    pub fn literal(&mut self) {
        if let Some(scope) = self.all.get_mut(self.current) {
            scope.after_dot = false;
        }
    }

    /// A function begins: the number of its scope.
    pub fn function(&mut self) -> u32 {
        let parent = Some(self.current);
        self.current = self.all.len();
        self.all.push(Scope { parent, awaits: Awaits::FunctionName, ..Scope::default() });
        self.current as u32
    }

    /// Goes over the tokens once more, from the first on.
    pub fn start_again(&mut self) {
        self.current = 0;
    }

    /// Steps into and out of functions as the tokens do.
    pub fn follow(&mut self, token: &Token) {
        match token.kind {
            Kind::Function(scope) => self.current = scope as usize,
            Kind::FunctionEnd => {
                let parent = self.all.get(self.current).and_then(|scope| scope.parent);
                self.current = parent.unwrap_or(self.current);
            }
            _ => {}
        }
    }

    /// The number of a name that is declared here or around.
    pub fn number_of(&self, name: &[u8]) -> Option<u32> {
        let first = self.all.get(self.current);
        let around = |scope: &&Scope| scope.parent.and_then(|parent| self.all.get(parent));
        let mut scopes = std::iter::successors(first, around).take(DEPTH_MAX);
        scopes.find_map(|scope| scope.names.get(name).copied())
    }
}

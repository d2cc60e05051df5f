//! What becomes of a word that a program is given.

/// The role of an operand or of an option's value. `models/README.md` says what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Data,
    Read,
    List,
    ListTree,
    Tree,
    Write,
    Edit,
    Into,
    Move,
    Delete,
    DeleteTree,
    Metadata,
    MetadataTree,
    Wipe,
    Make,
    WriteTree,
    Prefix,
    Template,
    Pack,
    Backup,
    Keep,
    Link,
    Dir,
    Url,
    Host,
    Address,
    Remote,
    Revision,
    Pathspec,
    Range,
    Refspec,
    Program,
    Command,
    Shell,
    ShellWords,
    Code,
    Script,
    Config,
    FilesFrom,
    AtFile,
    NameAtFile,
    Form,
    Pass,
    Cert,
    Newkey,
    ReadList,
    Port,
    Via,
    Place,
    Package,
    Database,
    Setting,
    RemoteShell,
    Assignment,
    Variable,
    SedScript,
    AwkScript,
    FindExpression,
    TestExpression,
    JqFilter,
}

/// Every role with its name in the files.
pub(crate) const ROLES: [(&str, Role); 60] = [
    ("data", Role::Data),
    ("read", Role::Read),
    ("list", Role::List),
    ("list-tree", Role::ListTree),
    ("tree", Role::Tree),
    ("write", Role::Write),
    ("edit", Role::Edit),
    ("into", Role::Into),
    ("move", Role::Move),
    ("delete", Role::Delete),
    ("delete-tree", Role::DeleteTree),
    ("metadata", Role::Metadata),
    ("metadata-tree", Role::MetadataTree),
    ("wipe", Role::Wipe),
    ("make", Role::Make),
    ("write-tree", Role::WriteTree),
    ("prefix", Role::Prefix),
    ("template", Role::Template),
    ("pack", Role::Pack),
    ("backup", Role::Backup),
    ("keep", Role::Keep),
    ("link", Role::Link),
    ("dir", Role::Dir),
    ("url", Role::Url),
    ("host", Role::Host),
    ("address", Role::Address),
    ("remote", Role::Remote),
    ("revision", Role::Revision),
    ("pathspec", Role::Pathspec),
    ("range", Role::Range),
    ("refspec", Role::Refspec),
    ("program", Role::Program),
    ("command", Role::Command),
    ("shell", Role::Shell),
    ("shell-words", Role::ShellWords),
    ("code", Role::Code),
    ("script", Role::Script),
    ("config", Role::Config),
    ("files-from", Role::FilesFrom),
    ("at-file", Role::AtFile),
    ("name-at-file", Role::NameAtFile),
    ("form", Role::Form),
    ("pass", Role::Pass),
    ("cert", Role::Cert),
    ("newkey", Role::Newkey),
    ("read-list", Role::ReadList),
    ("port", Role::Port),
    ("via", Role::Via),
    ("place", Role::Place),
    ("package", Role::Package),
    ("database", Role::Database),
    ("setting", Role::Setting),
    ("remote-shell", Role::RemoteShell),
    ("assignment", Role::Assignment),
    ("variable", Role::Variable),
    ("sed-script", Role::SedScript),
    ("awk-script", Role::AwkScript),
    ("find-expression", Role::FindExpression),
    ("test-expression", Role::TestExpression),
    ("jq-filter", Role::JqFilter),
];

impl Role {
    pub(crate) fn named(name: &str) -> Option<Self> {
        ROLES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }

    /// Whether a word in this role can do more than be read or looked at. Where a program has such an option, a word that
    /// is not known could be one.
    pub(crate) fn acts(self) -> bool {
        !matches!(
            self,
            Self::Data
                | Self::Read
                | Self::List
                | Self::ListTree
                | Self::Tree
                | Self::Link
                | Self::Revision
                | Self::Pathspec
                | Self::Range
                | Self::AtFile
                | Self::NameAtFile
                | Self::Form
                | Self::Pass
                | Self::Cert
                | Self::Newkey
                | Self::ReadList
                | Self::Refspec
                | Self::SedScript
                | Self::AwkScript
                | Self::JqFilter
                | Self::TestExpression
                | Self::FilesFrom
        )
    }
}

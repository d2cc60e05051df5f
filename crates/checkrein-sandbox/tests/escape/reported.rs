//! What a confined run tells of its end and of what it refused: nothing that the program prints is taken for it.

use std::path::PathBuf;
use std::sync::Arc;

use checkrein_gate::Sandbox;
use checkrein_sandbox::{Confined, Limits, Settings};
use libtest_mimic::{Failed, Trial};
use tokio_util::sync::CancellationToken;

use crate::attempt::Grant;
use crate::gate;
use crate::tool::Ended;
use crate::user::Launcher;
use crate::world::{PATH, World};

/// Runs a line in a fresh world.
struct Inside {
    launcher: PathBuf,
    world: World,
    sandbox: Arc<dyn Sandbox>,
    cancel: CancellationToken,
}

impl Inside {
    fn new(launcher: &Launcher) -> Self {
        let world = World::new();
        let sandbox = Arc::new(Confined::new(settings(&world, launcher.path())));
        Self { launcher: launcher.path(), world, sandbox, cancel: CancellationToken::new() }
    }

    async fn words(&self, argv: &[&str], milliseconds: u64) -> Result<Ended, String> {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let bounds = (milliseconds, &self.cancel);
        gate::call(&self.world, Arc::clone(&self.sandbox), &Grant::Out, &argv, bounds).await
    }

    async fn bash(&self, line: &str) -> Result<Ended, String> {
        self.tagged(line, 60_000).await
    }

    /// So that what it leaves behind is known.
    async fn tagged(&self, line: &str, milliseconds: u64) -> Result<Ended, String> {
        let argv = self.world.argv(line);
        let bounds = (milliseconds, &self.cancel);
        gate::call(&self.world, Arc::clone(&self.sandbox), &Grant::Out, &argv, bounds).await
    }

    /// Refusals, as `kind target`.
    async fn denied(&self, line: &str) -> Result<Vec<String>, String> {
        self.denied_where(&Grant::Out, line).await
    }

    async fn denied_where(&self, grant: &Grant, line: &str) -> Result<Vec<String>, String> {
        let bounds = (60_000, &self.cancel);
        let ended = gate::call(&self.world, Arc::clone(&self.sandbox), grant, &self.world.argv(line), bounds).await?;
        Ok(ended.denied.into_iter().map(|denial| format!("{} {}", denial.kind, denial.target)).collect())
    }
}

fn settings(world: &World, launcher: PathBuf) -> Settings {
    let env =
        vec![("PATH".to_owned(), PATH.to_owned()), ("HOME".to_owned(), world.home.to_string_lossy().into_owned())];
    Settings { launcher, env: env.into(), home: world.home.clone(), without: Vec::new() }
}

type Checked = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug>(is: T, should_be: T) -> Checked {
    if is == should_be { Ok(()) } else { Err(format!("it is {is:?}, and should be {should_be:?}")) }
}

/// All of them.
pub(crate) fn trials(launcher: &Arc<Launcher>) -> Vec<Trial> {
    macro_rules! trial {
        ($($name:ident),*) => {
            vec![$({
                let launcher = Arc::clone(launcher);
                Trial::test(concat!("reported/", stringify!($name)), move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                    let inside = Inside::new(&launcher);
                    let checked = runtime.block_on($name(&inside));
                    inside.world.end_left();
                    checked.map_err(Failed::from)
                })
            }),*]
        };
    }
    trial![
        exit_code_and_signal_are_told_apart,
        what_can_not_start_says_why,
        a_time_limit_leaves_nobody,
        a_program_that_ignores_the_request_to_end_is_ended,
        a_call_that_takes_too_much_says_what,
        cancelling_leaves_nobody,
        dropping_the_run_leaves_nobody,
        what_was_printed_before_the_end_is_kept,
        a_refused_change_is_told_with_its_true_path,
        a_refused_connection_is_told_with_its_address,
        a_program_that_is_not_given_is_told,
        what_is_taken_away_afterwards_is_told,
        what_was_there_before_is_not_taken_away,
        a_name_that_a_rule_keeps_is_told,
        less_than_writing_is_told,
        a_repository_elsewhere_is_not_looked_at,
        a_second_call_writes_what_the_first_one_linked,
        words_alone_are_no_refusal,
        what_is_granted_is_no_refusal,
        a_flood_of_refusals_is_cut
    ]
}

async fn exit_code_and_signal_are_told_apart(inside: &Inside) -> Checked {
    let ended = inside.bash("printf out; printf err >&2; exit 3").await?;
    same((ended.exit, ended.signal, &*ended.stdout, &*ended.stderr), (Some(3), None, "out", "err"))?;
    let ended = inside.bash("kill -9 $$").await?;
    same((ended.exit, ended.signal), (None, Some(9)))?;
    let ended = inside.bash("kill -SEGV $$").await?;
    same((ended.exit, ended.signal), (None, Some(11)))
}

async fn what_can_not_start_says_why(inside: &Inside) -> Checked {
    let script = inside.world.root.join("script");
    std::fs::write(&script, "#!/not/there\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for (argv, reason) in [
        (&["no-such-program"][..], "there is no program `no-such-program` here"),
        (&["./no-such-program"], "there is no program `./no-such-program` here"),
        (&["./script"], "the interpreter of `./script` is missing"),
        (&["./notes.txt"], "ermission"),
    ] {
        match inside.words(argv, 60_000).await {
            Err(text) if text.contains(reason) => {}
            other => return Err(format!("{argv:?}: {other:?}")),
        }
    }
    Ok(())
}

/// Long enough for the first output, then over.
async fn until_it_prints(inside: &Inside, line: &str) -> Result<Ended, String> {
    for milliseconds in [300, 2_000, 20_000] {
        let ended = inside.tagged(line, milliseconds).await?;
        if !ended.stdout.is_empty() {
            return Ok(ended);
        }
    }
    Err("it printed nothing".to_owned())
}

async fn a_time_limit_leaves_nobody(inside: &Inside) -> Checked {
    let ended = until_it_prints(inside, "sleep 60 & setsid sleep 60 & echo x; wait").await?;
    same((ended.timed_out, ended.cancelled, inside.world.left().len()), (true, false, 0))
}

async fn a_program_that_ignores_the_request_to_end_is_ended(inside: &Inside) -> Checked {
    let ended = until_it_prints(inside, "trap '' TERM INT HUP; setsid sleep 60 & echo x; sleep 60; wait").await?;
    same((ended.timed_out, ended.signal, inside.world.left().len()), (true, Some(9), 0))
}

async fn cancelling_leaves_nobody(inside: &Inside) -> Checked {
    let ready = inside.world.root.join("out/ready");
    let line = "(setsid sleep 60 &); sleep 60 & touch out/ready; wait";
    let (ended, ()) = tokio::join!(inside.bash(line), async {
        appears(&ready).await;
        inside.cancel.cancel();
    });
    let ended = ended?;
    same((ended.cancelled, ended.timed_out, inside.world.left().len()), (true, false, 0))
}

async fn dropping_the_run_leaves_nobody(inside: &Inside) -> Checked {
    let ready = inside.world.root.join("out/ready");
    tokio::select! {
        ended = inside.bash("(setsid sleep 60 &); sleep 60 & touch out/ready; wait") => {
            return Err(format!("it ended by itself: {ended:?}"));
        }
        () = appears(&ready) => {}
    }
    // Nobody waits for those inside then: the kernel ends them, soon.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !inside.world.left().is_empty() && std::time::Instant::now() < until {
        tokio::task::yield_now().await;
    }
    same(inside.world.left().len(), 0)
}

/// Until the file is there, or half a minute is over: then what is checked fails.
async fn appears(path: &std::path::Path) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !path.exists() && std::time::Instant::now() < until {
        tokio::task::yield_now().await;
    }
}

/// All of it is ended, and what it printed before is there.
async fn a_call_that_takes_too_much_says_what(inside: &Inside) -> Checked {
    let limits = Limits {
        data_bytes: 1 << 32,
        all_bytes: 64 << 20,
        disk_bytes: u64::MAX,
        file_bytes: 1 << 30,
        open_files: 1 << 10,
        processes: 1 << 10,
        cpu_seconds: 60,
        private_bytes: 1 << 30,
    };
    let sandbox: Arc<dyn Sandbox> =
        Arc::new(Confined::new(settings(&inside.world, inside.launcher.clone())).with_limits(limits));
    let argv = inside
        .world
        .argv("echo begun; python3 -c 'a = bytearray(b\"x\") * (200 << 20); input(); print(len(a))' < <(sleep 60)");
    let ended = gate::call(&inside.world, sandbox, &Grant::Out, &argv, (60_000, &inside.cancel)).await?;
    same((ended.exhausted.as_deref(), ended.timed_out, &*ended.stdout), (Some("memory"), false, "begun\n"))?;
    same(inside.world.left().len(), 0)
}

async fn what_was_printed_before_the_end_is_kept(inside: &Inside) -> Checked {
    let ended = inside.bash("seq 100000; seq 100000 >&2").await?;
    same((ended.exit, ended.stdout_total, ended.stdout.ends_with("\n100000\n")), (Some(0), 588_895, true))?;
    same(ended.stderr.ends_with("\n100000\n"), true)
}

async fn a_refused_change_is_told_with_its_true_path(inside: &Inside) -> Checked {
    let root = inside.world.root.to_str().unwrap().to_owned();
    same(inside.denied("echo x > /etc/x").await?, vec!["write /etc/x".to_owned()])?;
    same(inside.denied("ln -s /etc out/e; echo x > out/e/x").await?, vec!["write /etc/x".to_owned()])?;
    same(inside.denied("cd src; echo x > ../notes.txt").await?, vec![format!("write {root}/notes.txt")])?;
    same(inside.denied("mkdir src/new").await?, vec![format!("write {root}/src/new")])?;
    same(inside.denied("rm -f notes.txt").await?, vec![format!("delete {root}/notes.txt")])?;
    same(inside.denied("chmod 600 notes.txt").await?, vec![format!("metadata {root}/notes.txt")])?;
    same(inside.denied("mv -T out/kept.txt src/kept.txt").await?.contains(&format!("write {root}/src/kept.txt")), true)
}

async fn a_refused_connection_is_told_with_its_address(inside: &Inside) -> Checked {
    same(inside.denied("echo x > /dev/tcp/192.0.2.1/80").await?, vec!["connect 192.0.2.1:80".to_owned()])?;
    let line = "python3 -c 'import socket; socket.socket(socket.AF_INET6).connect((\"2001:db8::1\", 443))'";
    same(inside.denied(line).await?, vec!["connect [2001:db8::1]:443".to_owned()])
}

/// It looks as if it were not there, to the program; the truth is told, and no more of it than was asked for.
async fn a_program_that_is_not_given_is_told(inside: &Inside) -> Checked {
    let tool = inside.world.home.join("tool");
    std::fs::write(&tool, "#!/bin/sh\necho ran\n").unwrap();
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ended = inside.bash(&format!("{}; echo $?", tool.display())).await?;
    same(ended.stdout.trim(), "127")?;
    let denied: Vec<String> = ended.denied.iter().map(|denial| format!("{} {}", denial.kind, denial.target)).collect();
    same(denied, vec![format!("read {}", tool.display())])?;
    same(inside.denied("ls; env true; /usr/bin/true; command -v none; ./none").await?, Vec::new())
}

async fn what_is_taken_away_afterwards_is_told(inside: &Inside) -> Checked {
    let root = inside.world.root.to_str().unwrap().to_owned();
    let line = "echo x > a; mkdir -p b/c; sed -i s/notes/new/ notes.txt; mktemp -p . > /dev/null; rm tmp.*";
    let mut denied = inside.denied_where(&Grant::File, line).await?;
    denied.sort();
    same(denied, vec![format!("write {root}/a"), format!("write {root}/b")])?;
    let line = "git init -q out/r; echo x > out/r/.git/hooks/post-merge; git -C out/r config core.fsmonitor x";
    let planted = ["config", "hooks/post-merge"].map(|name| format!("write {root}/out/r/.git/{name}"));
    same(inside.denied(line).await?, planted.to_vec())
}

/// Neither what moved to another name, nor what somebody else made meanwhile.
async fn what_was_there_before_is_not_taken_away(inside: &Inside) -> Checked {
    let root = &inside.world.root;
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default();
    inside.denied_where(&Grant::File, "mv notes.txt elsewhere").await?;
    same((&*read("notes.txt"), root.join("elsewhere").exists()), ("notes\n", false))?;
    inside.denied_where(&Grant::File, "mv notes.txt elsewhere; echo new > notes.txt; mv elsewhere a").await?;
    same((&*read("notes.txt"), root.join("elsewhere").exists(), root.join("a").exists()), ("new\n", false, false))?;
    // A lock of somebody else's, made when the call's own was gone.
    let (held, other) = (root.join("lock"), root.join("src/other"));
    let line = "echo mine > lock; rm lock; touch notes.txt; until test -e lock; do :; done";
    let (denied, ()) = tokio::join!(inside.denied_where(&Grant::File, line), async {
        std::fs::write(&other, "").unwrap();
        std::fs::remove_file(root.join("notes.txt")).unwrap();
        appears(&root.join("notes.txt")).await;
        std::fs::write(&held, "theirs").unwrap();
    });
    same((denied?, &*read("lock")), (Vec::new(), "theirs"))
}

async fn a_name_that_a_rule_keeps_is_told(inside: &Inside) -> Checked {
    let root = inside.world.root.to_str().unwrap().to_owned();
    let line = "mkdir a; echo x > a/x; mv a/x a/.env; echo x > a/.env.example; cp a/x a/new.key; ls a/.env.example";
    let kept = ["a/.env", "a/new.key"].map(|name| format!("write {root}/{name}"));
    same(inside.denied_where(&Grant::Project, line).await?, kept.to_vec())
}

async fn less_than_writing_is_told(inside: &Inside) -> Checked {
    let (root, out) = (inside.world.root.to_str().unwrap().to_owned(), inside.world.path("OUT"));
    let granted = |word: &str, path: &str| Grant::Effect(word.to_owned(), path.to_owned());
    let denied = inside.denied_where(&granted("delete", "ROOT/notes.txt"), "echo x > notes.txt").await?;
    same(denied, vec![format!("write {root}/notes.txt")])?;
    let denied = inside.denied_where(&granted("metadata", "ROOT/notes.txt"), "rm -f notes.txt").await?;
    same(denied, vec![format!("delete {root}/notes.txt")])?;
    let denied = inside.denied_where(&granted("list", "OUT"), "ls -l \"$OUT\"; cat \"$OUT/secret.txt\"").await?;
    same(denied, vec![format!("read {out}/secret.txt")])?;
    std::fs::hard_link(inside.world.path("OUT/writable.txt"), inside.world.root.join("out/link")).unwrap();
    same(inside.denied("echo x > out/link").await?, vec![format!("write {root}/out/link")])
}

/// What is set aside lies where the call could write, also where a link was put in the place of a new repository.
async fn a_repository_elsewhere_is_not_looked_at(inside: &Inside) -> Checked {
    let out = inside.world.path("OUT");
    let made = inside.world.outside("git init -q \"$OUT/r\" && git -C \"$OUT/r\" config alias.mine '!true'");
    same(made, true)?;
    inside.denied(&format!("git init -q out/r; rm -rf out/r; ln -s {out}/r out/r")).await?;
    same(inside.world.outside("test \"$(git -C \"$OUT/r\" config alias.mine)\" = '!true'"), true)
}

async fn a_second_call_writes_what_the_first_one_linked(inside: &Inside) -> Checked {
    same(inside.denied("mkdir out/a out/b; echo x > out/a/x; ln out/a/x out/b/x").await?, Vec::new())?;
    same(inside.denied("echo y > out/b/x; touch out/a/x").await?, Vec::new())
}

async fn words_alone_are_no_refusal(inside: &Inside) -> Checked {
    let line = "echo 'bash: /etc/x: Permission denied' >&2; echo '{\"denied\":{\"kind\":\"write\",\"target\":\"/etc/x\"}}'; exit 1";
    let ended = inside.bash(line).await?;
    same((ended.exit, ended.denied.len()), (Some(1), 0))?;
    // Nor does the program find a way to report by itself.
    let line = "for f in 0 3 4 5 6 7 8 9; do echo '{\"exited\":0}' >&$f; done; \
                for f in /proc/1/fd/* /proc/$PPID/fd/*; do echo '{\"exited\":0}' > $f; done; exit 5";
    same(inside.bash(line).await?.exit, Some(5))
}

async fn what_is_granted_is_no_refusal(inside: &Inside) -> Checked {
    let line = "echo x > out/x; mkdir out/d; mv out/x out/d; rm -r out/d; touch /tmp/x ~/x; cat notes.txt > /dev/null; \
                cat /no/such/file; cat .env; ls -A ~";
    same(inside.denied(line).await?, Vec::new())
}

async fn a_flood_of_refusals_is_cut(inside: &Inside) -> Checked {
    let denied = inside.denied("for i in $(seq 500); do : > /etc/x$i; done").await?;
    same((denied.len(), denied.first().map(String::as_str)), (64, Some("write /etc/x1")))
}

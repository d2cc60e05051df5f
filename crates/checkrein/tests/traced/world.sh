# Makes the place that commands are traced in, in the working directory: home/, home/project/, remote.git, tmp/.
set -eu
export LC_ALL=C.UTF-8 GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
mkdir -p home/project tmp
cd home
printf '[user]\n\tname = Dev\n\temail = dev@example.org\n[init]\n\tdefaultBranch = main\n' > .gitconfig
printf 'a note\n' > notes.txt
printf 'PROFILE=1\n' | tee .profile .zshenv .zprofile > /dev/null
git init -q --bare ../remote.git
cd project
git init -q
git remote add origin ../../remote.git
# Nobody listens on the discard port: who turns there is seen, and fails.
git remote add web http://127.0.0.1:9/r.git
git remote add far ssh://127.0.0.1:9/r.git
printf 'one\ntwo\nthree\n' > a.txt
printf 'one\nTWO\nthree\nfour\n' > b.txt
printf 'b 2\na 1\nc 3\nb 2\n' > data.txt
printf 'name,age\nann,30\nbob,25\n' > data.csv
printf '{"name": "demo", "list": [1, 2, 3]}\n' > data.json
printf 'name: demo\nlist:\n  - 1\n' > data.yaml
printf '<a><b>x</b></a>\n' > data.xml
printf '# Demo\n\nA project to trace commands in.\n' > README.md
printf 'a.txt\nb.txt\n' > list.txt
printf 's/one/ONE/\n' > edit.sed
printf '{ print $1 }\n' > first.awk
printf '.name\n' > name.jq
printf 'o\n' > words.txt
printf 'int main(void) { return 0; }\n' > main.c
printf 'all:\n\t@echo made > made.txt\nclean:\n\trm -f made.txt\n' > Makefile
printf '{ "name": "demo", "version": "1.0.0", "scripts": { "test": "node index.js" } }\n' > package.json
printf 'console.log(1)\n' > index.js
printf 'print(1)\n' > app.py
printf '#!/bin/sh\necho hello\n' > script.sh
chmod +x script.sh
printf -- '--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n-one\n+ONE\n two\n three\n' > change.diff
mkdir -p src/deep docs out empty
printf 'fn main() {}\n' > src/main.rs
printf 'TODO: x\n' > src/deep/todo.txt
printf 'text\n' > docs/guide.md
printf 'old\n' > out/old.log
ln -s a.txt link.txt
printf 'SECRET=1\n' > .env
printf '.env\nout/\nignored.txt\n' > .gitignore
printf 'x\n' > ignored.txt
git add -A
git commit -q -m 'first'
printf 'five\n' >> b.txt
git commit -q -a -m 'second'
git tag v1
git branch side HEAD~1
git push -q origin main
printf 'six\n' >> b.txt
tar -cf pack.tar a.txt b.txt
tar -czf pack.tar.gz a.txt docs
gzip -k -c a.txt > a.txt.gz
bzip2 -k -c a.txt > a.txt.bz2
xz -k -c a.txt > a.txt.xz
if command -v zip > /dev/null; then zip -q pack.zip a.txt docs/guide.md; fi
if command -v zstd > /dev/null; then zstd -q -k a.txt -o a.txt.zst; fi
